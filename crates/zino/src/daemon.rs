//! `daemon`: answers a client's message with the help of the other services, and stores both in the
//! channel's history.

mod dispatch;
mod hold;
#[cfg(test)]
mod tests;
mod watched;

use tokio::time::Instant;
use zot_conversation::BoxFuture;
use zot_wire::zino::daemon::{Request, Response};
use zot_wire::zino::{
    Failure, Message, Response as _, agent_loop, context, memory, router, system_prompt,
};

use crate::config::Config;
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::metrics;
use crate::peer::Peer;
use crate::service::{Responses, Service};
use crate::unique_name::unique_name;

use dispatch::{Finished, NoAnswer};
use hold::ChannelHold;
use watched::WatchedTurn;

pub use watched::{CHANNEL_EVENTS, Publish, TurnEvent, Watchers};

/// The services the daemon calls.
#[derive(Clone)]
pub struct DaemonPeers {
    pub system_prompt: Peer<system_prompt::Request>,
    pub context: Peer<context::Request>,
    pub agent_loop: Peer<agent_loop::Request>,
    pub router: Peer<router::Request>,
    pub memory: Peer<memory::Request>,
}

pub struct DaemonService {
    config: Config,
    log: Log,
    peers: DaemonPeers,
    watchers: Option<Watchers>,
}

impl DaemonService {
    pub fn new(config: Config, log: Log, peers: DaemonPeers) -> Self {
        Self {
            config,
            log,
            peers,
            watchers: None,
        }
    }

    /// Tells watchers what the turns are doing.
    pub fn with_watchers(mut self, watchers: Watchers) -> Self {
        self.watchers = Some(watchers);
        self
    }

    async fn serve_client(&self, request: Request, responses: &Responses<Response>) {
        let mut watched = WatchedTurn::begin(self.watchers.as_ref(), &request);
        let last = match self.answer(&request, responses, &mut watched).await {
            Ok(response) => response,
            Err(NoAnswer::Failed(failure)) => Response::Error(failure),
            Err(NoAnswer::HungUp) => return,
        };
        watched.end(&last);
        responses.finish(last).await;
    }

    /// Sends all frames of the response but the last, which it returns.
    async fn answer(
        &self,
        request: &Request,
        responses: &Responses<Response>,
        watched: &mut WatchedTurn,
    ) -> Result<Response, NoAnswer> {
        let mut hold = self.hold(request).await.map_err(NoAnswer::Failed)?;
        let finished = {
            let turn = self.turn(request, responses, watched);
            match &mut hold {
                Some(hold) => tokio::select! {
                    biased;
                    finished = turn => finished?,
                    failure = hold.taken_over() => return Err(NoAnswer::Failed(failure)),
                },
                None => turn.await?,
            }
        };
        // Stored before the client reads the last frame, so that its next request finds this exchange
        // even if it hangs up right away. An empty text is not worth remembering.
        let stored = match &request.channel_id {
            Some(channel) if !finished.text().is_empty() => {
                let exchange = vec![
                    Message::new("user", request.message.as_str()),
                    Message::new("assistant", finished.text()),
                ];
                let proof = hold.as_ref().map(ChannelHold::proof);
                self.store(channel, exchange, proof).await
            }
            _ => Ok(()),
        };
        let unsaved = match stored {
            // Clients of the original expect nothing to follow from this.
            Err(_) if !self.config.holds_channels() => None,
            stored => stored.err(),
        };
        if unsaved.is_some() {
            metrics::UNSAVED_TURNS.add_one();
        }
        Ok(finished.into_response(unsaved))
    }

    /// Holds the request's channel, where several services may write to it.
    async fn hold(&self, request: &Request) -> Result<Option<ChannelHold>, Failure> {
        let channel = match &request.channel_id {
            Some(channel) if self.config.holds_channels() => channel,
            _ => return Ok(None),
        };
        ChannelHold::take(&self.peers.memory, self.log, channel).await
    }

    /// Gets the answer.
    async fn turn(
        &self,
        request: &Request,
        responses: &Responses<Response>,
        watched: &mut WatchedTurn,
    ) -> Result<Finished, NoAnswer> {
        let (system, context) = tokio::join!(self.system_prompt(), self.context(request));
        let messages: Vec<Message> = system
            .map(|prompt| Message::new("system", prompt))
            .into_iter()
            .chain(context)
            .chain([Message::new("user", request.message.as_str())])
            .collect();
        self.dispatch(messages, request.stream, responses, watched)
            .await
    }

    async fn system_prompt(&self) -> Option<String> {
        match self
            .peers
            .system_prompt
            .ask(system_prompt::Request::Get)
            .await
        {
            Ok(system_prompt::Response::SystemPrompt { content }) => {
                Some(content).filter(|content| !content.is_empty())
            }
            Ok(_) => None,
            Err(error) => {
                self.log
                    .warning(format_args!("no system prompt: sys: {error}"));
                None
            }
        }
    }

    async fn context(&self, request: &Request) -> Vec<Message> {
        let request = context::Request::Build {
            channel_id: request.channel_id.clone(),
            user_message: request.message.clone(),
        };
        match self.peers.context.ask(request).await {
            Ok(context::Response::Context { messages }) => messages,
            Ok(_) => Vec::new(),
            Err(error) => {
                self.log.warning(format_args!("no context: ctx: {error}"));
                Vec::new()
            }
        }
    }

    /// Appends to the history; returns why that failed.
    async fn store(
        &self,
        channel: &str,
        messages: Vec<Message>,
        hold: Option<memory::Hold>,
    ) -> Result<(), String> {
        let request = memory::Request::AppendHistory {
            channel_id: channel.to_owned(),
            messages,
            call: hold.as_ref().map(|_| unique_name()),
            hold,
        };
        let began = Instant::now();
        let answer = self.peers.memory.ask(request).await;
        metrics::APPEND_SECONDS.record(began.elapsed());
        let error = match answer {
            Ok(response) => match response.as_failure() {
                Some(failure) => failure.message.clone().unwrap_or_default(),
                None => return Ok(()),
            },
            Err(error) => error.to_string(),
        };
        self.log
            .warning(format_args!("history not stored: mem: {error}"));
        Err(error)
    }
}

impl Service for DaemonService {
    type Request = Request;

    fn kind(&self) -> ServiceKind {
        ServiceKind::Daemon
    }

    fn handle(&self, request: Request, responses: Responses<Response>) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.serve_client(request, &responses).await })
    }
}
