//! `zino cli`: asks the daemon one thing.

use std::io;

use serde_json::{Value, json};

use crate::daemon::object;
use crate::peer::{CallError, Peer};
use crate::service::Answer;

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
    #[error("{0}")]
    Refused(String),
    #[error("cannot write the answer: {0}")]
    Output(#[from] io::Error),
}

/// Asks, and writes the answer as it comes.
pub async fn ask(
    daemon: &Peer,
    question: Question,
    output: &mut (dyn io::Write + Send),
) -> Result<(), ClientError> {
    let mut request = json!({ "message": question.message, "stream": question.stream });
    if let Some(channel) = question.channel {
        request["channel_id"] = channel.into();
    }
    let mut call = daemon
        .call(object(request))
        .await
        .map_err(ClientError::Unreachable)?;
    let mut ends_line = true;
    loop {
        match call.next().await.map_err(ClientError::Broken)? {
            Some(Answer::Chunk(delta)) => {
                output.write_all(delta.as_bytes())?;
                output.flush()?;
                ends_line = delta.ends_with('\n') || (delta.is_empty() && ends_line);
            }
            Some(Answer::Done { .. }) => break,
            Some(answer @ Answer::Message(_)) => {
                if let Some(error) = answer.error_message() {
                    end_line(output, ends_line)?;
                    return Err(ClientError::Refused(error.to_owned()));
                }
                if let Answer::Message(fields) = &answer
                    && let Some(Value::String(content)) = fields.get("content")
                {
                    output.write_all(content.as_bytes())?;
                    ends_line = content.ends_with('\n');
                    break;
                }
            }
            None => return Err(ClientError::Broken(CallError::EndedEarly)),
        }
    }
    end_line(output, ends_line)?;
    output.flush()?;
    Ok(())
}

fn end_line(output: &mut (dyn io::Write + Send), ends_line: bool) -> io::Result<()> {
    match ends_line {
        true => Ok(()),
        false => output.write_all(b"\n"),
    }
}
