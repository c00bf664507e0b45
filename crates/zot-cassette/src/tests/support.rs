//! A scripted model, and a conversation to hold with it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tempfile::TempDir;
use tokio::time::sleep;
use zot_conversation::{
    Message, Model, ModelError, ModelEvent, ModelRequest, ModelStream, Prices, Sampling,
    StopReason, Timestamp, ToolDefinition, ToolEffect, ToolImages, Usage,
};

use crate::{
    Header, RecordedModel, Recorder, RecordingModel, Redactor, ReplayMode, ReplayModel, ReplayPace,
};

/// One thing a scripted model does.
#[derive(Clone)]
pub(super) enum Step {
    Event(ModelEvent),
    Wait(u64),
    Fail(ModelError),
    Hang,
}

/// Plays one script per request.
pub(super) struct Scripted(Mutex<VecDeque<Vec<Step>>>);

impl Scripted {
    pub(super) fn new(scripts: impl IntoIterator<Item = Vec<Step>>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(scripts.into_iter().collect())))
    }
}

impl Model for Scripted {
    fn stream<'a>(&'a self, _: ModelRequest<'a>) -> ModelStream<'a> {
        let steps = self
            .0
            .lock()
            .unwrap()
            .pop_front()
            .expect("a script is left");
        Box::pin(stream_of(steps))
    }

    fn tool_images(&self) -> ToolImages {
        ToolImages::NeedMirror
    }
}

fn stream_of(
    steps: Vec<Step>,
) -> impl futures_core::Stream<Item = Result<ModelEvent, ModelError>> + Send {
    struct Steps {
        steps: std::vec::IntoIter<Step>,
        wait: Option<std::pin::Pin<Box<tokio::time::Sleep>>>,
    }
    impl futures_core::Stream for Steps {
        type Item = Result<ModelEvent, ModelError>;

        fn poll_next(
            mut self: std::pin::Pin<&mut Self>,
            context: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Self::Item>> {
            use std::task::Poll;
            loop {
                if let Some(wait) = &mut self.wait {
                    std::task::ready!(std::future::Future::poll(wait.as_mut(), context));
                    self.wait = None;
                }
                match self.steps.next() {
                    None => return Poll::Ready(None),
                    Some(Step::Event(event)) => return Poll::Ready(Some(Ok(event))),
                    Some(Step::Fail(error)) => return Poll::Ready(Some(Err(error))),
                    Some(Step::Wait(ms)) => {
                        self.wait = Some(Box::pin(sleep(Duration::from_millis(ms))));
                    }
                    Some(Step::Hang) => return Poll::Pending,
                }
            }
        }
    }
    Steps {
        steps: steps.into_iter(),
        wait: None,
    }
}

pub(super) fn text(text: &str) -> Step {
    Step::Event(ModelEvent::TextDelta(text.to_owned()))
}

pub(super) fn event(event: ModelEvent) -> Step {
    Step::Event(event)
}

/// A whole answer that says `words`.
pub(super) fn answer(words: &[&str]) -> Vec<Step> {
    let mut steps = vec![event(ModelEvent::Start)];
    steps.extend(words.iter().map(|word| text(word)));
    steps.push(event(ModelEvent::Usage(Usage {
        input: 10,
        output: words.len() as u64,
        ..Usage::default()
    })));
    steps.push(event(ModelEvent::Stop(StopReason::End)));
    steps
}

/// A place for a cassette.
pub(super) struct Cassette {
    pub(super) path: PathBuf,
    _directory: TempDir,
}

pub(super) fn recorded_model(tool_images: ToolImages) -> RecordedModel {
    RecordedModel {
        provider: "openai".to_owned(),
        id: "m".to_owned(),
        reasoning: false,
        context_window: 0,
        max_output: 8_192,
        prices: Prices::default(),
        tool_images,
    }
}

impl Cassette {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self {
            path: directory.path().join("run.cassette"),
            _directory: directory,
        }
    }

    pub(super) fn record(&self, model: Arc<dyn Model>) -> RecordingModel {
        self.record_with(model, Redactor::new(None, []))
    }

    pub(super) fn record_with(&self, model: Arc<dyn Model>, redactor: Redactor) -> RecordingModel {
        let header = Header::new(&recorded_model(model.tool_images()));
        let recorder = Recorder::create(&self.path, &header, redactor).unwrap();
        RecordingModel::new(model, Arc::new(recorder))
    }

    pub(super) fn replay(&self, mode: ReplayMode) -> ReplayModel {
        ReplayModel::open(&self.path, mode, ReplayPace::FullSpeed).unwrap()
    }

    pub(super) fn text(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap()
    }

    /// The lines after the header.
    pub(super) fn exchanges(&self) -> Vec<Value> {
        let text = self.text();
        let lines = text.lines().skip(1);
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// What a conversation is held with.
pub(super) struct Talk {
    pub(super) model: String,
    pub(super) system: String,
    pub(super) messages: Vec<Arc<Message>>,
    pub(super) tools: Vec<Arc<ToolDefinition>>,
}

impl Talk {
    pub(super) fn new() -> Self {
        Self {
            model: "m".to_owned(),
            system: "Be good.\nWorking directory: /home/ann\nCurrent date: 2026-01-01".to_owned(),
            messages: Vec::new(),
            tools: vec![tool("read")],
        }
    }

    pub(super) fn say(&mut self, text: &str) {
        self.push(Message::user_text(text, Timestamp::now()));
    }

    pub(super) fn push(&mut self, message: Message) {
        self.messages.push(Arc::new(message));
    }

    pub(super) fn request(&self) -> ModelRequest<'_> {
        ModelRequest {
            model: &self.model,
            system: &self.system,
            messages: &self.messages,
            tools: &self.tools,
            reasoning: None,
            max_output: 100,
            sampling: Sampling::default(),
        }
    }
}

pub(super) fn tool(name: &str) -> Arc<ToolDefinition> {
    let parameters = "{\n  \"type\": \"object\"\n}".to_owned();
    Arc::new(ToolDefinition {
        name: name.to_owned(),
        description: "does things".to_owned(),
        parameters: RawValue::from_string(parameters).unwrap(),
        effect: ToolEffect::ReadOnly,
    })
}

/// Reads a stream to its end.
pub(super) async fn drain(model: &dyn Model, talk: &Talk) -> (Vec<ModelEvent>, Option<ModelError>) {
    take(model, talk, usize::MAX).await
}

/// Reads up to `count` events and drops the stream.
pub(super) async fn take(
    model: &dyn Model,
    talk: &Talk,
    count: usize,
) -> (Vec<ModelEvent>, Option<ModelError>) {
    let mut stream = model.stream(talk.request());
    let mut events = Vec::new();
    while events.len() < count {
        match std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await {
            Some(Ok(event)) => events.push(event),
            Some(Err(error)) => return (events, Some(error)),
            None => break,
        }
    }
    (events, None)
}

/// The message of a call that must fail.
pub(super) async fn refusal(model: &dyn Model, talk: &Talk) -> String {
    let (events, error) = drain(model, talk).await;
    assert_eq!(events, []);
    error.expect("an error").message
}
