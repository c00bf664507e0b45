//! Sends messages to the loop, or to the router when the loop cannot be reached.

use zot_wire::zino::daemon::Response;
use zot_wire::zino::router::{Inference, Sampling};
use zot_wire::zino::{Failure, Message, agent_loop, router};

use super::DaemonService;
use super::watched::WatchedTurn;
use crate::peer::{Call, CallError};
use crate::service::Responses;

/// A complete response.
pub(super) enum Finished {
    Streamed {
        full_text: String,
        iterations: Option<u64>,
    },
    Collected {
        content: String,
    },
}

impl Finished {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Streamed { full_text, .. } => full_text,
            Self::Collected { content } => content,
        }
    }

    /// The last frame for the client; `unsaved` says why the exchange was not stored.
    pub(super) fn into_response(self, unsaved: Option<String>) -> Response {
        match self {
            Self::Streamed {
                full_text,
                iterations,
            } => Response::Done {
                full_text,
                iterations,
                unsaved,
            },
            Self::Collected { content } => Response::Response { content, unsaved },
        }
    }
}

/// Why there is no complete response.
pub(super) enum NoAnswer {
    Failed(Failure),
    /// The client does not wait for it.
    HungUp,
}

impl NoAnswer {
    fn because(message: String) -> Self {
        Self::Failed(Failure {
            code: None,
            message: Some(message),
        })
    }
}

/// What a frame of `agr` or `rtr` means for the client.
enum Progress {
    Delta(String),
    Finished(Finished),
    Failed(Failure),
    /// A frame of a later version, which this one cannot forward.
    Unknown,
}

impl From<agent_loop::Response> for Progress {
    fn from(response: agent_loop::Response) -> Self {
        use agent_loop::Response;
        match response {
            Response::Chunk(delta) => Self::Delta(delta),
            Response::Done {
                full_text,
                iterations,
            } => Self::Finished(Finished::Streamed {
                full_text,
                iterations,
            }),
            Response::Result { content, .. } => Self::Finished(Finished::Collected { content }),
            Response::Error(failure) => Self::Failed(failure),
            Response::Other(_) => Self::Unknown,
        }
    }
}

impl From<router::Response> for Progress {
    fn from(response: router::Response) -> Self {
        use router::Response;
        match response {
            Response::Chunk(delta) => Self::Delta(delta),
            Response::Done { full_text } => Self::Finished(Finished::Streamed {
                full_text,
                iterations: None,
            }),
            Response::Response { content } => Self::Finished(Finished::Collected { content }),
            Response::Error(failure) => Self::Failed(failure),
            Response::Capabilities { .. } | Response::Other(_) => Self::Unknown,
        }
    }
}

impl DaemonService {
    /// Forwards all frames of the response but the last, which is returned once the response is
    /// complete.
    pub(super) async fn dispatch(
        &self,
        messages: Vec<Message>,
        stream: bool,
        responses: &Responses<Response>,
        watched: &mut WatchedTurn,
    ) -> Result<Finished, NoAnswer> {
        let request = agent_loop::Request::Run(agent_loop::Run {
            messages: messages.clone(),
            sampling: self.sampling(),
            max_iterations: Some(self.config.agr.max_iterations.max(1)),
            stream,
        });
        match self.peers.agent_loop.call(request).await {
            Ok(call) => forward(call, "agr", responses, watched).await,
            Err(CallError::Unreachable(error)) => {
                self.log
                    .warning(format_args!("agr: {error}: asking rtr instead"));
                self.ask_router(messages, stream, responses, watched).await
            }
            Err(error) => Err(NoAnswer::because(format!("agr dispatch error: {error}"))),
        }
    }

    async fn ask_router(
        &self,
        messages: Vec<Message>,
        stream: bool,
        responses: &Responses<Response>,
        watched: &mut WatchedTurn,
    ) -> Result<Finished, NoAnswer> {
        let stream = stream && self.router_streams().await;
        let request = router::Request::Infer(Inference {
            messages,
            sampling: self.sampling(),
            stream,
        });
        match self.peers.router.call(request).await {
            Ok(call) => forward(call, "rtr", responses, watched).await,
            Err(error) => {
                let message = format!("Could not connect to rtr: {error}");
                Err(NoAnswer::because(message))
            }
        }
    }

    fn sampling(&self) -> Sampling {
        Sampling {
            temperature: Some(self.config.agent.temperature),
            top_p: Some(self.config.agent.top_p),
        }
    }

    async fn router_streams(&self) -> bool {
        // Unlike a response of the model, this takes no time.
        let router = self.peers.router.clone();
        let router = router.within(self.config.answer_limit());
        matches!(
            router.ask(router::Request::Capabilities).await,
            Ok(router::Response::Capabilities {
                streaming: true,
                ..
            })
        )
    }
}

/// Forwards frames in the form the client expects until the response is complete.
async fn forward<T: zot_wire::zino::Response + Into<Progress>>(
    mut call: Call<T>,
    service: &str,
    responses: &Responses<Response>,
    watched: &mut WatchedTurn,
) -> Result<Finished, NoAnswer> {
    loop {
        let error = match watched.during(call.next()).await {
            Ok(Some(frame)) => match frame.into() {
                Progress::Delta(delta) => {
                    watched.delta(&delta);
                    let sent = responses.send(Response::Chunk(delta)).await;
                    sent.map_err(|_| NoAnswer::HungUp)?;
                    continue;
                }
                Progress::Finished(finished) => return Ok(finished),
                Progress::Failed(failure) => return Err(NoAnswer::Failed(failure)),
                Progress::Unknown => continue,
            },
            Ok(None) => CallError::EndedEarly,
            Err(error) => error,
        };
        let message = format!("{service} dispatch error: {error}");
        return Err(NoAnswer::because(message));
    }
}
