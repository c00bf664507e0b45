//! `ctx`: examples, memories and history, in this order.

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use zot_conversation::BoxFuture;

use crate::config::Config;
use crate::definitions::load_skills;
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::peer::Peer;
use crate::service::{Answer, Answers, Object, Service, channel_id, unknown_type};

pub struct ContextService {
    config: Config,
    log: Log,
    memory: Peer,
    /// User and assistant messages of all skills' fabricators.
    examples: Mutex<Vec<Value>>,
}

impl ContextService {
    pub fn new(config: Config, log: Log, memory: Peer) -> Self {
        let examples = examples(&config, log);
        Self {
            config,
            log,
            memory,
            examples: Mutex::new(examples),
        }
    }

    async fn build(&self, request: &Object) -> Answer {
        let user_message = match request.get("user_message") {
            None | Some(Value::Null) => "",
            Some(Value::String(text)) => text,
            Some(_) => return Answer::error("user_message must be a string"),
        };
        let channel = channel_id(request);
        let mut messages = self
            .examples
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        // At the same time: who waits for one that stalls waits once.
        let memories = async {
            match user_message.trim().is_empty() {
                true => Vec::new(),
                false => self.memories(user_message).await,
            }
        };
        let history = async {
            match &channel {
                Some(channel) => self.history(channel).await,
                None => Vec::new(),
            }
        };
        let (memories, history) = tokio::join!(memories, history);
        messages.extend(memories);
        messages.extend(history);
        Answer::message(json!({ "type": "context", "messages": messages }))
    }

    async fn memories(&self, query: &str) -> Vec<Value> {
        let request = json!({
            "type": "search_hard",
            "query": query,
            "top_k": self.config.ctx.hard_memory_top_k,
        });
        let results = self.ask(request, "results").await;
        let messages = results.into_iter().filter_map(|mut result| {
            match result.get_mut("messages").map(Value::take) {
                Some(Value::Array(messages)) => Some(messages),
                _ => None,
            }
        });
        messages.flatten().collect()
    }

    async fn history(&self, channel: &str) -> Vec<Value> {
        let request = json!({
            "type": "get_history",
            "channel_id": channel,
            "limit": self.config.ctx.history_limit,
        });
        self.ask(request, "messages").await
    }

    /// One list of an answer of `mem`; nothing when that cannot be had.
    async fn ask(&self, request: Value, list: &str) -> Vec<Value> {
        let Value::Object(request) = request else {
            return Vec::new();
        };
        match self.memory.ask(request).await {
            Ok(Answer::Message(mut object)) => match object.remove(list) {
                Some(Value::Array(values)) => values,
                _ => {
                    let error = object.get("message").and_then(Value::as_str);
                    let error = error.unwrap_or("unexpected answer");
                    self.log.warning(format_args!("mem: {error}"));
                    Vec::new()
                }
            },
            Ok(_) => Vec::new(),
            Err(error) => {
                self.log.warning(format_args!("mem: {error}"));
                Vec::new()
            }
        }
    }
}

impl Service for ContextService {
    fn kind(&self) -> ServiceKind {
        ServiceKind::Context
    }

    fn handle(&self, request: Object, answers: Answers) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let answer = match request.get("type").and_then(Value::as_str) {
                Some("build") => self.build(&request).await,
                _ => unknown_type(&request),
            };
            answers.finish(answer).await;
        })
    }

    fn reload(&self) -> Result<(), String> {
        let examples = examples(&self.config, self.log);
        *self.examples.lock().unwrap_or_else(PoisonError::into_inner) = examples;
        Ok(())
    }
}

fn examples(config: &Config, log: Log) -> Vec<Value> {
    let is_example = |message: &Value| {
        matches!(
            message.get("role").and_then(Value::as_str),
            Some("user" | "assistant")
        )
    };
    load_skills(config.skills_dir(), log)
        .into_values()
        .flat_map(|skill| skill.fabricator)
        .filter(is_example)
        .collect()
}
