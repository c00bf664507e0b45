use std::time::Duration;

use super::{decision, single_question};
use crate::elicitation::Answer;
use serde_json::{Map, Value, json};
use zot_sdk::{Remember, Verdict};

fn accept(content: Value) -> Answer {
    match content {
        Value::Object(content) => Answer::Accept(content),
        _ => Answer::Accept(Map::new()),
    }
}

#[test]
fn accepting_allows_as_much_as_the_form_says() {
    for (content, remember) in [
        (json!({}), Remember::Call),
        (json!({"allow": "this call"}), Remember::Call),
        (json!({"allow": "anything else"}), Remember::Call),
        (json!({"allow": 7}), Remember::Call),
        (json!({"allow": "every call of this tool"}), Remember::Tool),
        (json!({"allow": "every call"}), Remember::Session),
    ] {
        let decision = decision(&accept(content));
        assert_eq!(decision.verdict, Verdict::Allow { arguments: None });
        assert_eq!(decision.remember, remember);
    }
}

#[test]
fn everything_else_refuses() {
    for answer in [Answer::Decline, Answer::Cancel, Answer::Unavailable] {
        assert!(
            matches!(decision(&answer).verdict, Verdict::Deny { .. }),
            "{answer:?}"
        );
    }
}

#[test]
fn long_previews_are_cut_with_a_note() {
    let question = single_question("bash", &"ä".repeat(4000), Duration::ZERO);
    assert!(
        question.message.ends_with("ä\n[3904 more bytes]"),
        "{}",
        question.message
    );
    let question = single_question("bash", "ls", Duration::ZERO);
    assert_eq!(question.message, "zot wants to run bash:\nls");
}
