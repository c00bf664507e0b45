use serde_json::{Value, json};

use super::{Attachment, LinkEnd};

/// A client and whatever worker it has, seen from both ends.
#[derive(Default)]
struct Ends(Attachment);

impl Ends {
    fn open() -> Self {
        let mut ends = Self::default();
        ends.0.opened();
        ends
    }

    /// The client sends a command; returns what the worker gets.
    fn client(&mut self, command: &Value) -> Vec<Value> {
        self.0.command(command.to_string().as_bytes());
        self.at_worker()
    }

    /// The worker sends a frame, whose type comes first as on the wire; returns what the client gets.
    fn worker(&mut self, frame: &str) -> Vec<Value> {
        self.0.worker_line(frame.as_bytes());
        self.at_client()
    }

    fn succeed(&mut self, id: i64, command: &str, data: &Value) -> Vec<Value> {
        self.worker(&format!(
            r#"{{"type":"response","id":{id},"command":"{command}","success":true,"data":{data}}}"#
        ))
    }

    fn prompt(&mut self, id: i64) {
        self.client(&json!({"id": id, "type": "prompt", "message": "m"}));
        self.succeed(id, "prompt", &json!({"started": true}));
        self.worker(r#"{"type":"user_message","content":[],"time":""}"#);
        self.worker(r#"{"type":"turn_start","step":1}"#);
    }

    fn lose(&mut self) -> Vec<Value> {
        self.0.ended(&LinkEnd::Lost("silent for 3 s".to_owned()));
        self.at_client()
    }

    fn finish(&mut self) -> Vec<Value> {
        self.0.ended(&LinkEnd::Finished);
        self.at_client()
    }

    fn reopen(&mut self) -> Vec<Value> {
        self.0.opened();
        self.at_worker()
    }

    fn at_worker(&mut self) -> Vec<Value> {
        values(&self.0.take_for_worker())
    }

    fn at_client(&mut self) -> Vec<Value> {
        values(&self.0.take_for_client())
    }
}

fn values(lines: &[u8]) -> Vec<Value> {
    lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

fn types(frames: &[Value]) -> Vec<&str> {
    frames
        .iter()
        .map(|frame| frame["type"].as_str().unwrap())
        .collect()
}

#[test]
fn lines_pass_unchanged_in_both_directions() {
    let mut attachment = Attachment::default();
    attachment.opened();
    let line = br#" { "TYPE":"prompt", "id": 1e0, "message":"\u00e4" } "#;
    attachment.command(line);
    assert_eq!(
        attachment.take_for_worker(),
        [line.as_slice(), b"\n"].concat()
    );
    let line = br#"{"type":"text_delta","delta":"\u2028","more":[1.0]}"#;
    attachment.worker_line(line);
    assert_eq!(
        attachment.take_for_client(),
        [line.as_slice(), b"\n"].concat()
    );
}

#[test]
fn commands_wait_for_a_worker() {
    let mut ends = Ends::default();
    assert!(!ends.0.wants_worker());
    assert!(ends.client(&json!({"id": 1, "type": "ping"})).is_empty());
    assert!(ends.0.wants_worker());
    assert_eq!(ends.reopen(), [json!({"id": 1, "type": "ping"})]);
    assert!(!ends.0.wants_worker());
}

#[test]
fn blank_lines_are_no_commands() {
    let mut attachment = Attachment::default();
    attachment.command(b" \r");
    assert!(!attachment.wants_worker());
}

#[test]
fn a_drain_is_not_noticed() {
    let mut ends = Ends::open();
    ends.prompt(1);
    ends.worker(r#"{"type":"done"}"#);
    assert!(ends.finish().is_empty());
    assert!(!ends.0.wants_worker(), "it waits for the next command");
    // This one crossed with the end of the worker.
    let mut ends = Ends::open();
    let prompt = json!({"id": 2, "type": "prompt", "message": "again"});
    assert_eq!(ends.client(&prompt).len(), 1);
    assert!(ends.finish().is_empty());
    assert!(ends.0.wants_worker());
    assert_eq!(ends.reopen(), [prompt]);
}

#[test]
fn settings_are_repeated_and_their_responses_kept_from_the_client() {
    let mut ends = Ends::open();
    let settings = [
        json!({"id": 1, "type": "hello", "capabilities": ["confirm"]}),
        json!({"id": 2, "type": "subscribe", "events": ["done"]}),
        json!({"id": 3, "type": "set_model", "model": "first"}),
        json!({"id": 4, "type": "set_model", "model": "second"}),
        json!({"id": 5, "type": "set_tools", "tools": []}),
        json!({"id": 6, "type": "set_system_prompt"}),
        json!({"id": 7, "type": "set_reasoning", "effort": "none"}),
    ];
    for (id, setting) in (1..).zip(&settings) {
        ends.client(setting);
        ends.succeed(id, setting["type"].as_str().unwrap(), &json!({}));
    }
    // One that was refused is not repeated.
    ends.client(&json!({"id": 8, "type": "set_model", "model": "third"}));
    ends.worker(r#"{"type":"response","id":8,"command":"set_model","success":false,"error":"x"}"#);
    ends.finish();
    ends.client(&json!({"id": 9, "type": "ping"}));
    let sent = ends.reopen();
    let expected = [
        "hello",
        "subscribe",
        "set_model",
        "set_tools",
        "set_system_prompt",
        "set_reasoning",
        "ping",
    ];
    assert_eq!(types(&sent), expected);
    assert_eq!(sent[0]["capabilities"], json!(["confirm"]));
    assert_eq!(sent[2]["model"], "second");
    assert_eq!(sent[3]["tools"], json!([]));
    for command in &sent[..6] {
        let response = format!(
            r#"{{"type":"response","id":{},"command":{},"success":true,"data":{{}}}}"#,
            command["id"], command["type"]
        );
        assert!(ends.worker(&response).is_empty());
    }
    assert_eq!(ends.succeed(9, "ping", &json!({"pong": true})).len(), 1);
}

#[test]
fn a_setting_that_the_next_worker_refuses_is_mentioned() {
    let mut ends = Ends::open();
    ends.client(&json!({"id": 1, "type": "set_model", "model": "m"}));
    ends.succeed(1, "set_model", &json!({"model": "m"}));
    ends.finish();
    let sent = ends.reopen();
    let told = ends.worker(&format!(
        r#"{{"type":"response","id":{},"command":"set_model","success":false,"error":"unknown model"}}"#,
        sent[0]["id"]
    ));
    assert_eq!(types(&told), ["ext_notify"]);
    assert!(
        told[0]["message"]
            .as_str()
            .unwrap()
            .contains("unknown model")
    );
}

#[test]
fn a_lost_prompt_ends_in_good_order() {
    let mut ends = Ends::open();
    ends.prompt(1);
    ends.worker(r#"{"type":"assistant_start"}"#);
    let told = ends.lose();
    assert_eq!(types(&told), ["usage", "turn_end", "error", "done"]);
    assert_eq!(told[1]["stop"], "error");
    assert_eq!(told[2]["code"], "worker_lost");
    assert_eq!(told[1]["error"], told[2]["message"]);
    assert!(!ends.0.wants_worker());
    // Nothing ends twice.
    assert!(ends.lose().is_empty());
}

#[test]
fn a_prompt_lost_while_tools_run_has_no_second_turn_end() {
    let mut ends = Ends::open();
    ends.prompt(1);
    ends.worker(r#"{"type":"assistant_start"}"#);
    ends.worker(
        r#"{"type":"usage","input":1,"output":2,"cache_read":0,"cache_write":0,"cost_usd":0,"cumulative":{"input":1,"output":2,"cache_read":0,"cache_write":0,"cost_usd":0}}"#,
    );
    ends.worker(r#"{"type":"turn_end","stop":"tool_use"}"#);
    assert_eq!(types(&ends.lose()), ["error", "done"]);
}

#[test]
fn a_lost_compaction_ends_but_not_the_prompt_around_one() {
    let mut ends = Ends::open();
    ends.client(&json!({"id": 1, "type": "compact"}));
    ends.succeed(1, "compact", &json!({"started": true}));
    assert_eq!(types(&ends.lose()), ["error", "done"]);

    let mut ends = Ends::open();
    ends.client(&json!({"id": 1, "type": "compact"}));
    ends.succeed(1, "compact", &json!({"started": true}));
    ends.worker(r#"{"type":"compact_done","summary":"s"}"#);
    assert!(ends.lose().is_empty());

    let mut ends = Ends::open();
    ends.prompt(1);
    ends.worker(r#"{"type":"compact_done","summary":"s"}"#);
    assert_eq!(types(&ends.lose()), ["turn_end", "error", "done"]);
}

#[test]
fn lost_commands_fail_unless_repeating_them_is_harmless() {
    let mut ends = Ends::open();
    ends.client(&json!({"id": 1, "type": "compact"}));
    ends.client(&json!({"id": 2, "type": "get_state"}));
    ends.client(&json!({"id": 3, "type": "abort"}));
    ends.client(&json!({"id": 4, "type": "steer", "message": "m"}));
    let told = ends.lose();
    let code = |index: usize| (&told[index]["id"], &told[index]["code"]);
    assert_eq!(told.len(), 3, "{told:?}");
    assert_eq!(code(0), (&json!(1), &json!("worker_lost")));
    assert_eq!(
        told[1],
        json!({"type": "response", "id": 3, "command": "abort", "success": true})
    );
    assert_eq!(code(2), (&json!(4), &json!("worker_lost")));
    assert!(ends.0.wants_worker());
    assert_eq!(types(&ends.reopen()), ["get_state"]);
}

#[test]
fn steering_messages_come_back_unless_they_were_delivered() {
    let mut ends = Ends::open();
    ends.prompt(1);
    for (id, text) in [(2, "first"), (3, "second")] {
        ends.client(&json!({"id": id, "type": "steer", "message": text}));
        ends.succeed(id, "steer", &json!({"steered": true}));
    }
    let image = json!({"mime_type": "image/png", "data": "AAAA"});
    ends.client(
        &json!({"id": 4, "type": "prompt", "message": "", "images": [image], "when_busy": "steer"}),
    );
    ends.succeed(4, "prompt", &json!({"steered": true}));
    ends.worker(r#"{"type":"user_message","content":[],"time":""}"#);
    let told = ends.lose();
    let expected = [
        "turn_end",
        "error",
        "steer_dropped",
        "steer_dropped",
        "done",
    ];
    assert_eq!(types(&told), expected);
    assert_eq!(
        told[2]["content"],
        json!([{"type": "text", "text": "second"}])
    );
    assert_eq!(
        told[3]["content"],
        json!([{"type": "image", "mime_type": "image/png", "bytes": 3}])
    );
}

#[test]
fn only_events_that_the_client_subscribed_to_are_sent() {
    let mut ends = Ends::open();
    ends.client(&json!({"id": 1, "type": "subscribe", "events": ["done"]}));
    ends.succeed(1, "subscribe", &json!({"events": ["done"]}));
    ends.client(&json!({"id": 2, "type": "prompt", "message": "m"}));
    ends.succeed(2, "prompt", &json!({"started": true}));
    assert_eq!(types(&ends.lose()), ["done"]);
}

#[test]
fn panels_are_closed_with_their_worker() {
    let mut ends = Ends::open();
    ends.client(&json!({"id": 1, "type": "invoke_command", "name": "notes"}));
    let data = json!({"extension": "notes", "action": "open_panel", "open_panel": {"id": "p"}});
    ends.succeed(1, "invoke_command", &data);
    ends.worker(r#"{"type":"ext_panel","extension":"notes","panel_id":"q","title":"","lines":[],"footer":""}"#);
    ends.worker(r#"{"type":"ext_panel_close","extension":"notes","panel_id":"q"}"#);
    let told = ends.finish();
    assert_eq!(types(&told), ["ext_panel_close"]);
    assert_eq!(told[0]["panel_id"], "p");
    assert!(ends.finish().is_empty());
}

#[test]
fn commands_are_refused_if_no_worker_opens_the_session() {
    let mut ends = Ends::default();
    ends.client(&json!({"id": 1, "type": "prompt", "message": "m"}));
    ends.client(&json!({"type": "dance"}));
    ends.0
        .refused("store_unavailable", "the store is unavailable: cut");
    let told = ends.at_client();
    assert_eq!(told.len(), 2);
    assert_eq!(told[0]["code"], "store_unavailable");
    assert_eq!(told[1]["command"], "dance");
    assert!(!ends.0.wants_worker());
    // The next one tries again.
    ends.client(&json!({"id": 2, "type": "ping"}));
    assert!(ends.0.wants_worker());
}

#[test]
fn responses_without_ids_find_their_commands() {
    let mut ends = Ends::open();
    ends.client(&json!({"type": "prompt", "message": "a"}));
    ends.client(&json!({"type": "prompt", "message": "b"}));
    ends.client(&json!({"type": "get_state"}));
    ends.worker(r#"{"type":"response","command":"prompt","success":true,"data":{"started":true}}"#);
    ends.worker(r#"{"type":"response","command":"get_state","success":true,"data":{}}"#);
    ends.worker(r#"{"type":"done"}"#);
    ends.finish();
    let sent = ends.reopen();
    assert_eq!(sent, [json!({"type": "prompt", "message": "b"})]);
}

/// A prompt was sent to a worker that was lost; the next worker says what was recorded.
fn after_a_lost_prompt(recorded: &Value) -> (Vec<Value>, Vec<Value>) {
    let mut ends = Ends::open();
    ends.prompt(1);
    ends.client(&json!({"id": 2, "type": "prompt", "message": "again"}));
    assert_eq!(types(&ends.lose()), ["turn_end", "error", "done"]);
    assert!(ends.0.wants_worker());
    let asked = ends.reopen();
    assert_eq!(types(&asked), ["get_messages"]);
    // What the client sends meanwhile waits for the answer.
    assert!(ends.client(&json!({"id": 3, "type": "ping"})).is_empty());
    let told = ends.worker(&format!(
        r#"{{"type":"response","id":{},"command":"get_messages","success":true,"data":{{"messages":{recorded}}}}}"#,
        asked[0]["id"]
    ));
    (told, ends.at_worker())
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}], "time": ""})
}

#[test]
fn a_lost_prompt_that_was_not_recorded_is_sent_to_the_next_worker() {
    let old = [
        user("again"),
        user("m"),
        user("m"),
        user("m"),
        user("m"),
        user("m"),
    ];
    let (told, sent) = after_a_lost_prompt(&json!(old));
    assert!(told.is_empty());
    assert_eq!(types(&sent), ["prompt", "ping"]);
}

#[test]
fn a_lost_prompt_that_was_recorded_fails() {
    let (told, sent) = after_a_lost_prompt(&json!([user("m"), user("again")]));
    assert_eq!(told.len(), 1);
    assert_eq!(
        (&told[0]["id"], &told[0]["code"]),
        (&json!(2), &json!("worker_lost"))
    );
    assert_eq!(types(&sent), ["ping"]);
}

#[test]
fn a_lost_prompt_fails_when_nobody_knows_what_was_recorded() {
    let (told, sent) = after_a_lost_prompt(&json!(null));
    assert_eq!(told[0]["code"], "worker_lost");
    assert_eq!(types(&sent), ["ping"]);
}

#[test]
fn a_prompt_stays_in_doubt_when_the_next_worker_is_lost_as_well() {
    let mut ends = Ends::open();
    ends.client(&json!({"id": 1, "type": "prompt", "message": "m"}));
    ends.lose();
    assert_eq!(types(&ends.reopen()), ["get_messages"]);
    assert!(ends.lose().is_empty());
    assert_eq!(types(&ends.reopen()), ["get_messages"]);
}
