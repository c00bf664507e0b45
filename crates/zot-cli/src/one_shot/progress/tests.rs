use zot_sdk::{ErrorCode, ErrorReport};

use super::*;

#[test]
fn the_line_names_model_activity_and_seconds() {
    let mut status = Status::new("gpt-4o".to_owned());
    let elapsed = Duration::from_millis(12_900);
    assert_eq!(
        status.line(elapsed),
        "gpt-4o · waiting for the model · 12 s"
    );
    assert!(status.observe(&AgentEvent::TextDelta("a".to_owned())));
    assert!(!status.observe(&AgentEvent::TextDelta("b".to_owned())));
    assert!(!status.observe(&AgentEvent::AssistantStarted));
    assert_eq!(status.line(elapsed), "gpt-4o · answering · 12 s");
}

#[test]
fn a_fallback_changes_the_model() {
    let mut status = Status::new("gpt-4o".to_owned());
    status.observe(&AgentEvent::FellBack {
        from: "openai/gpt-4o".to_owned(),
        to: "ollama/qwen3".to_owned(),
        error: ErrorReport::new(ErrorCode::Unavailable, "down"),
    });
    assert_eq!(
        status.line(Duration::ZERO),
        "ollama/qwen3 · waiting for the model · 0 s"
    );
}
