use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{advance, sleep};
use zot_wire::zino::Response as _;
use zot_wire::zino::daemon::{Request, Response};

use super::{
    COLLECTED_TEXT_BYTES, MAX_WATCHED_TEXT_BYTES, Publish, TurnEvent, WatchedTurn, Watchers,
};

#[derive(Clone, Default)]
struct Published(Arc<Mutex<Vec<TurnEvent>>>);

impl Published {
    fn watchers(&self) -> Watchers {
        let events = Arc::clone(&self.0);
        let publish: Publish = Arc::new(move |token, payload| {
            let event: TurnEvent = serde_json::from_slice(&payload).unwrap();
            assert_eq!(token, event.turn);
            assert_eq!(event.channel.as_deref(), Some("ada"));
            assert_eq!(event.node, "1f2e");
            events.lock().unwrap().push(event);
        });
        let node = "1f2e".to_owned();
        Watchers { publish, node }
    }

    fn frames(&self) -> Vec<Value> {
        let events = self.0.lock().unwrap();
        let frames = events
            .iter()
            .map(|event| event.frame.clone().unwrap_or_default());
        frames.collect()
    }

    fn begin(&self) -> WatchedTurn {
        let request = Request {
            message: "hello".to_owned(),
            channel_id: Some("ada".to_owned()),
            stream: true,
        };
        WatchedTurn::begin(Some(&self.watchers()), &request)
    }
}

fn done(text: &str) -> Response {
    Response::Done {
        full_text: text.to_owned(),
        iterations: None,
        unsaved: None,
    }
}

#[tokio::test(start_paused = true)]
async fn text_is_collected() {
    let published = Published::default();
    let mut turn = published.begin();
    for piece in ["He", "ll", "o"] {
        turn.delta(piece);
    }
    advance(Duration::from_millis(150)).await;
    turn.delta(" A");
    turn.delta("da");
    turn.end(&done("Hello Ada"));
    drop(turn);
    assert_eq!(
        published.frames(),
        [
            json!({"message": "hello"}),
            json!({"type": "chunk", "delta": "He"}),
            json!({"type": "chunk", "delta": "llo A"}),
            json!({"type": "chunk", "delta": "da"}),
            json!({"type": "done", "full_text": "Hello Ada"}),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn text_is_not_held_back_while_a_tool_runs() {
    let published = Published::default();
    let mut turn = published.begin();
    turn.delta("I will");
    turn.delta(" wait");
    turn.during(sleep(Duration::from_secs(5))).await;
    assert_eq!(
        published.frames()[2],
        json!({"type": "chunk", "delta": " wait"})
    );
    turn.delta("x");
    let output = "y".repeat(MAX_WATCHED_TEXT_BYTES + 1);
    turn.delta(&format!("\n<tool_response>\n{output}\n</tool_response>\n"));
    let frames = published.frames();
    assert_eq!(frames[3], json!({"type": "chunk", "delta": "x"}));
    let block = frames[4]["delta"].as_str().unwrap();
    assert!(block.starts_with("<tool_response>\ny") && block.ends_with("y…</tool_response>"));
}

#[tokio::test(start_paused = true)]
async fn much_text_is_sent_at_once_and_a_long_response_is_cut() {
    let published = Published::default();
    let mut turn = published.begin();
    turn.delta("a");
    turn.delta(&"ä".repeat(COLLECTED_TEXT_BYTES));
    turn.end(&done(&"ä".repeat(MAX_WATCHED_TEXT_BYTES)));
    let frames = published.frames();
    assert_eq!(frames.len(), 4, "message, first piece, much text, end");
    let ending = frames[3]["full_text"].as_str().unwrap();
    assert!(ending.starts_with("…ä") && ending.len() <= MAX_WATCHED_TEXT_BYTES + 3);
}

#[tokio::test(start_paused = true)]
async fn failures_and_clients_that_hang_up_end_a_turn() {
    let published = Published::default();
    let mut turn = published.begin();
    turn.end(&Response::error("rtr is away"));
    drop(turn);
    drop(published.begin());
    assert_eq!(
        published.frames(),
        [
            json!({"message": "hello"}),
            json!({"type": "error", "message": "rtr is away"}),
            json!({"message": "hello"}),
            Value::Null,
        ]
    );
}
