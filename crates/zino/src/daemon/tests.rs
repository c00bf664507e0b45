//! Turns on channels that several services may write to, with a scripted `mem`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use zot_conversation::BoxFuture;
use zot_wire::zino::memory::{Hold, Request, Response};
use zot_wire::zino::{ErrorCode, Response as _, agent_loop};

use super::{DaemonPeers, DaemonService};
use crate::config::{Config, StoreUrl};
use crate::exchange::exchange;
use crate::kind::ServiceKind;
use crate::logging::{Level, Log};
use crate::peer::Peer;
use crate::service::{Responses, ResponsesTo, Service};

/// What `mem` does with the next hold, in this order; the last one is repeated.
#[derive(Debug, Clone, Copy)]
enum Holding {
    /// Grants this fence until the caller hangs up.
    Grants(i64),
    /// Grants this fence, and breaks off after a second.
    Breaks(i64),
    /// Grants this fence, and loses the channel to another after a second.
    Loses(i64),
    Refuses(ErrorCode),
    /// Has no holds, like files.
    NotNeeded,
    /// Does not know the request, like the original.
    Unknown,
}

struct ScriptedMemory {
    holding: Mutex<Vec<Holding>>,
    append: Result<(), ErrorCode>,
    requests: Arc<Mutex<Vec<Request>>>,
    open_holds: AtomicUsize,
}

/// Counts a hold until its caller hangs up.
struct OpenHold<'a>(&'a AtomicUsize);

impl<'a> OpenHold<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for OpenHold<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Service for ScriptedMemory {
    type Request = Request;

    fn kind(&self) -> ServiceKind {
        ServiceKind::Memory
    }

    fn handle(&self, request: Request, responses: Responses<Response>) -> BoxFuture<'_, ()> {
        self.requests.lock().unwrap().push(request.clone());
        Box::pin(async move {
            match request {
                Request::HoldChannel { .. } => self.hold(&responses).await,
                Request::AppendHistory { hold, .. } => {
                    let is_held = self.open_holds.load(Ordering::Relaxed) > 0;
                    let response = match self.append {
                        Ok(()) if hold.is_some() && !is_held => {
                            Response::error_with_code(ErrorCode::Moved, "released too early")
                        }
                        Ok(()) => Response::Appended { sequence: 1 },
                        Err(code) => Response::error_with_code(code, "away"),
                    };
                    responses.finish(response).await;
                }
                _ => responses.finish(Response::Done).await,
            }
        })
    }
}

impl ScriptedMemory {
    async fn hold(&self, responses: &Responses<Response>) {
        let holding = {
            let mut script = self.holding.lock().unwrap();
            match script.len() {
                1 => script[0],
                _ => script.remove(0),
            }
        };
        let (fence, end) = match holding {
            Holding::Grants(fence) => (Some(fence), None),
            Holding::Breaks(fence) => (Some(fence), Some(Response::error("broken"))),
            Holding::Loses(fence) => {
                let moved = Response::error_with_code(ErrorCode::Moved, "taken over");
                (Some(fence), Some(moved))
            }
            Holding::NotNeeded => (None, None),
            Holding::Refuses(code) => {
                let refusal = Response::error_with_code(code, "refused");
                return responses.finish(refusal).await;
            }
            Holding::Unknown => {
                let error = Response::error("Unknown message type: hold_channel");
                return responses.finish(error).await;
            }
        };
        let _open = OpenHold::new(&self.open_holds);
        responses.finish(Response::Held { fence }).await;
        match end {
            Some(end) => {
                sleep(Duration::from_secs(1)).await;
                responses.finish(end).await;
            }
            None => std::future::pending().await,
        }
    }
}

/// Answers after three seconds.
struct SlowLoop;

impl Service for SlowLoop {
    type Request = agent_loop::Request;

    fn kind(&self) -> ServiceKind {
        ServiceKind::AgentLoop
    }

    fn handle(
        &self,
        _request: agent_loop::Request,
        responses: ResponsesTo<agent_loop::Request>,
    ) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            sleep(Duration::from_secs(3)).await;
            let content = "hello".to_owned();
            let iterations = Some(1);
            let result = agent_loop::Response::Result {
                content,
                iterations,
            };
            responses.finish(result).await;
        })
    }
}

struct Turn {
    frames: Vec<Value>,
    requests: Vec<Request>,
    took: Duration,
}

/// Sends a message for a channel to a daemon with this `mem`.
async fn turn(holding: &[Holding], append: Result<(), ErrorCode>) -> Turn {
    let log = Log::new("test", Level::Error);
    let requests = Arc::default();
    let memory = ScriptedMemory {
        holding: Mutex::new(holding.to_vec()),
        append,
        requests: Arc::clone(&requests),
        open_holds: AtomicUsize::new(0),
    };
    let missing = std::path::PathBuf::from("/nonexistent/socket");
    let peers = DaemonPeers {
        system_prompt: Peer::socket(missing.clone(), 1 << 20),
        context: Peer::socket(missing.clone(), 1 << 20),
        agent_loop: Peer::local(Arc::new(SlowLoop), log),
        router: Peer::socket(missing, 1 << 20),
        memory: Peer::local(Arc::new(memory), log).within(Duration::from_secs(5)),
    };
    let mut config = Config::default();
    config.store.url = Some(StoreUrl::new("postgres://db/zino"));
    let daemon = Peer::local(Arc::new(DaemonService::new(config, log, peers)), log);
    let began = Instant::now();
    let frames = exchange(&daemon, &json!({ "message": "hi", "channel_id": "c" })).await;
    let requests = requests.lock().unwrap().clone();
    Turn {
        frames,
        requests,
        took: began.elapsed(),
    }
}

fn appended(requests: &[Request]) -> Option<(Option<String>, Option<Hold>)> {
    requests.iter().find_map(|request| match request {
        Request::AppendHistory { call, hold, .. } => Some((call.clone(), hold.clone())),
        _ => None,
    })
}

fn holds(requests: &[Request]) -> Vec<(String, Option<i64>)> {
    let held = |request: &Request| match request {
        Request::HoldChannel { owner, fence, .. } => Some((owner.clone(), *fence)),
        _ => None,
    };
    requests.iter().filter_map(held).collect()
}

fn saved() -> Vec<Value> {
    vec![json!({ "type": "response", "content": "hello" })]
}

#[tokio::test(start_paused = true)]
async fn a_turn_holds_its_channel_before_it_begins_and_stores_with_the_hold() {
    let turn = turn(&[Holding::Grants(7)], Ok(())).await;
    assert_eq!(turn.frames, saved());
    let [(owner, None)] = &holds(&turn.requests)[..] else {
        panic!("{:?}", turn.requests);
    };
    assert!(matches!(turn.requests[0], Request::HoldChannel { .. }));
    let (call, hold) = appended(&turn.requests).unwrap();
    assert_eq!(call.unwrap().len(), 32);
    let owner = owner.clone();
    assert_eq!(hold, Some(Hold { owner, fence: 7 }));
}

#[tokio::test(start_paused = true)]
async fn a_turn_on_an_unavailable_store_is_refused_with_its_code() {
    for (code, name, message) in [
        (
            ErrorCode::StoreUnavailable,
            "store_unavailable",
            "the channel cannot be used now: mem: refused",
        ),
        (ErrorCode::ChannelBusy, "channel_busy", "refused"),
    ] {
        let turn = turn(&[Holding::Refuses(code)], Ok(())).await;
        let error = json!({ "type": "error", "code": name, "message": message });
        assert_eq!(turn.frames, [error]);
        assert_eq!(turn.requests.len(), 1);
        assert_eq!(turn.took, Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_hold_is_continued_with_its_owner_and_fence() {
    let script = [
        Holding::Breaks(7),
        Holding::Refuses(ErrorCode::StoreUnavailable),
        Holding::Grants(7),
    ];
    let turn = turn(&script, Ok(())).await;
    assert_eq!(turn.frames, saved());
    let holds = holds(&turn.requests);
    let owner = holds[0].0.clone();
    let again = (owner.clone(), Some(7));
    assert_eq!(holds, [(owner, None), again.clone(), again]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_whose_channel_is_taken_over_ends_at_once() {
    for script in [
        vec![Holding::Loses(7)],
        vec![Holding::Breaks(7), Holding::Refuses(ErrorCode::Moved)],
    ] {
        let turn = turn(&script, Ok(())).await;
        assert_eq!(turn.frames.len(), 1);
        assert_eq!(turn.frames[0]["code"], "moved");
        assert!(turn.took < Duration::from_secs(2), "{:?}", turn.took);
        assert_eq!(appended(&turn.requests), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_cannot_be_stored_says_so() {
    let turn = turn(&[Holding::Grants(7)], Err(ErrorCode::StoreUnavailable)).await;
    let expected = json!({ "type": "response", "content": "hello", "unsaved": "away" });
    assert_eq!(turn.frames, [expected]);
}

#[tokio::test(start_paused = true)]
async fn a_store_without_holds_is_used_as_before() {
    for holding in [Holding::NotNeeded, Holding::Unknown] {
        let turn = turn(&[holding], Ok(())).await;
        assert_eq!(turn.frames, saved());
        assert_eq!(appended(&turn.requests), Some((None, None)));
    }
}
