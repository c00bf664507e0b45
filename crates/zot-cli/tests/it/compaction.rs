//! Compactions: requested, automatic, failed and aborted.

use serde_json::{Value, json};
use testkit::{ModelServer, Wire, Workdir, ZotCommand, poll_until};

use crate::support::{Session, assert_no_error, binary, kinds, of_kind, streamed_text};

/// A session with more messages than a compaction keeps.
fn with_history(wire: Wire) -> Session {
    let mut session = Session::start(wire);
    for id in ["h1", "h2", "h3"] {
        session.zot.turn(id, "say:1");
    }
    session
}

fn messages(session: &mut Session) -> Vec<Value> {
    let response = session.zot.call(json!({"id": "m", "type": "get_messages"}));
    response["data"]["messages"].as_array().unwrap().clone()
}

fn compactions(session: &Session) -> usize {
    let requests = session.server.requests();
    requests.iter().filter(|r| r.is_compaction()).count()
}

#[test]
fn compact_leaves_a_summary_and_the_tail() {
    for wire in Wire::BOTH {
        let mut session = with_history(wire);
        session.zot.send(json!({"id": "c", "type": "compact"}));
        let frames = session
            .zot
            .collect_until(|frame| frame["type"] == "compact_done");
        assert_eq!(kinds(&frames), ["response", "usage", "compact_done"]);
        assert_eq!(frames[2]["summary"], "SUMMARY");
        let messages = messages(&mut session);
        assert_eq!(messages.len(), 5);
        assert_eq!(messages[0]["role"], "user");
        let text = messages[0]["content"][0]["text"].as_str().unwrap();
        assert!(text.ends_with("SUMMARY"), "{text}");
        let frames = session.zot.turn("next", "say:2");
        assert_eq!(frames[0]["type"], "response", "nothing was left over");
        assert_eq!(streamed_text(&frames), "alpha beta ");
    }
}

#[test]
fn a_failed_compaction_changes_nothing() {
    for word in ["COMPACT-ERR", "COMPACT-EMPTY"] {
        let mut session = Session::start(Wire::OpenAi);
        // The oldest message is always summarised.
        for (id, prompt) in [("1", word), ("2", "a"), ("3", "b"), ("4", "c")] {
            session.zot.turn(id, prompt);
        }
        let before = messages(&mut session);
        session.zot.send(json!({"id": "c", "type": "compact"}));
        let frames = session.zot.collect_until(|frame| frame["type"] == "done");
        assert_eq!(of_kind(&frames, "error").len(), 1, "{word}");
        assert!(of_kind(&frames, "compact_done").is_empty());
        assert_eq!(messages(&mut session), before);
        assert_no_error(&session.zot.turn("5", "say:1"));
    }
}

#[test]
fn too_little_to_compact_is_an_error() {
    let mut session = Session::start(Wire::OpenAi);
    session.zot.turn("1", "say:1");
    session.zot.send(json!({"id": "c", "type": "compact"}));
    let frames = session.zot.collect_until(|frame| frame["type"] == "done");
    assert_eq!(kinds(&frames), ["response", "error", "done"]);
}

#[test]
fn an_aborted_compaction_changes_nothing() {
    let mut session = Session::start(Wire::OpenAi);
    for (id, prompt) in [("1", "COMPACT-HANG"), ("2", "a"), ("3", "b"), ("4", "c")] {
        session.zot.turn(id, prompt);
    }
    let before = messages(&mut session);
    session.zot.send(json!({"id": "c", "type": "compact"}));
    session.zot.event("response");
    poll_until("the summary is asked for", || {
        session.server.responses_in_progress() == 1
    });
    session.zot.send(json!({"id": "a", "type": "abort"}));
    let mut frames = session.zot.collect_until(|frame| frame["type"] == "done");
    frames.retain(|frame| frame["type"] != "response");
    assert_eq!(kinds(&frames), ["done"]);
    assert_eq!(messages(&mut session), before);
    assert_no_error(&session.zot.turn("5", "say:1"));
}

#[test]
fn a_conversation_that_does_not_fit_is_compacted_once_and_retried() {
    for wire in Wire::BOTH {
        let mut session = with_history(wire);
        let frames = session.zot.turn("4", "overflow:1:say:3");
        assert_no_error(&frames);
        assert_eq!(streamed_text(&frames), "alpha beta gamm ");
        assert_eq!(of_kind(&frames, "done").len(), 1);
        assert_eq!(compactions(&session), 1);
        let requests = session.server.requests();
        let sizes: Vec<usize> = requests.iter().map(|r| r.messages().len()).collect();
        let retried = sizes.len() - 1;
        assert!(requests[retried].prompt().starts_with("overflow:1:"));
        assert!(sizes[retried] < sizes[retried - 2], "{sizes:?}");
    }
}

#[test]
fn a_conversation_that_never_fits_is_an_error() {
    for wire in Wire::BOTH {
        let mut session = with_history(wire);
        let frames = session.zot.turn("4", "overflow:9:say:3");
        assert_eq!(of_kind(&frames, "error").len(), 1);
        assert_eq!(compactions(&session), 1);
        assert_no_error(&session.zot.turn("5", "say:1"));
    }
}

#[test]
fn a_conversation_near_the_limit_is_compacted_before_it_overflows() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    // The context windows of the catalog's models are too large for a test.
    let models = json!({"providers": {"openai": {"models": [{
        "id": "tiny", "name": "Tiny", "contextWindow": 1500, "maxTokens": 100,
    }]}}});
    std::fs::create_dir_all(workdir.zot_home()).unwrap();
    let path = workdir.zot_home().join("models.json");
    std::fs::write(path, models.to_string()).unwrap();
    let zot = ZotCommand::new(binary(), &workdir)
        .arguments(["rpc", "--provider", "openai", "--base-url"])
        .argument(server.url(Wire::OpenAi))
        .arguments(["--api-key", "x", "--model", "tiny"])
        .spawn();
    let mut session = Session {
        zot,
        server,
        workdir,
    };
    for turn in 0..20 {
        let frames = session.zot.turn(&turn.to_string(), "say:1");
        assert_no_error(&frames);
        assert_eq!(streamed_text(&frames), "alpha ");
    }
    assert!(compactions(&session) >= 1);
    let requests = session.server.requests();
    let largest = requests
        .iter()
        .map(|request| request.messages().len())
        .max();
    assert!(largest.unwrap() <= 15, "the window holds 15 messages");
}
