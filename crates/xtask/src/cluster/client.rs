//! A blocking client of services on Unix sockets.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use zot_wire::write_frame;

/// Longer than any request may take; it only ends proofs that hang.
const PATIENCE: Duration = Duration::from_secs(120);

/// A message for the daemon.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) channel: String,
    /// Unique, so that it can be found in the database.
    pub(crate) message: String,
}

/// How a turn ended for its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Acknowledged: it must be in the database.
    Saved,
    /// Answered, but not stored, for this reason.
    Unsaved(String),
    /// Refused or broken off with an error: it must not be in the database.
    Failed {
        code: Option<String>,
        message: String,
    },
    /// The connection ended without a last frame: it may be in the database once.
    Lost,
}

/// Sends a message to a daemon and waits for the end of the response.
pub(crate) fn turn(daemon: &Path, turn: &Turn) -> Ending {
    let request = json!({ "message": turn.message, "channel_id": turn.channel });
    let Ok(mut stream) = begin(daemon, &request) else {
        return Ending::Lost;
    };
    Ending::of(&mut stream)
}

impl Ending {
    /// Reads the rest of a daemon's response.
    pub(crate) fn of(stream: &mut UnixStream) -> Self {
        loop {
            match next_frame(stream) {
                Ok(Some(frame)) => match frame["type"].as_str() {
                    Some("chunk") => {}
                    Some("done" | "response") => {
                        return match frame["unsaved"].as_str() {
                            Some(reason) => Self::Unsaved(reason.to_owned()),
                            None => Self::Saved,
                        };
                    }
                    _ => {
                        return Self::Failed {
                            code: frame["code"].as_str().map(str::to_owned),
                            message: frame["message"].as_str().unwrap_or_default().to_owned(),
                        };
                    }
                },
                Ok(None) | Err(_) => return Self::Lost,
            }
        }
    }
}

/// Sends a request and returns the only frame of the response.
pub(crate) fn ask(socket: &Path, request: &Value) -> anyhow::Result<Value> {
    let mut stream = begin(socket, request)?;
    let frame = next_frame(&mut stream)?.context("the response is empty")?;
    ensure!(
        next_frame(&mut stream)?.is_none(),
        "more than one frame: {frame}"
    );
    Ok(frame)
}

/// Sends a request.
pub(crate) fn begin(socket: &Path, request: &Value) -> anyhow::Result<UnixStream> {
    let mut bytes = Vec::new();
    write_frame(&mut bytes, request)?;
    let mut stream = connect(socket).with_context(|| format!("connect to {}", socket.display()))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(&bytes)?;
    Ok(stream)
}

/// Connects, also to a service whose queue is full for a moment.
fn connect(socket: &Path) -> io::Result<UnixStream> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match UnixStream::connect(socket) {
            Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(1));
            }
            other => return other,
        }
    }
}

/// Returns the next frame; `None` at the end.
pub(crate) fn next_frame(stream: &mut UnixStream) -> anyhow::Result<Option<Value>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let mut body = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}
