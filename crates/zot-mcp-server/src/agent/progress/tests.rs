use super::{MAX_STEP_CHARS, Steps, one_line};
use zot_conversation::{ContentBlock, ToolResult};
use zot_sdk::{AgentEvent, Arguments, ToolCall};

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: name.to_owned(),
        arguments: Arguments::from_model_text(arguments),
    }
}

#[test]
fn calls_are_named_with_what_they_are_about() {
    let mut steps = Steps::default();
    let mut said = |name: &str, arguments: &str| {
        steps.describe(&AgentEvent::ToolCallRequested(call("1", name, arguments)))
    };
    let bash = said("bash", r#"{"timeout": 1, "command": "ls\n  -l"}"#);
    assert_eq!(bash.as_deref(), Some("bash: ls -l"));
    let write = said("write", r#"{"content": "secret", "path": "a.txt"}"#);
    assert_eq!(write.as_deref(), Some("write: a.txt"));
    let other = said("other", r#"{"n": 1, "what": "x"}"#);
    assert_eq!(other.as_deref(), Some("other: x"));
}

#[test]
fn only_failures_are_worth_a_second_line() {
    let mut steps = Steps::default();
    let mut finished = |is_error| {
        steps.describe(&AgentEvent::ToolCallRequested(call("1", "bash", "{}")));
        steps.describe(&AgentEvent::ToolFinished {
            result: ToolResult {
                call_id: "1".into(),
                is_error,
                content: vec![ContentBlock::Text("no such file".to_owned())],
            },
            origin: None,
            contacts: Vec::new(),
        })
    };
    assert_eq!(finished(false), None);
    assert_eq!(finished(true).as_deref(), Some("bash failed: no such file"));
}

#[test]
fn a_step_is_one_short_line_without_control_characters() {
    assert_eq!(one_line("a\n\tb\u{1b}[31mc  d"), "a b [31mc d");
    let long = one_line(&"ä".repeat(1000));
    assert_eq!(long.chars().count(), MAX_STEP_CHARS + 1);
    assert!(long.ends_with('…'));
}
