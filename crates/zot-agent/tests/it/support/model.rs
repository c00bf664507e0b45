//! A model that responds from scripts, one for each call.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use zot_conversation::{
    BoxFuture, Message, Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream,
    Reasoning, StopReason, Usage,
};

use super::gate::Gate;
use super::render;

/// What the model does in one call, in order.
#[derive(Default)]
pub(crate) struct Script(VecDeque<Step>);

enum Step {
    Event(ModelEvent),
    Fail(ModelError),
    Wait(Gate),
    Do(Box<dyn FnOnce() + Send>),
}

/// A script of a call that the provider accepts.
pub(crate) fn accepted() -> Script {
    Script::default().event(ModelEvent::Start)
}

/// A whole response of one piece of text, with usage 3/2.
pub(crate) fn answer(text: &str) -> Script {
    accepted().text(text).usage(3, 2).stop(StopReason::End)
}

/// A whole response that only calls tools, with usage 3/2.
pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> Script {
    calls
        .iter()
        .fold(accepted(), |script, (id, name, arguments)| {
            script.call(id, name, arguments)
        })
        .usage(3, 2)
        .stop(StopReason::ToolUse)
}

/// A call that fails before the provider has accepted it.
pub(crate) fn refused(kind: ModelErrorKind, message: &str) -> Script {
    Script::default().fail(kind, message)
}

impl Script {
    pub(crate) fn event(mut self, event: ModelEvent) -> Self {
        self.0.push_back(Step::Event(event));
        self
    }

    pub(crate) fn text(self, delta: &str) -> Self {
        self.event(ModelEvent::TextDelta(delta.to_owned()))
    }

    pub(crate) fn thinking(self, delta: &str) -> Self {
        self.event(ModelEvent::ThinkingDelta(delta.to_owned()))
    }

    pub(crate) fn reasoning(self, text: &str) -> Self {
        self.event(ModelEvent::Reasoning(Reasoning {
            provider: "scripted".to_owned(),
            text: text.to_owned(),
            ..Reasoning::default()
        }))
    }

    pub(crate) fn call(self, id: &str, name: &str, arguments: &str) -> Self {
        self.call_begins(id, name)
            .arguments(id, arguments)
            .event(ModelEvent::ToolCallEnd { id: id.into() })
    }

    pub(crate) fn call_begins(self, id: &str, name: &str) -> Self {
        self.event(ModelEvent::ToolCallStart {
            id: id.into(),
            name: name.to_owned(),
        })
    }

    pub(crate) fn arguments(self, id: &str, delta: &str) -> Self {
        self.event(ModelEvent::ToolCallArguments {
            id: id.into(),
            delta: delta.to_owned(),
        })
    }

    pub(crate) fn usage(self, input: u64, output: u64) -> Self {
        self.event(ModelEvent::Usage(Usage {
            input,
            output,
            ..Usage::default()
        }))
    }

    pub(crate) fn stop(self, reason: StopReason) -> Self {
        self.event(ModelEvent::Stop(reason))
    }

    pub(crate) fn fail(mut self, kind: ModelErrorKind, message: &str) -> Self {
        self.0.push_back(Step::Fail(ModelError::new(kind, message)));
        self
    }

    pub(crate) fn wait(mut self, gate: &Gate) -> Self {
        self.0.push_back(Step::Wait(gate.clone()));
        self
    }

    pub(crate) fn then(mut self, rest: Self) -> Self {
        self.0.extend(rest.0);
        self
    }

    pub(crate) fn run(mut self, action: impl FnOnce() + Send + 'static) -> Self {
        self.0.push_back(Step::Do(Box::new(action)));
        self
    }
}

/// A request as it was when its stream was first polled, which is when a real one is sent.
pub(crate) struct SentRequest {
    pub(crate) model: String,
    pub(crate) system: String,
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) tools: Vec<String>,
    pub(crate) max_output: u64,
}

impl SentRequest {
    pub(crate) fn rendered(&self) -> Vec<String> {
        render::messages(&self.messages)
    }
}

#[derive(Default)]
pub(crate) struct ScriptedModel {
    scripts: Mutex<VecDeque<Script>>,
    sent: Mutex<Vec<SentRequest>>,
    open: AtomicUsize,
}

impl ScriptedModel {
    pub(crate) fn new(scripts: Vec<Script>) -> Self {
        Self {
            scripts: Mutex::new(scripts.into()),
            ..Self::default()
        }
    }

    pub(crate) fn sent(&self) -> MutexGuard<'_, Vec<SentRequest>> {
        self.sent.lock().unwrap()
    }

    /// How many streams are alive: each would be a connection.
    pub(crate) fn open_streams(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }
}

impl Model for ScriptedModel {
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> ModelStream<'a> {
        self.open.fetch_add(1, Ordering::SeqCst);
        Box::pin(ScriptedStream {
            model: self,
            request: Some(request),
            script: Script::default(),
            waiting: None,
        })
    }
}

struct ScriptedStream<'a> {
    model: &'a ScriptedModel,
    /// Present until the first poll.
    request: Option<ModelRequest<'a>>,
    script: Script,
    waiting: Option<BoxFuture<'a, ()>>,
}

impl ScriptedStream<'_> {
    fn send(&mut self) {
        let Some(request) = self.request.take() else {
            return;
        };
        self.model.sent().push(SentRequest {
            model: request.model.to_owned(),
            system: request.system.to_owned(),
            messages: request.messages.to_vec(),
            tools: request.tools.iter().map(|t| t.name.clone()).collect(),
            max_output: request.max_output,
        });
        let script = self.model.scripts.lock().unwrap().pop_front();
        self.script = script.expect("the model was called more often than scripted");
    }
}

impl Stream for ScriptedStream<'_> {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        this.send();
        loop {
            if let Some(waiting) = &mut this.waiting {
                ready!(waiting.as_mut().poll(context));
                this.waiting = None;
            }
            match this.script.0.pop_front() {
                None => return Poll::Ready(None),
                Some(Step::Event(event)) => return Poll::Ready(Some(Ok(event))),
                Some(Step::Fail(error)) => return Poll::Ready(Some(Err(error))),
                Some(Step::Wait(gate)) => this.waiting = Some(Box::pin(gate.pass())),
                Some(Step::Do(action)) => action(),
            }
        }
    }
}

impl Drop for ScriptedStream<'_> {
    fn drop(&mut self) {
        self.model.open.fetch_sub(1, Ordering::SeqCst);
    }
}
