//! Executors and models that are lost in the middle of a call.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use zot_wire::write_frame;

use super::*;

/// What an executor does with a request.
#[derive(Clone, Copy)]
enum Deed {
    /// Ends without a frame.
    Vanish,
    Run,
    /// Like an executor of an earlier version.
    NotKnow,
}

struct ScriptedExecutor {
    deeds: Mutex<VecDeque<Deed>>,
    requests: Mutex<Vec<executor::Request>>,
}

impl Service for ScriptedExecutor {
    type Request = executor::Request;

    fn kind(&self) -> ServiceKind {
        ServiceKind::Executor
    }

    fn handle(
        &self,
        request: executor::Request,
        responses: Responses<executor::Response>,
    ) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.requests.lock().unwrap().push(request);
            let deed = self.deeds.lock().unwrap().pop_front();
            let response = match deed.unwrap() {
                Deed::Vanish => return,
                Deed::Run => executor::Response::Result(executor::ExecutionResult {
                    stdout: "out".to_owned(),
                    ..Default::default()
                }),
                Deed::NotKnow => executor::Response::error("Unknown message type: outcome"),
            };
            responses.finish(response).await;
        })
    }
}

async fn execute(config: &str, deeds: &[Deed]) -> (String, Vec<executor::Request>) {
    let executor = Arc::new(ScriptedExecutor {
        deeds: Mutex::new(deeds.iter().copied().collect()),
        requests: Mutex::default(),
    });
    let router = ScriptedRouter {
        parts: Vec::new(),
        requests: Mutex::default(),
    };
    let service = AgentLoopService::new(
        Config::parse(config).unwrap().config,
        Log::new("agr", Level::Error),
        local(Arc::new(router)),
        local(Arc::<ScriptedExecutor>::clone(&executor)),
    );
    let report = service.execute("bash", "true").await;
    let report = report.unwrap_or_else(|error| format!("error: {error}"));
    let requests = std::mem::take(&mut *executor.requests.lock().unwrap());
    (report, requests)
}

const SHARED: &str = "store.url = \"postgres://zino@localhost/zino\"\n";
const UNKNOWN: &str = "[stderr]\ninterrupted, outcome unknown\n[exit code: -1]";
const LOST: &str = "error: the response ended too early";

#[tokio::test]
async fn a_lost_executor_is_asked_once_more_under_the_same_name() {
    for (deeds, expected) in [
        (&[Deed::Run][..], "out"),
        (&[Deed::Vanish, Deed::Run], "out"),
        (&[Deed::Vanish, Deed::Vanish], UNKNOWN),
        (&[Deed::Vanish, Deed::NotKnow], LOST),
    ] {
        let (report, requests) = execute(SHARED, deeds).await;
        assert_eq!(report, expected);
        assert_eq!(requests.len(), deeds.len());
        let executor::Request::Execute(code) = &requests[0] else {
            panic!("{requests:?}");
        };
        assert!(code.call.is_some());
        for again in &requests[1..] {
            assert_eq!(*again, executor::Request::Outcome(code.clone()));
        }
    }
}

#[tokio::test]
async fn without_a_shared_store_runs_have_no_name_and_are_not_repeated() {
    let (report, requests) = execute("", &[Deed::Vanish]).await;
    assert_eq!(report, LOST);
    let [executor::Request::Execute(code)] = &requests[..] else {
        panic!("{requests:?}");
    };
    assert_eq!(code.call, None);
}

/// Plays `rtr` on the network: sends the frames of one script to each request, and closes the connection.
fn fake_router(scripts: Vec<Vec<Value>>) -> Peer<router::Request> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // It ends with the process of the test.
    thread::spawn(move || {
        for script in scripts {
            let (mut stream, _) = listener.accept().unwrap();
            read_request(&mut stream);
            let mut frames = Vec::new();
            for frame in &script {
                write_frame(&mut frames, frame).unwrap();
            }
            let is_complete = script.last().is_some_and(|frame| frame["type"] == "done");
            if is_complete {
                frames.extend([0; 4]);
            }
            stream.write_all(&frames).unwrap();
        }
    });
    let config = format!("peers.rtr = \"tcp://127.0.0.1:{port}\"\n");
    let config = Config::parse(&config).unwrap().config;
    Peer::configured(&config, ServiceKind::Router, None, None)
}

fn read_request(stream: &mut TcpStream) {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut body = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut body).unwrap();
}

async fn run_with(router: Peer<router::Request>, request: Value) -> Vec<Value> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/zino/assets");
    let config = format!("tools.dir = \"{directory}/tools\"\n");
    let service = AgentLoopService::new(
        Config::parse(&config).unwrap().config,
        Log::new("agr", Level::Error),
        router,
        local(Arc::new(EchoingExecutor)),
    );
    exchange(&local(Arc::new(service)), &request).await
}

fn done(text: &str) -> Value {
    json!({ "type": "done", "full_text": text })
}

#[tokio::test]
async fn a_lost_response_is_asked_for_again_while_nobody_has_seen_it() {
    // The start of what may be a block is held back.
    let lost = || vec![chunk("<tool_c")];
    let router = fake_router(vec![lost(), lost(), vec![chunk("hi"), done("hi")]]);
    let frames = run_with(router, json!({ "type": "run", "stream": true })).await;
    assert_eq!(frames[..1], [chunk("hi")]);
    assert_eq!(frames[1]["full_text"], "hi");
    // Without streaming, nobody sees anything before the end.
    let router = fake_router(vec![vec![chunk("lost")], vec![chunk("hi"), done("hi")]]);
    let frames = run_with(router, json!({ "type": "run", "stream": false })).await;
    assert_eq!(frames[0]["content"], "hi", "{frames:?}");
    // At most twice.
    let router = fake_router(vec![lost(), lost(), lost(), vec![chunk("hi"), done("hi")]]);
    let frames = run_with(router, json!({ "type": "run", "stream": true })).await;
    assert_eq!(frames.len(), 1);
    let message = frames[0]["message"].as_str().unwrap();
    assert!(
        message.contains("in the middle of the response"),
        "{message}"
    );
}

#[tokio::test]
async fn a_response_that_was_passed_on_is_not_asked_for_again() {
    let router = fake_router(vec![vec![chunk("seen ")], vec![chunk("hi"), done("hi")]]);
    let frames = run_with(router, json!({ "type": "run", "stream": true })).await;
    assert_eq!(frames[0], chunk("seen "));
    assert_eq!(frames[1]["type"], "error", "{frames:?}");
    // A tool has run, even if nobody has seen it.
    let router = fake_router(vec![vec![chunk(CALL)], vec![chunk("hi"), done("hi")]]);
    let frames = run_with(router, json!({ "type": "run", "stream": false })).await;
    assert_eq!(frames[0]["type"], "error", "{frames:?}");
}
