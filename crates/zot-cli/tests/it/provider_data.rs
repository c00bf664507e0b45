//! Data that a provider sends besides text and calls and wants back unchanged: the phase of
//! messages on OpenAI's responses wire, and OpenRouter's `reasoning_details`; in one process and
//! after a resume.

use std::fs;

use serde_json::{Value, json};
use testkit::{ModelServer, Reply, Wire, Workdir, Zot, ZotCommand};

use crate::support::binary;

fn event_stream(events: &[Value]) -> Reply {
    let lines: Vec<String> = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    Reply::event_stream(lines.concat())
}

struct Project {
    workdir: Workdir,
    server: ModelServer,
}

impl Project {
    fn new(script: Vec<Reply>) -> Self {
        let workdir = Workdir::new("work");
        fs::write(workdir.path().join("a.txt"), "hello\n").unwrap();
        Self {
            workdir,
            server: ModelServer::with_script(script),
        }
    }

    fn start(&self, provider: &str, model: &str) -> Zot {
        ZotCommand::new(binary(), &self.workdir)
            .arguments(["rpc", "--provider", provider, "--model", model])
            .arguments(["--api-key", "x", "--base-url", &self.server.origin()])
            .argument("--session")
            .argument(self.workdir.path().join("s.jsonl"))
            .spawn()
    }

    fn last(&self) -> testkit::RecordedRequest {
        self.server.requests().pop().unwrap()
    }
}

fn message(index: u64, phase: Option<&str>, text: &str) -> Vec<Value> {
    let item = |content: Value| {
        let mut item = json!({"type": "message", "id": format!("msg_{index}"), "role": "assistant",
            "status": "completed", "content": content});
        if let Some(phase) = phase {
            item["phase"] = phase.into();
        }
        item
    };
    let whole = json!([{"type": "output_text", "text": text, "annotations": []}]);
    vec![
        json!({"type": "response.output_item.added", "output_index": index, "item": item(json!([]))}),
        json!({"type": "response.output_text.delta", "output_index": index, "delta": text}),
        json!({"type": "response.output_item.done", "output_index": index, "item": item(whole)}),
    ]
}

fn responses(items: Vec<Vec<Value>>) -> Reply {
    let mut events = items.concat();
    events.push(json!({"type": "response.completed",
        "response": {"status": "completed", "usage": {"input_tokens": 1, "output_tokens": 1}}}));
    event_stream(&events)
}

/// Returns phase and text of the assistant messages in a request.
fn phases(request: &testkit::RecordedRequest) -> Vec<(Value, Value)> {
    let items = request.messages().iter();
    items
        .filter(|item| item["role"] == "assistant")
        .map(|item| (item["phase"].clone(), item["content"][0]["text"].clone()))
        .collect()
}

#[test]
fn messages_stay_separate_and_keep_their_phase() {
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read",
        "arguments": r#"{"path":"a.txt"}"#});
    let call = vec![json!({"type": "response.output_item.done", "output_index": 2, "item": call})];
    let project = Project::new(vec![
        responses(vec![
            message(0, Some("commentary"), "I look. "),
            message(1, Some("commentary"), "Now."),
            call,
        ]),
        responses(vec![message(0, Some("final_answer"), "It says hello.")]),
        responses(vec![message(0, None, "one"), message(1, None, "two")]),
        responses(vec![message(0, None, "three")]),
        Reply::directive("say:1"),
    ]);
    let mut zot = project.start("openai", "gpt-6.1-sol");
    zot.turn("1", "look");
    let commentary = [
        (json!("commentary"), json!("I look. ")),
        (json!("commentary"), json!("Now.")),
    ];
    assert_eq!(phases(&project.last()), commentary);
    zot.turn("2", "again");
    let full = zot.call(json!({"id": "f", "type": "get_messages", "full": true}));
    assert!(full.to_string().contains("final_answer"), "{full}");
    let plain = zot.call(json!({"id": "g", "type": "get_messages"}));
    assert!(!plain.to_string().contains("final_answer"), "{plain}");
    assert_eq!(zot.finish().stderr, "");

    let expected = [
        commentary[0].clone(),
        commentary[1].clone(),
        (json!("final_answer"), json!("It says hello.")),
        (Value::Null, json!("one")),
        (Value::Null, json!("two")),
    ];
    let mut zot = project.start("openai", "gpt-6.1-sol");
    zot.turn("1", "and now");
    assert_eq!(project.last().wire, Wire::OpenAiResponses);
    assert_eq!(phases(&project.last()), expected);
    // Chat completions have no such field.
    let set = zot.call(json!({"id": "m", "type": "set_model", "model": "gpt-4o"}));
    assert_eq!(set["success"], true);
    zot.turn("2", "and now");
    let request = project.last();
    assert_eq!(request.wire, Wire::OpenAi);
    assert!(!request.body.to_string().contains("commentary"));
    zot.finish();
}

fn delta(delta: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

#[test]
fn reasoning_details_are_sent_back_unchanged() {
    let text = |text: &str| json!({"type": "reasoning.text", "text": text, "format": "google-gemini-v1", "index": 0});
    let signed = json!({"type": "reasoning.text", "text": "", "signature": "c2ln", "format": "google-gemini-v1", "index": 0});
    let encrypted = json!({"type": "reasoning.encrypted", "data": "ZW5j", "id": "tool_1",
        "format": "google-gemini-v1", "index": 1});
    let call = json!({"index": 0, "id": "tool_1", "type": "function",
        "function": {"name": "read", "arguments": r#"{"path":"a.txt"}"#}});
    let project = Project::new(vec![
        event_stream(&[
            delta(&json!({"reasoning": "I ", "reasoning_details": [text("I ")]})),
            delta(&json!({"reasoning": "look.", "reasoning_details": [text("look.")]})),
            delta(&json!({"content": "Looking.", "reasoning_details": [signed]})),
            delta(&json!({"tool_calls": [call], "reasoning_details": [encrypted]})),
            finish("tool_calls"),
        ]),
        event_stream(&[delta(&json!({"content": "hello"})), finish("stop")]),
        Reply::directive("say:1"),
        Reply::directive("say:1"),
    ]);
    let mut zot = project.start("openrouter", "google/gemini-3.5-pro");
    zot.turn("1", "look");
    let expected = json!([
        {"type": "reasoning.text", "text": "I look.", "signature": "c2ln", "format": "google-gemini-v1", "index": 0},
        encrypted,
    ]);
    let sent = |request: &testkit::RecordedRequest| {
        let messages = request.messages().iter();
        let found = messages.filter_map(|message| message.get("reasoning_details").cloned());
        found.collect::<Vec<Value>>()
    };
    assert_eq!(sent(&project.last()), std::slice::from_ref(&expected));
    zot.finish();
    let mut zot = project.start("openrouter", "google/gemini-3.5-pro");
    zot.turn("1", "and now");
    assert_eq!(sent(&project.last()), [expected]);
    zot.finish();
    // No other provider gets them.
    let mut zot = project.start("groq", "openai/gpt-oss-120b");
    zot.turn("1", "and now");
    assert_eq!(sent(&project.last()), [] as [Value; 0]);
    zot.finish();
}
