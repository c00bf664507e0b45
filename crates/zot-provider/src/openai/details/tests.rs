use serde_json::json;

use super::*;

fn collected(deltas: &[Value]) -> Value {
    let mut details = ReasoningDetails::default();
    for delta in deltas {
        details.add(vec![delta.clone()]);
    }
    let text = details.take().unwrap_or_else(|| "null".to_owned());
    serde_json::from_str(&text).unwrap()
}

#[test]
fn deltas_of_one_detail_are_joined_and_the_order_is_kept() {
    let deltas = [
        json!({"type": "reasoning.text", "text": "First ", "format": "anthropic-claude-v1", "index": 0}),
        json!({"type": "reasoning.text", "text": "this.", "format": "anthropic-claude-v1", "index": 0}),
        json!({"type": "reasoning.text", "text": "", "signature": "sig==", "format": "anthropic-claude-v1", "index": 0}),
        json!({"type": "reasoning.summary", "summary": "Then ", "id": "rs_1", "index": 1}),
        json!({"type": "reasoning.summary", "summary": "that.", "id": null, "index": 1}),
        json!({"type": "reasoning.encrypted", "data": "AAA", "id": "tool_1", "index": 0, "extra": {"kept": true}}),
        json!({"type": "reasoning.encrypted", "data": "BBB", "id": "tool_2", "index": 0}),
        json!("not a detail"),
    ];
    assert_eq!(
        collected(&deltas),
        json!([
            {"type": "reasoning.text", "text": "First this.", "signature": "sig==", "format": "anthropic-claude-v1", "index": 0},
            {"type": "reasoning.summary", "summary": "Then that.", "id": "rs_1", "index": 1},
            {"type": "reasoning.encrypted", "data": "AAA", "id": "tool_1", "index": 0, "extra": {"kept": true}},
            {"type": "reasoning.encrypted", "data": "BBB", "id": "tool_2", "index": 0},
        ])
    );
}

#[test]
fn whole_details_stay_as_they_are() {
    let whole = json!({"type": "reasoning.text", "text": "all", "signature": null, "id": "x", "format": "unknown", "index": 0});
    assert_eq!(collected(std::slice::from_ref(&whole)), json!([whole]));
    assert_eq!(collected(&[]), Value::Null);
    // Of a response that is not streamed: two that look as if one continued the other.
    let alike = json!({"type": "reasoning.text", "text": "all", "id": null});
    let mut details = ReasoningDetails::default();
    details.add(vec![alike.clone(), alike.clone()]);
    let kept: Value = serde_json::from_str(&details.take().unwrap()).unwrap();
    assert_eq!(kept, json!([alike, alike]));
}
