//! Has messages answered: by the loop, or by the router alone when there is no loop.

use serde_json::{Value, json};

use super::{DaemonService, object};
use crate::lenient;
use crate::peer::{Call, CallError};
use crate::service::{Answer, Answers};

/// An answer that came to a good end.
pub(super) struct Finished {
    pub(super) text: String,
    /// The frame that tells the client so.
    pub(super) last: Answer,
}

impl DaemonService {
    /// Passes the answer on to the client, all but its last frame, which is returned when it came to
    /// a good end.
    pub(super) async fn dispatch(
        &self,
        messages: Vec<Value>,
        stream: bool,
        answers: &Answers,
    ) -> Option<Finished> {
        let request = object(json!({
            "type": "run",
            "messages": messages,
            "temperature": self.config.agent.temperature,
            "top_p": self.config.agent.top_p,
            "max_iterations": self.config.agr.max_iterations.max(1),
            "stream": stream,
        }));
        match self.peers.agent_loop.call(request).await {
            Ok(call) => pass_on(call, "agr", answers).await,
            Err(CallError::Unreachable(error)) => {
                self.log
                    .warning(format_args!("agr: {error}: the router answers alone"));
                self.ask_router(messages, stream, answers).await
            }
            Err(error) => {
                let error = Answer::error(format!("agr dispatch error: {error}"));
                answers.finish(error).await;
                None
            }
        }
    }

    async fn ask_router(
        &self,
        messages: Vec<Value>,
        stream: bool,
        answers: &Answers,
    ) -> Option<Finished> {
        let stream = stream && self.router_streams().await;
        let request = object(json!({
            "type": "infer",
            "messages": messages,
            "temperature": self.config.agent.temperature,
            "top_p": self.config.agent.top_p,
            "stream": stream,
        }));
        match self.peers.router.call(request).await {
            Ok(call) => pass_on(call, "rtr", answers).await,
            Err(error) => {
                let error = Answer::error(format!("Could not connect to rtr: {error}"));
                answers.finish(error).await;
                None
            }
        }
    }

    async fn router_streams(&self) -> bool {
        let request = object(json!({ "type": "capabilities" }));
        // Unlike an answer of the model this takes no time.
        let router = self.peers.router.clone();
        let router = router.within(self.config.answer_limit());
        match router.ask(request).await {
            Ok(Answer::Message(capabilities)) => {
                capabilities.get("streaming").is_some_and(lenient::is_true)
            }
            _ => false,
        }
    }
}

/// Passes frames on until the answer is over; each of them is told in the client's words.
async fn pass_on(mut call: Call, service: &str, answers: &Answers) -> Option<Finished> {
    loop {
        let error = match call.next().await {
            Ok(Some(Answer::Chunk(delta))) => {
                answers.send(Answer::Chunk(delta)).await.ok()?;
                continue;
            }
            Ok(Some(Answer::Done {
                full_text,
                iterations,
            })) => {
                return Some(Finished {
                    text: full_text.clone(),
                    last: Answer::Done {
                        full_text,
                        iterations,
                    },
                });
            }
            Ok(Some(Answer::Message(mut message))) => {
                let kind = message.get("type").and_then(Value::as_str);
                if matches!(kind, Some("result" | "response")) {
                    let Some(Value::String(content)) = message.remove("content") else {
                        continue;
                    };
                    let response = json!({ "type": "response", "content": content });
                    return Some(Finished {
                        text: content,
                        last: Answer::message(response),
                    });
                }
                if kind == Some("error") {
                    answers.finish(Answer::Message(message)).await;
                    return None;
                }
                // A frame of a later version is for someone who knows it.
                continue;
            }
            Ok(None) => format!("{service} dispatch error: {}", CallError::EndedEarly),
            Err(error) => format!("{service} dispatch error: {error}"),
        };
        answers.finish(Answer::error(error)).await;
        return None;
    }
}
