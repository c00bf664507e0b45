//! Streamed arguments of tool calls.

use zot_agent::{Response, ResponseBuilder};
use zot_conversation::{ContentBlock, ModelEvent, StopReason, ToolCallId};

use super::{in_characters, pieces};

/// Splits do not change the response, interleaved calls do not mix, arguments are always one JSON object,
/// and an interrupted response keeps only its text.
pub fn partial_arguments(data: &[u8]) {
    let (content, cut) = pieces(data);
    let whole = String::from_utf8_lossy(content);
    let cut = in_characters(&whole, &cut);
    let ids = ["call_1", "call_2"].map(ToolCallId::from);
    let expected = finish(&events(&ids, &[&whole]));
    assert_eq!(
        finish(&events(&ids, &cut)),
        expected,
        "the split changes the response"
    );
    let Some(answer) = expected else {
        unreachable!("a response with a stop is complete");
    };
    let text: String = answer.content.iter().filter_map(as_text).collect();
    assert_eq!(text, whole);
    let mut calls = 0;
    for block in &answer.content {
        if let ContentBlock::ToolCall(call) = block {
            calls += 1;
            check_arguments(call.arguments.json_or_empty());
            let read = call.arguments.json();
            let kept = read.map_or_else(|bad| bad.text.as_str(), |raw| raw.get());
            let expected = whole.trim();
            assert_eq!(kept, if expected.is_empty() { "{}" } else { expected });
        }
    }
    assert_eq!(calls, ids.len());
    let interrupted = build(&without_stop(events(&ids, &cut)));
    assert!(
        interrupted
            .keep_text()
            .iter()
            .all(|block| as_text(block).is_some())
    );
}

/// Arguments for a provider must be an object that every JSON parser accepts.
fn check_arguments(json: &str) {
    // Not as a `Value`, which limits the nesting.
    let raw = serde_json::from_str::<&serde_json::value::RawValue>(json);
    assert!(raw.is_ok_and(|raw| raw.get().starts_with('{')), "{json:?}");
}

/// Returns the text, then two calls with interleaved arguments.
fn events(ids: &[ToolCallId], pieces: &[&str]) -> Vec<ModelEvent> {
    let mut events = vec![ModelEvent::Start];
    events.extend(
        pieces
            .iter()
            .map(|piece| ModelEvent::TextDelta((*piece).to_owned())),
    );
    events.extend(ids.iter().map(|id| ModelEvent::ToolCallStart {
        id: id.clone(),
        name: "read".to_owned(),
    }));
    for piece in pieces {
        events.extend(ids.iter().map(|id| ModelEvent::ToolCallArguments {
            id: id.clone(),
            delta: (*piece).to_owned(),
        }));
    }
    events.extend(
        ids.iter()
            .map(|id| ModelEvent::ToolCallEnd { id: id.clone() }),
    );
    events.push(ModelEvent::Stop(StopReason::ToolUse));
    events
}

fn without_stop(mut events: Vec<ModelEvent>) -> Vec<ModelEvent> {
    events.pop();
    events
}

fn build(events: &[ModelEvent]) -> ResponseBuilder {
    let mut builder = ResponseBuilder::default();
    for event in events {
        builder.apply(event);
    }
    builder
}

fn finish(events: &[ModelEvent]) -> Option<Response> {
    build(events).finish().ok()
}

fn as_text(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text(text) => Some(text),
        _ => None,
    }
}
