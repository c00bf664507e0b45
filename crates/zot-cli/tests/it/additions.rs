//! What our protocol adds to the original's: our own recorded sessions, one test each.
//! `UPDATE_FIXTURES=1` writes the current output next to the recording.

mod extensions;

use serde_json::{Value, json};
use testkit::{Fixtures, ModelServer, PATIENCE, Pace, Wire, Workdir, Zot, ZotCommand, poll_until};

use crate::mcp;
use crate::support::{Session, binary, kinds, lacks_namespaces, of_kind, streamed_text};

fn fixtures() -> Fixtures {
    let crate_directory = env!("CARGO_MANIFEST_DIR");
    Fixtures::new(format!("{crate_directory}/tests/fixtures/additions"))
}

fn replay(name: &str, arguments: &[&str]) {
    let workdir = Workdir::with_files(name);
    let server = ModelServer::start();
    let zot = ZotCommand::rpc(binary(), &workdir, &server, Wire::OpenAi)
        .arguments(arguments)
        .spawn();
    replay_with(name, &workdir, zot);
}

fn replay_with(name: &str, workdir: &Workdir, mut zot: Zot) {
    for line in fixtures().sent_lines(name) {
        zot.send_line(&line);
        if wait_until_quiet(&mut zot, &line).is_err() {
            break;
        }
    }
    fixtures().check_as(name, workdir, Pace::Steady, &zot.finish().transcript);
}

/// Waits for the last frame a command causes before the client has to act.
fn wait_until_quiet(zot: &mut Zot, line: &str) -> Result<(), &'static str> {
    let command: Value = serde_json::from_str(line).unwrap_or_default();
    let refused = |frame: &Value| frame["type"] == "response" && frame["success"] == false;
    match command["type"].as_str() {
        Some("prompt" | "confirm" | "answer" | "abort") => zot.try_collect_until(
            move |frame| {
                let kind = frame["type"].as_str().unwrap_or_default();
                matches!(kind, "done" | "tool_confirm" | "tool_question") || refused(frame)
            },
            PATIENCE,
        ),
        _ => zot.try_collect_until(|frame| frame["type"] == "response", PATIENCE),
    }
    .map(drop)
}

#[test]
fn settings() {
    replay("settings", &[]);
}

#[test]
fn state() {
    replay("state", &[]);
}

#[test]
fn confirm() {
    replay("confirm", &["--confirm"]);
}

#[test]
fn sandbox() {
    replay("sandbox", &["--sandbox", "workspace"]);
}

/// What a command contacted through the sandbox is part of its result.
#[test]
fn network() {
    if lacks_namespaces() {
        return;
    }
    replay("network", &["--sandbox", "workspace"]);
}

#[test]
fn thinking() {
    replay("thinking", &[]);
}

#[test]
fn retry() {
    replay("retry", &[]);
}

#[test]
fn fallback() {
    replay("fallback", &["--fallback", "offline"]);
}

/// The states of a server, and a question of one of its tools.
#[test]
fn mcp() {
    let workdir = Workdir::with_files("mcp");
    let server = ModelServer::start();
    let servers = json!({"mcpServers": {"demo": mcp::entry(json!({}))}});
    std::fs::create_dir_all(workdir.zot_home()).unwrap();
    std::fs::write(workdir.zot_home().join("mcp.json"), servers.to_string()).unwrap();
    let mut zot = ZotCommand::rpc(binary(), &workdir, &server, Wire::OpenAi).spawn();
    mcp::wait_for_state(&mut zot, "demo", "ready");
    replay_with("mcp", &workdir, zot);
}

#[test]
fn hello_lists_the_capabilities_and_failures_have_codes() {
    let mut session = Session::start(Wire::OpenAi);
    let hello = session.zot.call(json!({"id": "h", "type": "hello"}));
    let capabilities = hello["data"]["capabilities"].as_array().unwrap();
    assert!(capabilities.contains(&json!("steer")));
    for (command, code) in [
        (json!({"id": "1", "type": "nope"}), "unknown_command"),
        (
            json!({"id": "2", "type": "set_model", "model": 5}),
            "invalid_argument",
        ),
        (
            json!({"id": "3", "type": "set_model", "model": "x"}),
            "unknown_model",
        ),
        (
            json!({"id": "4", "type": "set_tools", "tools": ["x"]}),
            "unknown_tool",
        ),
        (
            json!({"id": "5", "type": "steer", "message": "x"}),
            "not_running",
        ),
        (
            json!({"id": "6", "type": "confirm", "allow": true}),
            "not_waiting",
        ),
        (json!({"id": "7", "type": "prompt"}), "invalid_argument"),
    ] {
        assert_eq!(session.zot.call(command)["code"], code);
    }
    for (prompt, code) in [
        ("err:401:no", "unauthorized"),
        ("err:429:slow", "rate_limited"),
        ("err:500:oops", "unavailable"),
        ("err:400:what", "invalid_request"),
        ("cut", "stream"),
    ] {
        let frames = session.zot.turn("p", prompt);
        assert_eq!(of_kind(&frames, "error")[0]["code"], code, "{prompt}");
    }
}

/// Also for errors other than too many requests.
#[test]
fn the_wait_a_provider_asks_for_is_reported() {
    for wire in Wire::BOTH {
        let mut session = Session::start(wire);
        for (status, code) in [
            (429, "rate_limited"),
            (503, "unavailable"),
            (529, "unavailable"),
        ] {
            let frames = session.zot.turn("p", &format!("errwait:{status}:120"));
            let error = of_kind(&frames, "error")[0];
            assert_eq!(error["code"], code);
            assert_eq!(error["retry_after_ms"], 120_000, "{status}");
            let message = error["message"].as_str().unwrap();
            assert!(
                message.ends_with("(the provider asks to wait 120 s)"),
                "{message}"
            );
        }
        let frames = session.zot.turn("p", "err:400:oops");
        assert!(of_kind(&frames, "error")[0].get("retry_after_ms").is_none());
    }
}

/// The provider sees the same bytes as without the change of process.
#[test]
fn a_conversation_continues_in_another_process() {
    for wire in Wire::BOTH {
        // The usual prompt names the working directory, which another machine does not share.
        let start = || {
            let mut session = Session::start(wire);
            let prompt = json!({"id": "p", "type": "set_system_prompt", "prompt": "SYS"});
            assert_eq!(session.zot.call(prompt)["success"], true);
            session
        };
        let mut first = start();
        first
            .zot
            .turn("1", "think:deep thoughts:tool:read:{\"path\":  \"a.txt\"}");
        first.zot.turn("2", "tool:read:{\"path\": \"pic.png\"}");
        let state = first
            .zot
            .call(json!({"id": "g", "type": "get_messages", "full": true}));
        first.zot.turn("3", "say:1");
        let expected = first.server.requests().pop().unwrap().body["messages"].clone();

        let mut second = start();
        let set = second.zot.call(json!({
            "id": "s", "type": "set_messages", "messages": state["data"]["messages"]
        }));
        assert_eq!(set["data"]["repaired"]["results_added"], 0);
        let again = second
            .zot
            .call(json!({"id": "g", "type": "get_messages", "full": true}));
        assert_eq!(again["data"], state["data"]);
        second.zot.turn("3", "say:1");
        let sent = second.server.requests().pop().unwrap().body["messages"].clone();
        assert_eq!(sent, expected);
    }
}

#[test]
fn a_steering_message_is_delivered_after_the_running_call_and_the_rest_is_skipped() {
    let mut session = Session::start(Wire::OpenAi);
    let calls = json!([
        {"name": "bash", "args": {"command": "touch started; while [ ! -e go ]; do sleep 0.01; done"}},
        {"name": "write", "args": {"path": "never.txt", "content": "x"}},
    ]);
    session.zot.prompt("1", &format!("multi:{calls}"));
    let started = session.workdir.path().join("started");
    poll_until("the tool runs", || started.exists());
    let steered = session
        .zot
        .call(json!({"id": "s", "type": "steer", "message": "say:3"}));
    assert_eq!(steered["data"]["steered"], true);
    std::fs::write(session.workdir.path().join("go"), "").unwrap();
    let frames = session.zot.collect_until(|frame| frame["type"] == "done");
    let results = of_kind(&frames, "tool_result");
    assert_eq!(results[0]["is_error"], false);
    let skipped = results[1]["content"][0]["text"].as_str().unwrap();
    assert!(skipped.starts_with("skipped:"), "{skipped}");
    assert!(!session.workdir.path().join("never.txt").exists());
    let kinds = kinds(&frames);
    let position = |kind: &str| kinds.iter().position(|k| *k == kind).unwrap();
    assert!(position("user_message") > position("tool_result"));
    assert_eq!(streamed_text(&frames), "alpha beta gamm ");
}

#[test]
fn a_steering_message_after_the_last_call_continues_the_prompt() {
    let mut session = Session::start(Wire::OpenAi);
    session.zot.prompt("1", "slow:4:40");
    session.zot.event("text_delta");
    session
        .zot
        .send(json!({"id": "2", "type": "prompt", "message": "say:1", "when_busy": "steer"}));
    let frames = session.zot.collect_until(|frame| frame["type"] == "done");
    assert_eq!(of_kind(&frames, "response")[0]["data"]["steered"], true);
    assert_eq!(of_kind(&frames, "user_message").len(), 1);
    assert_eq!(of_kind(&frames, "turn_end").len(), 2);
}

#[test]
fn a_busy_agent_can_refuse_a_prompt() {
    let mut session = Session::start(Wire::OpenAi);
    session.zot.prompt("1", "slow:4:40");
    session.zot.event("text_delta");
    let refused = session
        .zot
        .call(json!({"id": "2", "type": "prompt", "message": "say:1", "when_busy": "reject"}));
    assert_eq!(refused["code"], "busy");
}

#[test]
fn a_missing_confirmation_counts_as_no() {
    let mut session = Session::start_with(Wire::OpenAi, |command| {
        command.arguments(["--no-yolo", "--confirm-timeout", "0"])
    });
    let frames = session
        .zot
        .turn("1", "tool:bash:{\"command\": \"touch never\"}");
    assert_eq!(
        of_kind(&frames, "tool_confirm")[0]["preview"],
        "touch never"
    );
    assert_eq!(of_kind(&frames, "tool_result")[0]["is_error"], true);
    assert!(!session.workdir.path().join("never").exists());
}

#[test]
fn the_end_of_input_refuses_what_waits_for_a_confirmation() {
    let mut session = Session::start_with(Wire::OpenAi, |command| {
        command.arguments(["--confirm=bash"])
    });
    // Not named, so not confirmed.
    let frames = session.zot.turn("0", "tool:read:{\"path\": \"a.txt\"}");
    assert!(of_kind(&frames, "tool_confirm").is_empty());
    session
        .zot
        .prompt("1", "tool:bash:{\"command\": \"touch never\"}");
    session.zot.event("tool_confirm");
    session.zot.close_stdin();
    let frames = session.zot.collect_until(|frame| frame["type"] == "done");
    assert_eq!(of_kind(&frames, "tool_result")[0]["is_error"], true);
    assert_eq!(session.zot.finish().code, Some(0));
    assert!(!session.workdir.path().join("never").exists());
}

#[test]
fn budgets_end_a_prompt_and_keep_its_messages() {
    let mut session = Session::start(Wire::Anthropic);
    let budgeted = |fields: Value, message: &str| {
        let mut command = json!({"id": "b", "type": "prompt", "message": message});
        command
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        command
    };
    for (fields, message, turns) in [
        (
            json!({"max_steps": 2}),
            "loop:5:read:{\"path\": \"a.txt\"}",
            3,
        ),
        (
            json!({"max_tokens": 150}),
            "loop:5:read:{\"path\": \"a.txt\"}",
            2,
        ),
        (json!({"max_cost_usd": 0.0000001}), "say:2000", 1),
    ] {
        session.zot.send(budgeted(fields.clone(), message));
        let frames = session.zot.collect_until(|frame| frame["type"] == "done");
        assert_over_budget(&frames, turns, &fields);
        session.zot.call(json!({"id": "c", "type": "clear"}));
    }
    for (message, turns) in [
        ("slow:200:20", 1),
        ("tool:bash:{\"command\": \"sleep 30\"}", 2),
    ] {
        // On a busy machine, the model may not have begun to respond within the first of these.
        for timeout in [150, 1000, 3000] {
            let fields = json!({"timeout_ms": timeout});
            session.zot.send(budgeted(fields.clone(), message));
            let frames = session.zot.collect_until(|frame| frame["type"] == "done");
            session.zot.call(json!({"id": "c", "type": "clear"}));
            let messages = of_kind(&frames, "assistant_message").len();
            let has_begun = messages > 0 && of_kind(&frames, "turn_end").len() >= turns;
            if has_begun || timeout == 3000 {
                assert_over_budget(&frames, turns, &fields);
                assert_eq!(messages, 1, "{message}");
                break;
            }
        }
    }
}

/// Checks that a prompt has used up its budget in turn number `turns`.
fn assert_over_budget(frames: &[Value], turns: usize, fields: &Value) {
    let ends = of_kind(frames, "turn_end");
    assert_eq!(ends.len(), turns, "{fields}");
    let error = ends[turns - 1]["error"].as_str().unwrap();
    assert!(error.starts_with("budget: "), "{error}");
    assert_eq!(ends[turns - 1]["stop"], "error");
    assert_eq!(of_kind(frames, "error")[0]["code"], "budget");
}

#[test]
fn the_budget_of_the_process_outlasts_a_prompt() {
    // Anthropic reports the input tokens before the response starts.
    let mut session = Session::start_with(Wire::Anthropic, |command| {
        command.arguments(["--max-tokens", "150"])
    });
    assert!(of_kind(&session.zot.turn("1", "say:1"), "error").is_empty());
    for id in ["2", "3"] {
        let frames = session.zot.turn(id, "say:1");
        assert_eq!(of_kind(&frames, "error")[0]["code"], "budget");
    }
    // The second was aborted during its response, the third was never started.
    assert_eq!(session.server.requests().len(), 2);

    let mut session = Session::start_with(Wire::OpenAi, |command| {
        command.arguments(["--max-process-steps", "3"])
    });
    let frames = session.zot.turn("1", "loop:5:read:{\"path\": \"a.txt\"}");
    assert_eq!(of_kind(&frames, "error")[0]["code"], "budget");
    assert_eq!(session.server.requests().len(), 3);
}

#[test]
fn a_client_that_wants_no_deltas_gets_none() {
    let mut session = Session::start(Wire::OpenAi);
    session
        .zot
        .call(json!({"id": "s", "type": "subscribe", "events": ["done", "error"]}));
    let frames = session.zot.turn("1", "say:50");
    assert_eq!(kinds(&frames), ["response", "done"]);
    session.zot.call(json!({"id": "s", "type": "subscribe"}));
    let frames = session.zot.turn("2", "say:5");
    assert_eq!(streamed_text(&frames), "alpha beta gamm delta epsi ");
}

#[test]
fn a_client_can_subscribe_to_retries() {
    for wire in Wire::ALL {
        let mut session = Session::start(wire);
        let frames = session.zot.turn("1", "errthen:503:1");
        assert!(of_kind(&frames, "retry").is_empty());
        let events = ["assistant_start", "retry", "done"];
        session
            .zot
            .call(json!({"id": "s", "type": "subscribe", "events": events}));
        let frames = session.zot.turn("2", "errthen:503:2");
        assert_eq!(
            kinds(&frames),
            ["response", "retry", "retry", "assistant_start", "done"]
        );
        let retries = of_kind(&frames, "retry");
        assert_eq!(
            (&retries[0]["failures"], &retries[0]["wait_ms"]),
            (&json!(1), &json!(1))
        );
        assert_eq!(
            (&retries[1]["failures"], &retries[1]["wait_ms"]),
            (&json!(2), &json!(1))
        );
        let message = retries[0]["message"].as_str().unwrap();
        assert!(message.contains("scripted error 1"), "{message}");
    }
}

/// The model writes its call as text; clients see the usual events.
#[test]
fn a_model_without_native_calls_uses_tools_through_its_text() {
    let mut session = Session::start_with(Wire::OpenAi, |command| {
        command.arguments(["--tool-dialect", "hermes"])
    });
    let block = r#"<tool_call>{"name": "read", "arguments": {"path": "a.txt"}}</tool_call>"#;
    let frames = session.zot.turn("1", &format!("raw:{block}"));
    let result = of_kind(&frames, "tool_result")[0];
    assert_eq!(result["content"][0]["text"], "one\ntwo\nthree\nfour\n");
    let call = of_kind(&frames, "tool_call")[0];
    assert_eq!(call["args"], json!({"path": "a.txt"}));
    assert_eq!(of_kind(&frames, "turn_end")[0]["stop"], "tool_use");
    let request = &session.server.requests()[0];
    assert!(
        request.tool_names().is_empty(),
        "tools are described in words"
    );
}

#[test]
fn doctor_shows_the_hosts_without_contacting_them() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let run = |arguments: &[&str]| {
        ZotCommand::new(binary(), &workdir)
            .model(&server, Wire::OpenAi)
            .arguments(["doctor"])
            .arguments(arguments)
            .run("")
    };
    let shown = run(&["--network"]);
    assert_eq!(shown.code, Some(0));
    assert!(shown.stdout.contains("127.0.0.1"), "{}", shown.stdout);
    assert!(shown.stdout.contains("--api-key"), "{}", shown.stdout);
    let probed = run(&["--probe"]);
    assert!(probed.stdout.contains("connect: "), "{}", probed.stdout);
    assert!(server.requests().is_empty());
}
