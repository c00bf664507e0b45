//! What every wire must do, checked against the scripted server.
//!
//! A new wire is one more line in [`WIRES`].

mod answers;
mod breaking;
mod declarations;
mod failures;
mod requests;
mod thinking;
mod unstreamed;

use std::future::poll_fn;
use std::sync::Arc;
use std::time::{Duration, Instant};

use testkit::{ModelServer, RecordedRequest};
use zot_conversation::{
    Arguments, ContentBlock, Message, Model, ModelError, ModelEvent, ModelRequest, ModelStream,
    Role, Sampling, StopReason, Timestamp, ToolCall, ToolCallId, ToolDefinition, ToolEffect,
    ToolResult,
};
use zot_provider::{Endpoint, HttpClient, OpenAiQuirks, ReasoningReplay, Wire};

const CHAT: Wire = Wire::OpenAiChat(OpenAiQuirks {
    reasoning_replay: ReasoningReplay::Always,
    ..OpenAiQuirks::COMPATIBLE
});

/// Each wire as the server knows it, and as we do.
const WIRES: [(testkit::Wire, Wire); 4] = [
    (testkit::Wire::OpenAi, CHAT),
    (testkit::Wire::Anthropic, Wire::Anthropic),
    (testkit::Wire::OpenAiResponses, Wire::OpenAiResponses),
    (testkit::Wire::Gemini, Wire::Gemini),
];

const KEY: &str = "sk-conformance-key";

/// How long the server may take to notice that its client has left.
const PATIENCE: Duration = Duration::from_secs(10);

/// A client of one wire, and the server it talks to.
struct Subject {
    wire: testkit::Wire,
    ours: Wire,
    server: ModelServer,
    client: Arc<dyn Model>,
    tools: Vec<Arc<ToolDefinition>>,
}

/// What came of one call.
#[derive(Debug)]
struct Outcome {
    events: Vec<ModelEvent>,
    error: Option<ModelError>,
}

fn subjects() -> impl Iterator<Item = Subject> {
    WIRES.into_iter().map(|(wire, ours)| {
        let server = ModelServer::start();
        let client = client(wire, ours, wire.provider(), &server);
        let parameters = r#"{"type":"object","properties":{"path":{"type":"string"}}}"#;
        let tool = |name: &str| {
            Arc::new(ToolDefinition {
                name: name.to_owned(),
                description: format!("the tool {name}"),
                parameters: serde_json::from_str(parameters).unwrap(),
                effect: ToolEffect::ReadOnly,
            })
        };
        Subject {
            wire,
            ours,
            server,
            client,
            tools: vec![tool("read"), tool("bash")],
        }
    })
}

fn client(wire: testkit::Wire, ours: Wire, provider: &str, server: &ModelServer) -> Arc<dyn Model> {
    let endpoint = Endpoint {
        provider: provider.to_owned(),
        base_url: server.url(wire),
        api_key: Some(KEY.into()),
    };
    ours.client(HttpClient::new(), endpoint)
}

fn user(text: &str) -> Arc<Message> {
    Arc::new(Message::user_text(text, Timestamp::UNIX_EPOCH))
}

fn message(role: Role, content: Vec<ContentBlock>) -> Arc<Message> {
    Arc::new(Message {
        role,
        content,
        time: Timestamp::UNIX_EPOCH,
    })
}

fn results(calls: &[ToolCall], text: &str) -> Arc<Message> {
    let result = |call: &ToolCall| {
        ContentBlock::ToolResult(ToolResult {
            call_id: call.id.clone(),
            is_error: false,
            content: vec![ContentBlock::Text(text.to_owned())],
        })
    };
    message(Role::Tool, calls.iter().map(result).collect())
}

impl Subject {
    fn request<'a>(&'a self, messages: &'a [Arc<Message>]) -> ModelRequest<'a> {
        ModelRequest {
            model: self.wire.model(),
            system: "be good",
            messages,
            tools: &self.tools,
            reasoning: None,
            max_output: 8192,
            sampling: Sampling::default(),
        }
    }

    async fn send(&self, messages: &[Arc<Message>]) -> Outcome {
        collect(self.client.stream(self.request(messages))).await
    }

    /// Asks what `directive` makes the server send.
    async fn ask(&self, directive: &str) -> Outcome {
        self.send(&[user(directive)]).await
    }

    fn last_request(&self) -> RecordedRequest {
        self.server.requests().pop().unwrap()
    }

    async fn until_idle(&self) {
        let deadline = Instant::now() + PATIENCE;
        while self.server.responses_in_progress() > 0 {
            assert!(
                Instant::now() < deadline,
                "{:?}: still answering",
                self.wire
            );
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

async fn next(stream: &mut ModelStream<'_>) -> Option<Result<ModelEvent, ModelError>> {
    poll_fn(|context| stream.as_mut().poll_next(context)).await
}

async fn collect(mut stream: ModelStream<'_>) -> Outcome {
    let mut events = Vec::new();
    while let Some(event) = next(&mut stream).await {
        match event {
            Ok(event) => events.push(event),
            Err(error) => {
                assert!(next(&mut stream).await.is_none(), "an error is the end");
                let error = Some(error);
                return Outcome { events, error };
            }
        }
    }
    let error = None;
    Outcome { events, error }
}

impl Outcome {
    /// The events of a response that is complete and well formed.
    #[track_caller]
    fn complete(self) -> Vec<ModelEvent> {
        assert!(self.error.is_none(), "{:?}", self.error);
        assert_eq!(self.events.first(), Some(&ModelEvent::Start));
        assert!(matches!(self.events.last(), Some(ModelEvent::Stop(_))));
        self.events
    }

    #[track_caller]
    fn failed(self) -> ModelError {
        let error = self.error.expect("an error");
        assert!(!error.to_string().contains(KEY), "{error}");
        error
    }
}

fn text_of(events: &[ModelEvent]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        ModelEvent::TextDelta(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn thinking_of(events: &[ModelEvent]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        ModelEvent::ThinkingDelta(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn stop_of(events: &[ModelEvent]) -> Option<StopReason> {
    match events.last() {
        Some(ModelEvent::Stop(stop)) => Some(*stop),
        _ => None,
    }
}

/// The message an agent would keep of `events`.
fn assembled(events: &[ModelEvent]) -> Arc<Message> {
    let mut content: Vec<ContentBlock> = Vec::new();
    let mut arguments = String::new();
    for event in events {
        match event {
            ModelEvent::TextDelta(delta) => match content.last_mut() {
                Some(ContentBlock::Text(text)) => text.push_str(delta),
                _ => content.push(ContentBlock::Text(delta.clone())),
            },
            ModelEvent::Reasoning(block) => content.push(ContentBlock::Reasoning(block.clone())),
            ModelEvent::ToolCallStart { id, name } => {
                content.push(ContentBlock::ToolCall(ToolCall {
                    id: id.clone(),
                    name: name.clone(),
                    arguments: Arguments::empty(),
                }));
            }
            ModelEvent::ToolCallArguments { id, .. } | ModelEvent::ToolCallEnd { id } => {
                arguments.clear();
                arguments.extend(argument_deltas(events, id));
                for block in &mut content {
                    if let ContentBlock::ToolCall(call) = block
                        && call.id == *id
                    {
                        call.arguments = Arguments::from_model_text(&arguments);
                    }
                }
            }
            _ => {}
        }
    }
    message(Role::Assistant, content)
}

fn argument_deltas<'a>(
    events: &'a [ModelEvent],
    wanted: &'a ToolCallId,
) -> impl Iterator<Item = &'a str> {
    events.iter().filter_map(move |event| match event {
        ModelEvent::ToolCallArguments { id, delta } if id == wanted => Some(delta.as_str()),
        _ => None,
    })
}

fn calls_of(message: &Message) -> Vec<ToolCall> {
    message.tool_calls().cloned().collect()
}

/// The same events with the ids of calls replaced by their order: some wires make them up.
fn without_ids(events: &[ModelEvent]) -> Vec<ModelEvent> {
    let mut seen: Vec<ToolCallId> = Vec::new();
    let mut number = |id: &ToolCallId| {
        let position = seen.iter().position(|known| known == id);
        let position = position.unwrap_or_else(|| {
            seen.push(id.clone());
            seen.len() - 1
        });
        ToolCallId::from(format!("call {position}"))
    };
    let renamed = events.iter().map(|event| match event {
        ModelEvent::ToolCallStart { id, name } => ModelEvent::ToolCallStart {
            id: number(id),
            name: name.clone(),
        },
        ModelEvent::ToolCallArguments { id, delta } => ModelEvent::ToolCallArguments {
            id: number(id),
            delta: delta.clone(),
        },
        ModelEvent::ToolCallEnd { id } => ModelEvent::ToolCallEnd { id: number(id) },
        ModelEvent::Reasoning(block) => {
            let mut block = block.clone();
            // Only a call's own id may differ between two responses.
            if block
                .id
                .as_deref()
                .is_some_and(|id| id.starts_with("call_"))
            {
                block.id = Some("call".to_owned());
            }
            // Two questions are two prefixes.
            block.prefix = None;
            ModelEvent::Reasoning(block)
        }
        other => other.clone(),
    });
    renamed.collect()
}

#[test]
fn every_wire_of_the_server_is_covered() {
    assert_eq!(WIRES.map(|(wire, _)| wire), testkit::Wire::ALL);
}
