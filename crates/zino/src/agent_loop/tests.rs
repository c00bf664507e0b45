use proptest::prelude::*;

use super::*;
use crate::logging::Level;

fn local(service: Arc<dyn Service>) -> Peer {
    Peer::local(service, Log::new("test", Level::Error))
}

/// Answers as `rtr` does, with a text that is cut in a given way, then with `done`.
struct ScriptedRouter {
    parts: Vec<String>,
    asked: Mutex<Vec<Object>>,
}

impl Service for ScriptedRouter {
    fn kind(&self) -> ServiceKind {
        ServiceKind::Router
    }

    fn handle(&self, request: Object, answers: Answers) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let first = self.asked.lock().unwrap().is_empty();
            let parts = match first {
                true => self.parts.clone(),
                false => vec!["done".to_owned()],
            };
            let full_text = parts.concat();
            let streaming = request["stream"] == true;
            self.asked.lock().unwrap().push(request);
            if !streaming {
                let answer = json!({ "type": "response", "content": full_text });
                return answers.finish(Answer::message(answer)).await;
            }
            for part in parts {
                answers.send(Answer::Chunk(part)).await.unwrap();
            }
            let iterations = None;
            answers
                .finish(Answer::Done {
                    full_text,
                    iterations,
                })
                .await;
        })
    }
}

/// Answers as `exc` does: the code is the output.
struct EchoingExecutor;

impl Service for EchoingExecutor {
    fn kind(&self) -> ServiceKind {
        ServiceKind::Executor
    }

    fn handle(&self, request: Object, answers: Answers) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let answer = json!({
                "type": "result", "exit_code": 0, "stdout": request["code"], "stderr": "",
            });
            answers.finish(Answer::message(answer)).await;
        })
    }
}

/// What a run came to: the frames it sent, and what `rtr` was asked.
struct Outcome {
    frames: Vec<Answer>,
    asked: Vec<Object>,
}

impl Outcome {
    /// The augmented text that went back to the model, if it was asked again.
    fn continuation(&self) -> Option<&Value> {
        Some(&self.asked.get(1)?["messages"][0]["content"])
    }

    /// What was said at the end.
    fn content(&self) -> Value {
        match self.frames.last().unwrap() {
            Answer::Done {
                full_text,
                iterations,
            } => json!([full_text, iterations]),
            Answer::Message(object) => json!([object["content"], object["iterations"]]),
            Answer::Chunk(_) => panic!("no end"),
        }
    }
}

fn run(parts: Vec<String>, request: Value) -> Outcome {
    let router = Arc::new(ScriptedRouter {
        parts,
        asked: Mutex::default(),
    });
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/zino/assets");
    let config =
        format!("tools.dir = \"{directory}/tools\"\nskills.dir = \"{directory}/skills\"\n");
    let service = AgentLoopService::new(
        Config::parse(&config).unwrap().config,
        Log::new("agr", Level::Error),
        local(Arc::clone(&router) as Arc<dyn Service>),
        local(Arc::new(EchoingExecutor)),
    );
    let Value::Object(mut request) = request else {
        panic!("no object");
    };
    request.insert("type".to_owned(), "run".into());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let frames = runtime.block_on(async {
        let mut call = local(Arc::new(service)).call(request).await.unwrap();
        let mut frames = Vec::new();
        while let Some(frame) = call.next().await.unwrap() {
            frames.push(frame);
        }
        frames
    });
    let asked = std::mem::take(&mut *router.asked.lock().unwrap());
    Outcome { frames, asked }
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
fn cut(text: &str, places: &[prop::sample::Index]) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let place = |index: &prop::sample::Index| index.index(characters.len() + 1);
    let mut places: Vec<usize> = places.iter().map(place).collect();
    places.extend([0, characters.len()]);
    places.sort_unstable();
    let parts = places.windows(2);
    parts
        .map(|pair| characters[pair[0]..pair[1]].iter().collect())
        .collect()
}

proptest! {
    #[test]
    fn streaming_and_collected_agree_for_every_split(
        text in texts(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let whole = collected(&text);
        let pieces = streamed(cut(&text, &places));
        prop_assert_eq!(pieces.continuation(), whole.continuation());
        prop_assert_eq!(pieces.content(), whole.content());
        prop_assert!(!pieces.frames.contains(&Answer::Chunk(String::new())));
    }
}

#[test]
fn every_single_character_may_come_alone() {
    let text = format!("a <{CALL} b <task>{{}}</task> <tool_call>open");
    let parts = text.chars().map(String::from).collect();
    let pieces = streamed(parts);
    let response = "\n<tool_response>\nü 1\n</tool_response>\n";
    let refusal = "\n<task_response>\nError: Unknown skill ''\n</task_response>\n";
    let expected = format!("a <{CALL}{response} b <task>{{}}</task>{refusal} <tool_call>open");
    assert_eq!(pieces.continuation(), Some(&json!(expected)));
    assert_eq!(pieces.continuation(), collected(&text).continuation());
    let chunks: String = pieces
        .frames
        .iter()
        .filter_map(|frame| match frame {
            Answer::Chunk(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        chunks,
        format!("a <{response} b {refusal} <tool_call>opendone")
    );
    // A response is one chunk.
    assert!(pieces.frames.contains(&Answer::Chunk(response.to_owned())));
}

#[test]
fn the_last_iteration_answers_with_its_responses() {
    let outcome = run(vec![CALL.to_owned()], json!({ "max_iterations": 1 }));
    let expected = format!("{CALL}\n<tool_response>\nü 1\n</tool_response>\n");
    assert_eq!(outcome.content(), json!([expected, 1]));
    assert_eq!(outcome.asked.len(), 1);
}

#[test]
fn wrong_requests_are_refused() {
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
        assert_eq!(outcome.frames, [Answer::error(expected)]);
        assert_eq!(outcome.asked.len(), 0);
    }
}

#[test]
fn an_endless_answer_is_given_up() {
    let parts = vec!["x".repeat(1 << 20); 65];
    let outcome = run(parts, json!({}));
    let expected = "Agentic runtime error: the answer of rtr is longer than 67108864 bytes";
    assert_eq!(outcome.frames, [Answer::error(expected)]);
}

#[test]
fn sampling_is_passed_on() {
    let outcome = run(
        vec!["x".to_owned()],
        json!({ "temperature": 0.5, "top_p": 1 }),
    );
    let asked = Value::Object(outcome.asked[0].clone());
    let expected = json!({
        "type": "infer", "messages": [], "stream": false, "temperature": 0.5, "top_p": 1.0,
    });
    assert_eq!(asked, expected);
}

/// A model that goes on speaking only after its call was answered, or before.
struct Interlocked {
    kind: ServiceKind,
    /// Whether the model waits for the executor, or the executor for the model.
    model_waits: bool,
    gate: Arc<tokio::sync::Semaphore>,
    calls: Mutex<usize>,
}

/// More than fits between two services.
const MANY: usize = 1000;

impl Service for Interlocked {
    fn kind(&self) -> ServiceKind {
        self.kind
    }

    fn handle(&self, request: Object, answers: Answers) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if self.kind == ServiceKind::Executor {
                match self.model_waits {
                    true => self.gate.add_permits(1),
                    false => drop(self.gate.acquire().await.unwrap()),
                }
                return EchoingExecutor.handle(request, answers).await;
            }
            let first = std::mem::replace(&mut *self.calls.lock().unwrap(), 1) == 0;
            if first {
                answers.send(Answer::Chunk(CALL.to_owned())).await.unwrap();
                if self.model_waits {
                    drop(self.gate.acquire().await.unwrap());
                }
                for _ in 0..MANY {
                    answers.send(Answer::Chunk("x".to_owned())).await.unwrap();
                }
                if !self.model_waits {
                    self.gate.add_permits(1);
                }
            }
            let iterations = None;
            let full_text = String::new();
            answers
                .finish(Answer::Done {
                    full_text,
                    iterations,
                })
                .await;
        })
    }
}

async fn interlocked(model_waits: bool) -> Vec<Answer> {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let service = |kind| {
        local(Arc::new(Interlocked {
            kind,
            model_waits,
            gate: Arc::clone(&gate),
            calls: Mutex::new(0),
        }))
    };
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/zino/assets");
    let config = Config::parse(&format!("tools.dir = \"{directory}/tools\"\n")).unwrap();
    let agent_loop = AgentLoopService::new(
        config.config,
        Log::new("agr", Level::Error),
        service(ServiceKind::Router),
        service(ServiceKind::Executor),
    );
    let Value::Object(request) = json!({ "type": "run", "stream": true }) else {
        panic!("no object");
    };
    let peer = local(Arc::new(agent_loop));
    let mut call = peer.call(request).await.unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = call.next().await.unwrap() {
        frames.push(frame);
    }
    frames
}

#[tokio::test(start_paused = true)]
async fn a_call_runs_the_moment_it_is_complete_and_the_model_is_heard_meanwhile() {
    for model_waits in [true, false] {
        let limit = std::time::Duration::from_secs(60);
        let frames = tokio::time::timeout(limit, interlocked(model_waits)).await;
        let frames = frames.expect("neither waits for ever");
        assert_eq!(frames.len(), MANY + 2, "model waits: {model_waits}");
        let response = "\n<tool_response>\nü 1\n</tool_response>\n";
        assert_eq!(frames[0], Answer::Chunk(response.to_owned()));
    }
}
