mod lost;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::exchange::exchange;
use crate::logging::Level;

fn local<R: zot_wire::zino::Request>(service: Arc<dyn Service<Request = R>>) -> Peer<R> {
    Peer::local(service, Log::new("test", Level::Error))
}

/// Responds like `rtr`: first with the given parts, then with `done`.
struct ScriptedRouter {
    parts: Vec<String>,
    requests: Mutex<Vec<Inference>>,
}

impl Service for ScriptedRouter {
    type Request = router::Request;

    fn kind(&self) -> ServiceKind {
        ServiceKind::Router
    }

    fn handle(
        &self,
        request: router::Request,
        responses: Responses<router::Response>,
    ) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let router::Request::Infer(inference) = request else {
                panic!("{request:?}");
            };
            let first = self.requests.lock().unwrap().is_empty();
            let parts = match first {
                true => self.parts.clone(),
                false => vec!["done".to_owned()],
            };
            let full_text = parts.concat();
            let streaming = inference.stream;
            self.requests.lock().unwrap().push(inference);
            if !streaming {
                let content = full_text;
                return responses
                    .finish(router::Response::Response { content })
                    .await;
            }
            for part in parts {
                responses.send(router::Response::Chunk(part)).await.unwrap();
            }
            responses.finish(router::Response::Done { full_text }).await;
        })
    }
}

/// Responds like `exc`: the code is the output.
struct EchoingExecutor;

impl Service for EchoingExecutor {
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
            let executor::Request::Execute(code) = request else {
                panic!("{request:?}");
            };
            let result = executor::ExecutionResult {
                stdout: code.code,
                ..executor::ExecutionResult::default()
            };
            responses.finish(executor::Response::Result(result)).await;
        })
    }
}

/// The outcome of a run: the frames it sent and the requests `rtr` received.
struct Outcome {
    frames: Vec<Value>,
    requests: Vec<Inference>,
}

impl Outcome {
    /// The augmented text in the second request to the model, if there was one.
    fn continuation(&self) -> Option<&str> {
        self.requests.get(1)?.messages[0].text()
    }

    /// The last frame: its text and how many iterations there were.
    fn content(&self) -> Value {
        let last = self.frames.last().unwrap();
        let text = match last["type"].as_str() {
            Some("done") => &last["full_text"],
            Some("result") => &last["content"],
            _ => panic!("{last}"),
        };
        json!([text, last["iterations"]])
    }
}

fn chunk(text: &str) -> Value {
    json!({ "type": "chunk", "delta": text })
}

fn error(message: &str) -> Value {
    json!({ "type": "error", "message": message })
}

fn run(parts: Vec<String>, request: Value) -> Outcome {
    let router = Arc::new(ScriptedRouter {
        parts,
        requests: Mutex::default(),
    });
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/zino/assets");
    let config =
        format!("tools.dir = \"{directory}/tools\"\nskills.dir = \"{directory}/skills\"\n");
    let service = AgentLoopService::new(
        Config::parse(&config).unwrap().config,
        Log::new("agr", Level::Error),
        local::<router::Request>(Arc::<ScriptedRouter>::clone(&router)),
        local(Arc::new(EchoingExecutor)),
    );
    let mut request = request;
    request["type"] = "run".into();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let frames = runtime.block_on(exchange(&local(Arc::new(service)), &request));
    let requests = std::mem::take(&mut *router.requests.lock().unwrap());
    Outcome { frames, requests }
}

fn streamed(parts: Vec<String>) -> Outcome {
    run(parts, json!({ "stream": true }))
}

fn collected(text: &str) -> Outcome {
    run(vec![text.to_owned()], json!({}))
}

const CALL: &str =
    "<tool_call>\n{\"name\": \"execute_bash\", \"arguments\": {\"code\": \"ü 1\"}}\n</tool_call>";

/// Texts that are full of tags, whole and broken.
fn texts() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        3 => Just(CALL),
        1 => Just("<tool_call>"),
        1 => Just("</tool_call>"),
        1 => Just("<task> {\"skill\": \"x\"} </task>"),
        1 => Just("<task>"),
        1 => Just("</task>"),
        1 => Just("<"),
        1 => Just("<too"),
        1 => Just(" \n"),
        1 => Just("wörds "),
        1 => Just("{\"name\": 1"),
    ];
    prop::collection::vec(fragment, 0..8).prop_map(|fragments| fragments.concat())
}

/// Cuts at arbitrary characters, with empty parts among them.
fn cut(text: &str, positions: &[prop::sample::Index]) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let position = |index: &prop::sample::Index| index.index(characters.len() + 1);
    let mut positions: Vec<usize> = positions.iter().map(position).collect();
    positions.extend([0, characters.len()]);
    positions.sort_unstable();
    let parts = positions.windows(2);
    parts
        .map(|pair| characters[pair[0]..pair[1]].iter().collect())
        .collect()
}

proptest! {
    #[test]
    fn streaming_and_collected_agree_for_every_split(
        text in texts(),
        positions in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let whole = collected(&text);
        let pieces = streamed(cut(&text, &positions));
        prop_assert_eq!(pieces.continuation(), whole.continuation());
        prop_assert_eq!(pieces.content(), whole.content());
        prop_assert!(!pieces.frames.contains(&chunk("")));
    }
}

#[test]
fn a_response_may_arrive_one_character_at_a_time() {
    let text = format!("a <{CALL} b <task>{{}}</task> <tool_call>open");
    let parts = text.chars().map(String::from).collect();
    let pieces = streamed(parts);
    let response = "\n<tool_response>\nü 1\n</tool_response>\n";
    let refusal = "\n<task_response>\nError: Unknown skill ''\n</task_response>\n";
    let expected = format!("a <{CALL}{response} b <task>{{}}</task>{refusal} <tool_call>open");
    assert_eq!(pieces.continuation(), Some(expected.as_str()));
    assert_eq!(pieces.continuation(), collected(&text).continuation());
    let chunks: String = pieces
        .frames
        .iter()
        .filter_map(|frame| frame["delta"].as_str())
        .collect();
    assert_eq!(
        chunks,
        format!("a <{response} b {refusal} <tool_call>opendone")
    );
    // A response is one chunk.
    assert!(pieces.frames.contains(&chunk(response)));
}

#[test]
fn the_last_iteration_returns_its_tool_responses() {
    let outcome = run(vec![CALL.to_owned()], json!({ "max_iterations": 1 }));
    let expected = format!("{CALL}\n<tool_response>\nü 1\n</tool_response>\n");
    assert_eq!(outcome.content(), json!([expected, 1]));
    assert_eq!(outcome.requests.len(), 1);
}

#[test]
fn invalid_requests_are_rejected() {
    let cases = [
        (json!({ "messages": "x" }), "messages must be an array"),
        (
            json!({ "temperature": "hot" }),
            "temperature must be a number",
        ),
        (json!({ "top_p": [1] }), "top_p must be a number"),
        (
            json!({ "max_iterations": 0 }),
            "max_iterations must be a whole number above 0",
        ),
        (
            json!({ "max_iterations": "5.0" }),
            "max_iterations must be a whole number above 0",
        ),
    ];
    for (request, expected) in cases {
        let outcome = run(Vec::new(), request);
        assert_eq!(outcome.frames, [error(expected)]);
        assert_eq!(outcome.requests.len(), 0);
    }
}

#[test]
fn an_endless_response_is_an_error() {
    let parts = vec!["x".repeat(1 << 20); 65];
    let outcome = run(parts, json!({}));
    let expected = "Agentic runtime error: the response of rtr is longer than 67108864 bytes";
    assert_eq!(outcome.frames, [error(expected)]);
}

#[test]
fn sampling_is_passed_on() {
    let outcome = run(
        vec!["x".to_owned()],
        json!({ "temperature": 0.5, "top_p": 1 }),
    );
    let expected = Inference {
        messages: Vec::new(),
        sampling: Sampling {
            temperature: Some(0.5),
            top_p: Some(1.0),
        },
        stream: false,
    };
    assert_eq!(outcome.requests, [expected]);
}

/// Makes the model wait for the executor, or the other way round.
struct Interlock {
    /// Whether the model waits for the executor, or the executor for the model.
    model_waits: bool,
    gate: tokio::sync::Semaphore,
}

/// A model that continues only after its tool call has finished, or must continue before.
struct InterlockedRouter {
    interlock: Arc<Interlock>,
    has_request: Mutex<bool>,
}

struct InterlockedExecutor(Arc<Interlock>);

/// More frames than the queue between two services holds.
const MANY: usize = 1000;

impl Service for InterlockedExecutor {
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
            match self.0.model_waits {
                true => self.0.gate.add_permits(1),
                false => drop(self.0.gate.acquire().await.unwrap()),
            }
            EchoingExecutor.handle(request, responses).await;
        })
    }
}

impl Service for InterlockedRouter {
    type Request = router::Request;

    fn kind(&self) -> ServiceKind {
        ServiceKind::Router
    }

    fn handle(
        &self,
        _request: router::Request,
        responses: Responses<router::Response>,
    ) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let interlock = &self.interlock;
            let send = async |text: &str| {
                let chunk = router::Response::Chunk(text.to_owned());
                responses.send(chunk).await.unwrap();
            };
            if !std::mem::replace(&mut *self.has_request.lock().unwrap(), true) {
                send(CALL).await;
                if interlock.model_waits {
                    drop(interlock.gate.acquire().await.unwrap());
                }
                for _ in 0..MANY {
                    send("x").await;
                }
                if !interlock.model_waits {
                    interlock.gate.add_permits(1);
                }
            }
            let full_text = String::new();
            responses.finish(router::Response::Done { full_text }).await;
        })
    }
}

async fn interlocked(model_waits: bool) -> Vec<Value> {
    let interlock = Arc::new(Interlock {
        model_waits,
        gate: tokio::sync::Semaphore::new(0),
    });
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/zino/assets");
    let config = Config::parse(&format!("tools.dir = \"{directory}/tools\"\n")).unwrap();
    let agent_loop = AgentLoopService::new(
        config.config,
        Log::new("agr", Level::Error),
        local(Arc::new(InterlockedRouter {
            interlock: Arc::clone(&interlock),
            has_request: Mutex::new(false),
        })),
        local(Arc::new(InterlockedExecutor(interlock))),
    );
    let request = json!({ "type": "run", "stream": true });
    exchange(&local(Arc::new(agent_loop)), &request).await
}

#[tokio::test(start_paused = true)]
async fn a_call_runs_as_soon_as_it_is_complete_while_the_response_keeps_arriving() {
    for model_waits in [true, false] {
        let limit = std::time::Duration::from_secs(60);
        let frames = tokio::time::timeout(limit, interlocked(model_waits)).await;
        let frames = frames.expect("neither waits forever");
        assert_eq!(frames.len(), MANY + 2, "model waits: {model_waits}");
        assert_eq!(
            frames[0],
            chunk("\n<tool_response>\nü 1\n</tool_response>\n")
        );
    }
}
