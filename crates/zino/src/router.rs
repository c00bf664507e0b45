//! `rtr`: asks the model.

mod endpoints;
mod failure;
mod messages;
mod stand_in;

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use zot_conversation::{
    BoxFuture, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream, Sampling,
};
use zot_wire::zino::Response as _;
use zot_wire::zino::router::{self as wire, Request, Response};

use crate::config::Config;
use crate::environment_file::EnvironmentFile;
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::service::{HungUp, Responses, Service};

pub use endpoints::RouterError;
use endpoints::{Dialect, Target};
use failure::Next;
use messages::{Conversation, Ending, RecentConversations};
use stand_in::CallWriter;

/// Sends conversations to the first of its servers that can be reached.
pub struct RouterService {
    streaming: bool,
    time_limit: Duration,
    /// A longer response does not fit in a frame.
    max_response_bytes: usize,
    /// At least one; the others are tried in order.
    targets: Vec<Target>,
    recent: RecentConversations,
    log: Log,
}

/// A checked `infer`.
struct Inference {
    conversation: Arc<Conversation>,
    sampling: Sampling,
    mode: Mode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Streaming,
    Collected,
}

/// The part of a response that has been received.
#[derive(Default)]
struct Received {
    started: bool,
    text: String,
}

/// Why a response is incomplete.
enum Unfinished {
    HungUp,
    Failed(ModelError),
}

impl From<HungUp> for Unfinished {
    fn from(_: HungUp) -> Self {
        Self::HungUp
    }
}

impl RouterService {
    /// Sets up the servers without contacting them.
    pub fn new(config: &Config, log: Log) -> Result<Self, RouterError> {
        let (file, warnings) = EnvironmentFile::beside(config);
        for warning in warnings {
            log.warning(format_args!("{warning}"));
        }
        Self::with_environment(config, log, &|name| file.variable(name))
    }

    fn with_environment(
        config: &Config,
        log: Log,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, RouterError> {
        let seconds = config.rtr.timeout;
        let time_limit = Duration::try_from_secs_f64(seconds)
            .ok()
            .filter(|limit| !limit.is_zero())
            .ok_or(RouterError::Timeout(seconds))?;
        Ok(Self {
            streaming: config.rtr.streaming,
            time_limit,
            max_response_bytes: config.wire.max_frame_bytes,
            targets: endpoints::targets(config, time_limit, environment)?,
            recent: RecentConversations::default(),
            log,
        })
    }

    /// The model that is asked first.
    pub fn model(&self) -> &str {
        self.targets.first().map_or("", |target| &target.model)
    }

    fn read(&self, request: wire::Inference) -> Result<Inference, String> {
        Ok(Inference {
            sampling: Sampling {
                temperature: request.sampling.temperature,
                top_p: request.sampling.top_p,
            },
            mode: match request.stream && self.streaming {
                true => Mode::Streaming,
                false => Mode::Collected,
            },
            conversation: self.recent.read(request.messages)?,
        })
    }

    async fn infer(&self, request: wire::Inference, responses: &Responses<Response>) {
        let inference = match self.read(request) {
            Ok(inference) => inference,
            Err(message) => return responses.finish(Response::error(message)).await,
        };
        let mut received = Received::default();
        let request = self.ask(&inference, responses, &mut received);
        let outcome = match timeout(self.time_limit, request).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let limit = self.time_limit.as_secs_f64();
                let message = format!("the model has not responded within {limit}s");
                return responses.finish(Response::error(message)).await;
            }
        };
        let response = match outcome {
            Ok(()) => match inference.mode {
                Mode::Streaming => Response::Done {
                    full_text: received.text,
                },
                Mode::Collected => Response::Response {
                    content: received.text,
                },
            },
            Err(Unfinished::Failed(error)) => Response::error(failure::message(&error)),
            Err(Unfinished::HungUp) => return,
        };
        responses.finish(response).await;
    }

    /// Asks one server after the other until the first text of a response arrives.
    async fn ask(
        &self,
        inference: &Inference,
        responses: &Responses<Response>,
        received: &mut Received,
    ) -> Result<(), Unfinished> {
        let mut targets = self.targets.iter().peekable();
        let mut last = None;
        while let Some(target) = targets.next() {
            let error = match self.receive(target, inference, responses, received).await {
                Err(Unfinished::Failed(error)) => error,
                other => return other,
            };
            let has_other = targets.peek().is_some();
            if !received.text.is_empty() || failure::next(&error, has_other) == Next::Report {
                return Err(Unfinished::Failed(error));
            }
            self.log.warning(format_args!("{}: {error}", target.model));
            last = Some(error);
        }
        // Reached only without servers, which `new` rejects.
        last.map_or(Ok(()), |error| Err(Unfinished::Failed(error)))
    }

    /// Receives the response of one server.
    async fn receive(
        &self,
        target: &Target,
        inference: &Inference,
        responses: &Responses<Response>,
        received: &mut Received,
    ) -> Result<(), Unfinished> {
        let conversation = &inference.conversation;
        let (messages, tools) = match target.dialect {
            Dialect::Text(ending) => (conversation.messages(ending), Vec::new()),
            Dialect::StandIn => {
                let messages = conversation.messages(Ending::Anyone);
                let tools = stand_in::tools(&conversation.system);
                (stand_in::conversation(&messages).into(), tools)
            }
        };
        let mut calls = CallWriter::default();
        let client = match inference.mode {
            Mode::Streaming => &target.streaming,
            Mode::Collected => &target.collecting,
        };
        let mut stream: ModelStream<'_> = client.stream(ModelRequest {
            model: &target.model,
            system: &conversation.system,
            messages: &messages,
            tools: &tools,
            reasoning: None,
            max_output: target.max_output,
            sampling: inference.sampling,
        });
        loop {
            let event = poll_fn(|context| stream.as_mut().poll_next(context)).await;
            let delta = match event {
                None => return Ok(()),
                Some(Err(error)) => return Err(Unfinished::Failed(error)),
                // The original forwards the empty text a model starts with.
                Some(Ok(ModelEvent::Start)) if !received.started => {
                    received.started = true;
                    String::new()
                }
                Some(Ok(ModelEvent::TextDelta(delta))) => delta,
                Some(Ok(other)) => match calls.take(other) {
                    Some(block) => block,
                    None => continue,
                },
            };
            if received.text.len() + delta.len() > self.max_response_bytes {
                let message = format!(
                    "the response is longer than {} bytes",
                    self.max_response_bytes
                );
                return Err(Unfinished::Failed(ModelError::new(
                    ModelErrorKind::Invalid,
                    message,
                )));
            }
            received.text.push_str(&delta);
            if inference.mode == Mode::Streaming {
                responses.send(Response::Chunk(delta)).await?;
            }
        }
    }
}

impl Service for RouterService {
    type Request = Request;

    fn kind(&self) -> ServiceKind {
        ServiceKind::Router
    }

    fn handle(&self, request: Request, responses: Responses<Response>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match request {
                Request::Capabilities => {
                    let capabilities = Response::Capabilities {
                        streaming: self.streaming,
                        model: self.model().to_owned(),
                    };
                    responses.finish(capabilities).await;
                }
                Request::Infer(inference) => self.infer(inference, &responses).await,
            }
        })
    }
}
