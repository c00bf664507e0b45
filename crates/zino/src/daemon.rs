//! `daemon`: takes a message, has it answered, remembers both.

mod dispatch;

use serde_json::{Value, json};
use zot_conversation::BoxFuture;

use crate::config::Config;
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::peer::Peer;
use crate::service::{Answer, Answers, Object, Service, channel_id, wants_stream};

/// The services the daemon brings together.
#[derive(Clone)]
pub struct DaemonPeers {
    pub system_prompt: Peer,
    pub context: Peer,
    pub agent_loop: Peer,
    pub router: Peer,
    pub memory: Peer,
}

pub struct DaemonService {
    config: Config,
    log: Log,
    peers: DaemonPeers,
}

/// What a client asks for.
struct Request {
    message: String,
    channel: Option<String>,
    stream: bool,
}

impl Request {
    fn read(request: &Object) -> Result<Self, String> {
        let message = match request.get("message") {
            None | Some(Value::Null) => "",
            Some(Value::String(message)) => message.trim(),
            Some(_) => return Err("message must be a string".to_owned()),
        };
        if message.is_empty() {
            return Err("Empty message.".to_owned());
        }
        Ok(Self {
            message: message.to_owned(),
            channel: channel_id(request),
            stream: wants_stream(request),
        })
    }
}

impl DaemonService {
    pub fn new(config: Config, log: Log, peers: DaemonPeers) -> Self {
        Self { config, log, peers }
    }

    async fn serve_client(&self, request: Object, answers: &Answers) {
        let request = match Request::read(&request) {
            Ok(request) => request,
            Err(error) => return answers.finish(Answer::error(error)).await,
        };
        let (system, context) = tokio::join!(self.system_prompt(), self.context(&request));
        let user = json!({ "role": "user", "content": request.message });
        let messages: Vec<Value> = system
            .map(|prompt| json!({ "role": "system", "content": prompt }))
            .into_iter()
            .chain(context)
            .chain([user])
            .collect();
        let Some(finished) = self.dispatch(messages, request.stream, answers).await else {
            return;
        };
        // Before the client is told of the end: then its next request finds this one, and it may hang
        // up at once. An empty answer is not worth remembering.
        if let Some(channel) = &request.channel
            && !finished.text.is_empty()
        {
            self.remember(channel, &request.message, &finished.text)
                .await;
        }
        answers.finish(finished.last).await;
    }

    async fn system_prompt(&self) -> Option<String> {
        let request = object(json!({ "type": "get" }));
        match self.peers.system_prompt.ask(request).await {
            Ok(Answer::Message(mut answer)) => match answer.remove("content") {
                Some(Value::String(content)) if !content.is_empty() => Some(content),
                _ => None,
            },
            Ok(_) => None,
            Err(error) => {
                self.log
                    .warning(format_args!("no system prompt: sys: {error}"));
                None
            }
        }
    }

    async fn context(&self, request: &Request) -> Vec<Value> {
        let request = object(json!({
            "type": "build",
            "channel_id": request.channel,
            "user_message": request.message,
        }));
        match self.peers.context.ask(request).await {
            Ok(Answer::Message(mut answer)) => match answer.remove("messages") {
                Some(Value::Array(messages)) => messages,
                _ => Vec::new(),
            },
            Ok(_) => Vec::new(),
            Err(error) => {
                self.log.warning(format_args!("no context: ctx: {error}"));
                Vec::new()
            }
        }
    }

    async fn remember(&self, channel: &str, message: &str, answer: &str) {
        let request = object(json!({
            "type": "append_history",
            "channel_id": channel,
            "messages": [
                { "role": "user", "content": message },
                { "role": "assistant", "content": answer },
            ],
        }));
        match self.peers.memory.ask(request).await {
            Ok(answer) => {
                if let Some(error) = answer.error_message() {
                    self.log
                        .warning(format_args!("history not stored: mem: {error}"));
                }
            }
            Err(error) => self
                .log
                .warning(format_args!("history not stored: mem: {error}")),
        }
    }
}

impl Service for DaemonService {
    fn kind(&self) -> ServiceKind {
        ServiceKind::Daemon
    }

    fn handle(&self, request: Object, answers: Answers) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.serve_client(request, &answers).await })
    }
}

pub(crate) fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}
