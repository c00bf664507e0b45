//! Thinking of Anthropic's models: requested in the form a model accepts, replayed only behind the
//! conversation it belongs to.

use serde_json::{Value, json};
use testkit::{ModelServer, RecordedRequest, Wire, Workdir, Zot, ZotCommand};

use crate::support::{assert_no_error, binary};

const MODEL: &str = "claude-fable-5-2";

/// A session file, and a server that refuses what Anthropic refuses.
struct Fixture {
    server: ModelServer,
    workdir: Workdir,
}

impl Fixture {
    fn new() -> Self {
        Self {
            server: ModelServer::strict(),
            workdir: Workdir::with_files("work"),
        }
    }

    /// Opens the session, with further flags.
    fn open(&self, flags: &[&str]) -> Zot {
        ZotCommand::new(binary(), &self.workdir)
            .argument("rpc")
            .arguments(["--provider", "anthropic", "--base-url"])
            .argument(self.server.url(Wire::Anthropic))
            .arguments(["--api-key", "x", "--cwd"])
            .argument(self.workdir.path())
            .arguments(["--session", "kept.jsonl", "--reasoning", "high"])
            .arguments(flags)
            .spawn()
    }

    /// Runs two prompts with thinking; the first takes two steps.
    fn think(&self) {
        let mut zot = self.open(&["--model", MODEL]);
        let call = r#"think:one:tool:read:{"path":"sample.txt"}"#;
        assert_no_error(&zot.turn("1", call));
        assert_no_error(&zot.turn("2", "think:two:say:1"));
        zot.finish();
        let requests = self.server.requests();
        assert_eq!(requests.iter().map(replayed).collect::<Vec<_>>(), [0, 1, 2]);
        self.server.reset();
    }

    /// Returns what the only request since the last check replayed.
    fn replayed_once(&self) -> usize {
        let requests = self.server.requests();
        assert_eq!(requests.len(), 1, "nothing was refused");
        self.server.reset();
        replayed(&requests[0])
    }

    fn system(&self) -> String {
        let request = self.server.requests().pop().unwrap();
        request.body["system"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

fn replayed(request: &RecordedRequest) -> usize {
    let content = |message: &Value| message["content"].as_array().cloned().unwrap_or_default();
    let blocks = request.messages().iter().flat_map(content);
    blocks.filter(|block| block["type"] == "thinking").count()
}

#[test]
fn a_resumed_session_replays_thinking_behind_the_same_prefix() {
    let fixture = Fixture::new();
    fixture.think();
    let mut zot = fixture.open(&["--model", MODEL]);
    assert_no_error(&zot.turn("3", "think:three:say:1"));
    assert_eq!(fixture.replayed_once(), 3);
    assert_no_error(&zot.turn("4", "say:1"));
    assert_eq!(fixture.replayed_once(), 4);
}

#[test]
fn thinking_is_dropped_behind_another_prefix() {
    for flags in [
        ["--system-prompt", "Another one."],
        ["--append-system-prompt", "And this."],
        ["--tools", "read,bash"],
        ["--model", "claude-opus-5-5"],
        ["--model", "claude-sonnet-4-5"],
    ] {
        let fixture = Fixture::new();
        fixture.think();
        let mut zot = fixture.open(&flags);
        assert_no_error(&zot.turn("3", "think:three:say:1"));
        assert_eq!(fixture.replayed_once(), 0, "{flags:?}");
        // Thinking behind the new prefix is kept.
        assert_no_error(&zot.turn("4", "say:1"));
        assert_eq!(fixture.replayed_once(), 1, "{flags:?}");
    }
}

#[test]
fn switching_the_model_and_back_drops_only_foreign_thinking() {
    let fixture = Fixture::new();
    fixture.think();
    let mut zot = fixture.open(&["--model", MODEL]);
    zot.call(json!({"id": "m", "type": "set_model", "model": "claude-opus-5-5"}));
    assert_no_error(&zot.turn("3", "think:three:say:1"));
    assert_eq!(fixture.replayed_once(), 0);
    zot.call(json!({"id": "m", "type": "set_model", "model": MODEL}));
    assert_no_error(&zot.turn("4", "say:1"));
    assert_eq!(fixture.replayed_once(), 3);
}

#[test]
fn a_compaction_drops_thinking() {
    let fixture = Fixture::new();
    fixture.think();
    let mut zot = fixture.open(&["--model", MODEL]);
    for id in ["3", "4"] {
        assert_no_error(&zot.turn(id, "think:more:say:1"));
    }
    zot.send(json!({"id": "c", "type": "compact"}));
    zot.collect_until(|frame| frame["type"] == "compact_done");
    fixture.server.reset();
    assert_no_error(&zot.turn("5", "think:three:say:1"));
    assert_eq!(fixture.replayed_once(), 0);
    assert_no_error(&zot.turn("6", "say:1"));
    assert_eq!(fixture.replayed_once(), 1);
    // The same after a restart.
    zot.finish();
    let mut zot = fixture.open(&["--model", MODEL]);
    assert_no_error(&zot.turn("7", "say:1"));
    assert_eq!(fixture.replayed_once(), 1);
}

#[test]
fn a_transcript_moved_over_the_pipe_keeps_its_thinking() {
    let fixture = Fixture::new();
    fixture.think();
    let mut zot = fixture.open(&["--model", MODEL]);
    let full = zot.call(json!({"id": "f", "type": "get_messages", "full": true}));
    let messages = full["data"]["messages"].clone();
    zot.call(json!({"id": "c", "type": "clear"}));
    let set = zot.call(json!({"id": "s", "type": "set_messages", "messages": messages}));
    assert_eq!(set["success"], true, "{set}");
    assert_no_error(&zot.turn("3", "say:1"));
    assert_eq!(fixture.replayed_once(), 3);
}

#[test]
fn a_session_keeps_its_first_date() {
    let fixture = Fixture::new();
    let mut zot = fixture.open(&["--model", MODEL]);
    assert_no_error(&zot.turn("1", "think:one:say:1"));
    let today = fixture.system();
    zot.finish();
    // The session started on another day.
    let file = fixture.workdir.read("kept.jsonl").unwrap();
    let (meta, rest) = file.split_once('\n').unwrap();
    let mut meta: Value = serde_json::from_str(meta).unwrap();
    meta["meta"]["started"] = "2026-03-01T12:00:00Z".into();
    fixture
        .workdir
        .write("kept.jsonl", format!("{meta}\n{rest}"));

    fixture.server.reset();
    let mut zot = fixture.open(&["--model", MODEL]);
    assert_no_error(&zot.turn("2", "think:two:say:1"));
    assert!(fixture.system().contains("Current date: 2026-03-01\n"));
    // Its first answer has the other date, this one does not.
    assert_eq!(fixture.replayed_once(), 0);
    zot.finish();
    let mut zot = fixture.open(&["--model", MODEL]);
    assert_no_error(&zot.turn("3", "say:1"));
    assert!(fixture.system().contains("Current date: 2026-03-01\n"));
    assert_eq!(fixture.replayed_once(), 1);

    // After `clear` the conversation starts today and keeps that date.
    zot.call(json!({"id": "c", "type": "clear"}));
    assert_no_error(&zot.turn("4", "think:three:say:1"));
    assert_eq!(fixture.system(), today);
    fixture.server.reset();
    zot.finish();
    let mut zot = fixture.open(&["--model", MODEL]);
    assert_no_error(&zot.turn("5", "say:1"));
    assert_eq!(fixture.system(), today);
    assert_eq!(fixture.replayed_once(), 1);
}

#[test]
fn thinking_is_requested_in_the_form_each_model_accepts() {
    let fixture = Fixture::new();
    let models = json!({"providers": {"anthropic": {"models": [
        {"id": "house-only-adaptive", "thinking": "adaptive", "efforts": ["low"]},
    ]}}});
    let path = fixture.workdir.zot_home().join("models.json");
    std::fs::create_dir_all(fixture.workdir.zot_home()).unwrap();
    std::fs::write(path, models.to_string()).unwrap();
    let mut zot = fixture.open(&["--model", "claude-sonnet-4-5"]);
    for (model, kind, effort) in [
        ("claude-sonnet-4-5", "enabled", Value::Null),
        ("claude-opus-4-8", "adaptive", json!("high")),
        ("claude-fable-5-2", "adaptive", json!("high")),
        ("house-only-adaptive", "adaptive", json!("low")),
    ] {
        zot.call(json!({"id": "m", "type": "set_model", "model": model}));
        assert_no_error(&zot.turn("p", "say:1"));
        let request = fixture.server.requests().pop().unwrap();
        assert_eq!(request.body["model"], model);
        assert_eq!(request.body["thinking"]["type"], kind, "{model}");
        assert_eq!(request.body["output_config"]["effort"], effort, "{model}");
    }
    assert_eq!(fixture.server.requests().len(), 4, "nothing was refused");
}
