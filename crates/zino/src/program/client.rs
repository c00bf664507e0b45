//! `zino cli`: sends the daemon one message and prints the response as the original's client does.

use std::io;

use zot_wire::zino::daemon::{Request, Response};

use crate::peer::{CallError, Peer};

/// The message to send, and how.
#[derive(Debug)]
pub struct ClientRequest {
    pub message: String,
    pub channel: Option<String>,
    pub stream: bool,
}

/// Why no response was printed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("cannot reach the daemon: {0}; is `zino up` running with the same configuration?")]
    Unreachable(CallError),
    #[error("{0}")]
    Broken(CallError),
    /// The daemon's error, ready for standard error.
    #[error("{0}")]
    Refused(String),
    #[error("cannot write the response: {0}")]
    Output(#[from] io::Error),
}

/// A response that was printed.
#[derive(Debug)]
pub struct Printed {
    /// Why the exchange is not in the channel's history, if it should be.
    pub unsaved: Option<String>,
}

/// Sends the request and writes the response as it arrives, byte for byte as the original prints it:
/// the response and a line end, whatever the response ends with.
pub async fn ask(
    daemon: &Peer<Request>,
    client_request: ClientRequest,
    output: &mut (dyn io::Write + Send),
) -> Result<Printed, ClientError> {
    let stream = client_request.stream;
    let request = Request {
        message: client_request.message,
        // An empty channel counts as none.
        channel_id: client_request.channel.filter(|channel| !channel.is_empty()),
        stream,
    };
    let mut call = daemon.call(request).await.map_err(|error| match error {
        unknown @ CallError::OutcomeUnknown(_) => ClientError::Broken(unknown),
        error => ClientError::Unreachable(error),
    })?;
    // An error goes on a new line, since part of the response may be on the last one.
    let line_end = if stream { "\n" } else { "" };
    let unsaved = loop {
        match call.next().await.map_err(ClientError::Broken)? {
            Some(Response::Chunk(delta)) => {
                output.write_all(delta.as_bytes())?;
                output.flush()?;
            }
            Some(Response::Done { unsaved, .. }) => break unsaved,
            Some(Response::Response { content, unsaved }) => {
                output.write_all(content.as_bytes())?;
                break unsaved;
            }
            Some(Response::Error(failure)) => {
                let message = failure.message.as_deref().unwrap_or("None");
                return Err(ClientError::Refused(format!("{line_end}Error: {message}")));
            }
            Some(Response::Other(packet)) => {
                let kind = if stream {
                    "Unknown packet"
                } else {
                    "Unexpected"
                };
                return Err(ClientError::Refused(format!("{line_end}{kind}: {packet}")));
            }
            None => return Err(ClientError::Broken(CallError::EndedEarly)),
        }
    };
    output.write_all(b"\n")?;
    output.flush()?;
    Ok(Printed { unsaved })
}
