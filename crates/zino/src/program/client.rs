//! `zino cli`: asks the daemon one thing, and prints the answer as the original's client does.

use std::io;

use serde_json::{Value, json};

use crate::daemon::object;
use crate::peer::{CallError, Peer};
use crate::service::{Answer, Object};

/// What to ask, and how.
#[derive(Debug)]
pub struct Question {
    pub message: String,
    pub channel: Option<String>,
    pub stream: bool,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("cannot reach the daemon: {0}; is `zino up` running with the same configuration?")]
    Unreachable(CallError),
    #[error("{0}")]
    Broken(CallError),
    /// What the daemon has to say, ready for standard error.
    #[error("{0}")]
    Told(String),
    #[error("cannot write the answer: {0}")]
    Output(#[from] io::Error),
}

/// Asks, and writes the answer as it comes. To the byte what the original prints: an answer and a
/// line end after it, whatever it ends with.
pub async fn ask(
    daemon: &Peer,
    question: Question,
    output: &mut (dyn io::Write + Send),
) -> Result<(), ClientError> {
    let stream = question.stream;
    let mut request = json!({ "message": question.message, "stream": stream });
    // An empty one is none.
    if let Some(channel) = question.channel.filter(|channel| !channel.is_empty()) {
        request["channel_id"] = channel.into();
    }
    let mut call = daemon
        .call(object(request))
        .await
        .map_err(ClientError::Unreachable)?;
    loop {
        match call.next().await.map_err(ClientError::Broken)? {
            Some(Answer::Chunk(delta)) => {
                output.write_all(delta.as_bytes())?;
                output.flush()?;
            }
            Some(Answer::Done { .. }) => break,
            Some(Answer::Message(fields)) => {
                let content = response(&fields, stream).map_err(ClientError::Told)?;
                output.write_all(content.as_bytes())?;
                break;
            }
            None => return Err(ClientError::Broken(CallError::EndedEarly)),
        }
    }
    output.write_all(b"\n")?;
    output.flush()?;
    Ok(())
}

/// The text of an answer in one piece, or what is said instead: on a new line where a part of the
/// answer may stand on the last one.
fn response(fields: &Object, stream: bool) -> Result<&str, String> {
    let line_end = if stream { "\n" } else { "" };
    match fields.get("type").and_then(Value::as_str) {
        Some("response") => Ok(fields.get("content").and_then(Value::as_str).unwrap_or("")),
        Some("error") => {
            let message = fields.get("message").and_then(Value::as_str);
            Err(format!("{line_end}Error: {}", message.unwrap_or("None")))
        }
        _ => {
            let packet = Value::Object(fields.clone());
            let kind = if stream {
                "Unknown packet"
            } else {
                "Unexpected"
            };
            Err(format!("{line_end}{kind}: {packet}"))
        }
    }
}
