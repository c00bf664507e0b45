use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use serde_json::value::RawValue;
use zot_conversation::{
    Message, Model, ModelEvent, ModelRequest, Sampling, StopReason, Timestamp, ToolDefinition,
    ToolEffect,
};

use super::{EVENTS_BETWEEN_YIELDS, OfflineModel};

async fn events(prompt: &str) -> Vec<ModelEvent> {
    let messages = [Arc::new(Message::user_text(prompt, Timestamp::UNIX_EPOCH))];
    let tools = ["bash", "write"].map(|name| {
        Arc::new(ToolDefinition {
            name: name.to_owned(),
            description: "A tool.".to_owned(),
            parameters: RawValue::from_string("{}".to_owned()).unwrap(),
            effect: ToolEffect::Changes,
        })
    });
    let mut stream = OfflineModel.stream(ModelRequest {
        model: OfflineModel::NAME,
        system: "You are zot.",
        messages: &messages,
        tools: &tools,
        reasoning: None,
        max_output: 4096,
        sampling: Sampling::default(),
    });
    let mut events = Vec::new();
    while let Some(event) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
        events.push(event.unwrap());
    }
    events
}

#[tokio::test(flavor = "current_thread")]
async fn a_call_is_streamed_in_pieces() {
    let events = events("write a.txt: äöü and some more text").await;
    assert_eq!(events.first(), Some(&ModelEvent::Start));
    assert_eq!(events.last(), Some(&ModelEvent::Stop(StopReason::ToolUse)));

    let mut text = String::new();
    let mut arguments = String::new();
    let mut pieces = 0;
    let mut order = Vec::new();
    for event in &events {
        match event {
            ModelEvent::TextDelta(delta) => {
                assert!(delta.split_whitespace().count() <= 1, "{delta:?}");
                text.push_str(delta);
                order.push("text");
            }
            ModelEvent::ToolCallStart { id, name } => {
                assert_eq!((id.as_str(), name.as_str()), ("offline_1", "write"));
                order.push("start");
            }
            ModelEvent::ToolCallArguments { id, delta } => {
                assert_eq!(id.as_str(), "offline_1");
                arguments.push_str(delta);
                pieces += 1;
                order.push("arguments");
            }
            ModelEvent::ToolCallEnd { .. } => order.push("end"),
            ModelEvent::Usage(usage) => {
                assert!(usage.input > 0 && usage.output > 0 && usage.cost_usd == 0.0);
                order.push("usage");
            }
            ModelEvent::Start | ModelEvent::Stop(_) => {}
            other => panic!("unexpected {other:?}"),
        }
    }
    order.dedup();
    assert_eq!(order, ["text", "start", "arguments", "end", "usage"]);
    assert!(text.ends_with("I will write 25 bytes to a.txt."), "{text}");
    assert!(pieces > 1);
    let arguments: serde_json::Value = serde_json::from_str(&arguments).unwrap();
    assert_eq!(arguments["content"], "äöü and some more text");
}

#[tokio::test(flavor = "current_thread")]
async fn a_response_without_calls_stops() {
    let events = events("hello").await;
    assert_eq!(events.last(), Some(&ModelEvent::Stop(StopReason::End)));
    assert!(
        events.len() > EVENTS_BETWEEN_YIELDS,
        "the yield is exercised"
    );
}

#[test]
fn the_stream_yields_to_other_tasks() {
    let messages = [Arc::new(Message::user_text("help", Timestamp::UNIX_EPOCH))];
    let stream = OfflineModel.stream(ModelRequest {
        model: OfflineModel::NAME,
        system: "",
        messages: &messages,
        tools: &[],
        reasoning: None,
        max_output: 4096,
        sampling: Sampling::default(),
    });
    let mut stream = pin!(stream);
    let mut context = Context::from_waker(Waker::noop());
    let mut ready = 0;
    while stream.as_mut().poll_next(&mut context).is_ready() {
        ready += 1;
    }
    assert_eq!(ready, EVENTS_BETWEEN_YIELDS);
    assert!(matches!(
        stream.as_mut().poll_next(&mut context),
        Poll::Ready(Some(Ok(_)))
    ));
}
