//! Connections that callers keep, and requests that are sent once or twice: against servers that only
//! play a service.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use zino::config::Config;
use zino::kind::ServiceKind::{AgentLoop, Memory};
use zino::memory::MemoryService;
use zino::peer::{CallError, Peer};
use zino::serve::{Listener, NetworkListener, ServeOptions, serve};
use zot_wire::zino::Response as _;
use zot_wire::zino::agent_loop::{Request as RunRequest, Response as RunResponse, Run};
use zot_wire::zino::memory::Request;

use crate::authority::{Authority, TLS};
use crate::installation::{Installation, eventually, frame};
use crate::network::{caller, caller_at, ports, up};
use crate::stack::{TEST_TIMEOUT, log};

/// Plays a service: handles each request with `respond`, which returns whether to keep the connection.
struct Actor {
    port: u16,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
    hung_up: Arc<AtomicUsize>,
}

impl Actor {
    fn start(respond: fn(&mut TcpStream) -> bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let actor = Self {
            port: listener.local_addr().unwrap().port(),
            connections: Arc::default(),
            requests: Arc::default(),
            hung_up: Arc::default(),
        };
        let counts = [&actor.connections, &actor.requests, &actor.hung_up].map(Arc::clone);
        // It ends with the process of the test.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let [connections, requests, hung_up] = counts.clone();
                connections.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || {
                    while read_request(&mut stream).is_some() {
                        requests.fetch_add(1, Ordering::SeqCst);
                        if !respond(&mut stream) {
                            return;
                        }
                    }
                    hung_up.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        actor
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

fn read_request(stream: &mut TcpStream) -> Option<Value> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut body = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).unwrap())
}

fn respond_well(stream: &mut TcpStream) -> bool {
    let beat = frame(&json!({ "type": "beat" }));
    let response = frame(&json!({ "content": "x", "type": "soft_memory" }));
    let end = vec![0; 4];
    stream
        .write_all(&[&beat[..], &response, &beat, &end].concat())
        .is_ok()
}

/// Receives a request and closes the connection, as a process does that dies.
fn die(_stream: &mut TcpStream) -> bool {
    false
}

fn stream_a_text(stream: &mut TcpStream) -> bool {
    let frames = [
        json!({ "type": "chunk", "delta": "a" }),
        json!({ "type": "beat" }),
        json!({ "type": "done", "full_text": "a", "iterations": 1 }),
    ];
    let frames: Vec<u8> = frames.iter().flat_map(frame).collect();
    stream.write_all(&[&frames[..], &[0; 4]].concat()).is_ok()
}

fn begin_a_text(stream: &mut TcpStream) -> bool {
    stream
        .write_all(&frame(&json!({ "type": "chunk", "delta": "a" })))
        .is_ok()
}

fn memory(ports: &[u16]) -> Peer<Request> {
    let installation = Installation::new("http://127.0.0.1:1/v1", "");
    caller(&installation, Memory, "tcp", ports)
}

fn agent_loop(port: u16) -> Peer<RunRequest> {
    let installation = Installation::new("http://127.0.0.1:1/v1", "");
    caller(&installation, AgentLoop, "tcp", &[port])
}

async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(TEST_TIMEOUT, work).await.unwrap()
}

#[tokio::test]
async fn a_connection_carries_one_request_after_another() {
    let actor = Actor::start(respond_well);
    let peer = memory(&[actor.port]);
    for _ in 0..10 {
        let response = soon(peer.ask(Request::GetSoft)).await.unwrap();
        let expected = json!({ "content": "x", "type": "soft_memory" });
        assert_eq!(serde_json::to_value(&response).unwrap(), expected);
    }
    assert_eq!((actor.connections(), actor.requests()), (1, 10));
}

#[tokio::test]
async fn a_connection_is_kept_when_the_caller_stops_at_the_last_frame() {
    let actor = Actor::start(stream_a_text);
    let peer = agent_loop(actor.port);
    for _ in 0..5 {
        let mut call = soon(peer.call(RunRequest::Run(Run::default())))
            .await
            .unwrap();
        assert_eq!(
            soon(call.next()).await.unwrap(),
            Some(RunResponse::Chunk("a".to_owned()))
        );
        let last = soon(call.next()).await.unwrap();
        assert!(matches!(last, Some(RunResponse::Done { .. })), "{last:?}");
    }
    assert_eq!((actor.connections(), actor.requests()), (1, 5));
}

#[tokio::test]
async fn a_connection_is_closed_when_the_caller_stops_earlier() {
    let actor = Actor::start(begin_a_text);
    let peer = agent_loop(actor.port);
    let mut call = soon(peer.call(RunRequest::Run(Run::default())))
        .await
        .unwrap();
    soon(call.next()).await.unwrap();
    drop(call);
    eventually("the connection is closed", || {
        actor.hung_up.load(Ordering::SeqCst) == 1
    });
}

#[tokio::test]
async fn only_what_may_be_repeated_is_sent_twice() {
    let actors = [Actor::start(die), Actor::start(die)];
    let ports = [actors[0].port, actors[1].port];
    let requests = || actors[0].requests() + actors[1].requests();
    let error = soon(memory(&ports).ask(Request::GetSoft))
        .await
        .unwrap_err();
    assert!(matches!(error, CallError::Unreachable(_)), "{error}");
    assert_eq!(requests(), 2);
    for port in ports {
        let named = format!("tcp://127.0.0.1:{port}: the connection was closed");
        assert!(error.to_string().contains(&named), "{error}");
    }
    let once = Request::SetSoft {
        content: "x".to_owned(),
    };
    let error = soon(memory(&ports).ask(once)).await.unwrap_err();
    assert!(matches!(error, CallError::OutcomeUnknown(_)), "{error}");
    assert_eq!(requests(), 3);
}

#[tokio::test]
async fn a_loss_in_the_middle_of_a_response_is_an_error() {
    let actor = Actor::start(|stream| {
        begin_a_text(stream);
        false
    });
    let peer = agent_loop(actor.port);
    let mut call = soon(peer.call(RunRequest::Run(Run::default())))
        .await
        .unwrap();
    soon(call.next()).await.unwrap();
    let error = soon(call.next()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "tcp://127.0.0.1:{}: the connection was closed, in the middle of the response",
            actor.port
        )
    );
    assert_eq!(actor.requests(), 1);
}

async fn all_at_once(peer: &Peer<Request>, count: usize) -> Vec<Result<(), CallError>> {
    let mut calls = JoinSet::new();
    for _ in 0..count {
        let peer = peer.clone();
        calls.spawn(async move { peer.ask(Request::GetSoft).await.map(drop) });
    }
    soon(calls.join_all()).await
}

/// Handshakes take time: if all calls made them together, each would be too late.
#[tokio::test]
async fn many_calls_at_once_share_connections() {
    let more = format!("{TLS}listen.mem = \"tls://127.0.0.1:0\"\n");
    let installation = Installation::new("http://127.0.0.1:1/v1", &more);
    Authority::new().equip(&installation, &["mem", "daemon"]);
    let process = up(&installation, &["--only", "mem"], 1);
    let peer = caller(&installation, Memory, "tls", &ports(&process));
    for result in all_at_once(&peer, 500).await {
        result.unwrap();
    }
}

/// Calls that wait for a connection do not try one after another what has just failed.
#[tokio::test]
async fn many_calls_to_a_dead_address_fail_together() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let installation = Installation::new("http://127.0.0.1:1/v1", TLS);
    Authority::new().equip(&installation, &["daemon"]);
    let peer = caller(&installation, Memory, "tls", &[port]);
    let results = all_at_once(&peer, 1000).await;
    assert_eq!(results.len(), 1000);
    for result in results {
        let error = result.unwrap_err();
        assert!(matches!(error, CallError::Unreachable(_)), "{error}");
    }
}

/// A service that refuses a long request does not read it to its end.
#[tokio::test]
async fn a_response_that_comes_before_the_end_of_the_request_is_read() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 10]).unwrap();
        let refusal = frame(&json!({ "message": "too long", "type": "error" }));
        stream.write_all(&[&refusal[..], &[0; 4]].concat()).unwrap();
    });
    let request = Request::SetSoft {
        content: "x".repeat(32 << 20),
    };
    let response = soon(memory(&[port]).ask(request)).await.unwrap();
    let failure = response.as_failure().unwrap();
    assert_eq!(failure.message.as_deref(), Some("too long"));
    server.join().unwrap();
}

/// Addresses of all kinds may be mixed.
#[tokio::test]
async fn a_missing_socket_is_passed_over() {
    let actor = Actor::start(respond_well);
    let installation = Installation::new("http://127.0.0.1:1/v1", "");
    let missing = format!("unix://{}", installation.path("mem.sock").display());
    let present = format!("tcp://127.0.0.1:{}", actor.port);
    let peer: Peer<Request> = caller_at(&installation, Memory, &[&missing, &present]);
    for _ in 0..4 {
        soon(peer.ask(Request::GetSoft)).await.unwrap();
    }
    assert_eq!(actor.requests(), 4);
}

/// Connections that wait for their next request give way to those that have one.
#[tokio::test]
async fn unused_connections_make_room_for_others() {
    let directory = tempfile::tempdir().unwrap();
    let text = format!(
        "listen.mem = \"tcp://127.0.0.1:0\"\nmem.data_dir = {:?}\n",
        directory.path()
    );
    let config = Config::parse(&text).unwrap().config;
    let listener = NetworkListener::bind(&config, Memory, None)
        .await
        .unwrap()
        .unwrap();
    let port = listener.address().port;
    let options = ServeOptions {
        max_frame_bytes: 1000,
        max_connections: 2,
        ending_time: Duration::ZERO,
        log: log(Memory),
    };
    let service = Arc::new(MemoryService::new(&config).unwrap());
    let serving = serve(
        Listener::Network(listener),
        service,
        options,
        CancellationToken::new(),
    );
    // Each keeps a connection, which nobody uses again.
    let calls = async {
        let mut peers = Vec::new();
        for _ in 0..5 {
            let peer = memory(&[port]);
            soon(peer.ask(Request::GetSoft)).await.unwrap();
            peers.push(peer);
        }
    };
    tokio::select! {
        () = serving => panic!("it ended"),
        () = calls => {}
    }
}
