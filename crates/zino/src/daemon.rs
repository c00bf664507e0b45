//! `daemon`: answers a client's message with the help of the other services, and stores both in the
//! channel's history.

mod dispatch;

use zot_conversation::BoxFuture;
use zot_wire::zino::daemon::{Request, Response};
use zot_wire::zino::{Message, Response as _, agent_loop, context, memory, router, system_prompt};

use crate::config::Config;
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::peer::Peer;
use crate::service::{Responses, Service};

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
}

impl DaemonService {
    pub fn new(config: Config, log: Log, peers: DaemonPeers) -> Self {
        Self { config, log, peers }
    }

    async fn serve_client(&self, request: Request, responses: &Responses<Response>) {
        let (system, context) = tokio::join!(self.system_prompt(), self.context(&request));
        let messages: Vec<Message> = system
            .map(|prompt| Message::new("system", prompt))
            .into_iter()
            .chain(context)
            .chain([Message::new("user", request.message.as_str())])
            .collect();
        let Some(finished) = self.dispatch(messages, request.stream, responses).await else {
            return;
        };
        // Stored before the client reads the last frame, so that its next request finds this exchange
        // even if it hangs up right away. An empty text is not worth remembering.
        if let Some(channel) = &request.channel_id
            && !finished.text().is_empty()
        {
            self.remember(channel, &request.message, finished.text())
                .await;
        }
        responses.finish(finished.into_response(None)).await;
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

    async fn remember(&self, channel: &str, message: &str, text: &str) {
        let request = memory::Request::AppendHistory {
            channel_id: channel.to_owned(),
            messages: vec![
                Message::new("user", message),
                Message::new("assistant", text),
            ],
            call: None,
            hold: None,
        };
        let error = match self.peers.memory.ask(request).await {
            Ok(response) => match response.as_failure() {
                Some(failure) => failure.message.clone().unwrap_or_default(),
                None => return,
            },
            Err(error) => error.to_string(),
        };
        self.log
            .warning(format_args!("history not stored: mem: {error}"));
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
