//! `ctx`: examples, memories and history, in this order.

use std::sync::{Mutex, PoisonError};

use zot_conversation::BoxFuture;
use zot_wire::zino::context::{Request, Response};
use zot_wire::zino::{Message, Messages, memory};

use crate::config::Config;
use crate::definitions::load_skills;
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::peer::Peer;
use crate::service::{Responses, Service};

pub struct ContextService {
    config: Config,
    log: Log,
    memory: Peer<memory::Request>,
    /// User and assistant messages of all skills' fabricators.
    examples: Mutex<Vec<Message>>,
}

impl ContextService {
    pub fn new(config: Config, log: Log, memory: Peer<memory::Request>) -> Self {
        let examples = examples(&config, log);
        Self {
            config,
            log,
            memory,
            examples: Mutex::new(examples),
        }
    }

    async fn build(&self, channel: Option<&str>, user_message: &str) -> Vec<Message> {
        let mut messages = self
            .examples
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        // Concurrently, so that a service that stalls is waited for only once.
        let memories = async {
            match user_message.trim().is_empty() {
                true => Vec::new(),
                false => self.memories(user_message).await,
            }
        };
        let history = async {
            match channel {
                Some(channel) => self.history(channel).await,
                None => Vec::new(),
            }
        };
        let (memories, history) = tokio::join!(memories, history);
        messages.extend(memories);
        messages.extend(history);
        messages
    }

    async fn memories(&self, query: &str) -> Vec<Message> {
        let request = memory::Request::SearchHard {
            query: query.to_owned(),
            top_k: Some(self.config.ctx.hard_memory_top_k),
        };
        let Some(memory::Response::HardMemories { results }) = self.ask(request).await else {
            return Vec::new();
        };
        let messages = results
            .into_iter()
            .filter_map(|found| match found.messages {
                Messages::List(messages) => Some(messages),
                Messages::Other(_) => None,
            });
        messages.flatten().collect()
    }

    async fn history(&self, channel: &str) -> Vec<Message> {
        let request = memory::Request::GetHistory {
            channel_id: channel.to_owned(),
            limit: Some(self.config.ctx.history_limit),
        };
        match self.ask(request).await {
            Some(memory::Response::History { messages }) => messages,
            _ => Vec::new(),
        }
    }

    /// Asks `mem`; on failure, logs a warning and returns `None`, and the context is built without it.
    async fn ask(&self, request: memory::Request) -> Option<memory::Response> {
        let error = match self.memory.ask(request).await {
            Ok(memory::Response::Error(failure)) => failure.message,
            Ok(memory::Response::Other(_)) => None,
            Ok(response) => return Some(response),
            Err(error) => Some(error.to_string()),
        };
        let error = error.as_deref().unwrap_or("unexpected response");
        self.log.warning(format_args!("mem: {error}"));
        None
    }
}

impl Service for ContextService {
    type Request = Request;

    fn kind(&self) -> ServiceKind {
        ServiceKind::Context
    }

    fn handle(&self, request: Request, responses: Responses<Response>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Request::Build {
                channel_id,
                user_message,
            } = request;
            let messages = self.build(channel_id.as_deref(), &user_message).await;
            responses.finish(Response::Context { messages }).await;
        })
    }

    fn reload(&self) -> Result<(), String> {
        let examples = examples(&self.config, self.log);
        *self.examples.lock().unwrap_or_else(PoisonError::into_inner) = examples;
        Ok(())
    }
}

fn examples(config: &Config, log: Log) -> Vec<Message> {
    load_skills(config.skills_dir(), log)
        .into_values()
        .flat_map(|skill| skill.fabricator)
        .filter(|message| matches!(message.role(), Some("user" | "assistant")))
        .collect()
}
