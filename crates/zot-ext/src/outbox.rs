//! The queue of frames to the host: one line each, in order, and limited in number.

#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use zot_wire::extension::{ExtensionFrame, InterceptResponse};
use zot_wire::{MAX_WIRE_LINE_BYTES, write_line};

use crate::{Response, ToolResult};

/// Frames that are queued for the host. Further responses wait for room; other frames are dropped,
/// because a handler must not stall over a notification.
///
/// Limit: responses wait; frames that nobody waits for are dropped and logged.
const MAX_WAITING_FRAMES: usize = 1024;

/// Lines that are written at once.
const MAX_BATCH: usize = 64;

/// What the writer gets.
pub(crate) enum Outgoing {
    Line(Vec<u8>),
    /// Nothing after this is written.
    End,
}

#[derive(Clone)]
pub(crate) struct Outbox {
    sender: mpsc::Sender<Outgoing>,
    /// Set while frames are dropped, so that this is logged once.
    dropping: Arc<AtomicBool>,
}

pub(crate) fn channel() -> (Outbox, mpsc::Receiver<Outgoing>) {
    let (sender, receiver) = mpsc::channel(MAX_WAITING_FRAMES);
    let dropping = Arc::default();
    (Outbox { sender, dropping }, receiver)
}

impl Outbox {
    /// Sends a frame if there is room for it.
    pub(crate) fn offer(&self, frame: ExtensionFrame) {
        let Some(line) = encode(frame) else { return };
        let sent = self.sender.try_send(Outgoing::Line(line));
        let dropped = matches!(sent, Err(mpsc::error::TrySendError::Full(_)));
        if dropped && !self.dropping.load(Ordering::Relaxed) {
            log("zot does not read what it is sent: frames are dropped");
        }
        self.dropping.store(dropped, Ordering::Relaxed);
    }

    /// Sends a frame that the host waits for.
    pub(crate) async fn answer(&self, frame: ExtensionFrame) {
        if let Some(line) = encode(frame) {
            // Fails only when the host is gone.
            let _ = self.sender.send(Outgoing::Line(line)).await;
        }
    }

    pub(crate) async fn end(&self) {
        let _ = self.sender.send(Outgoing::End).await;
    }
}

/// Writes `first` and then all queued lines until `End`.
pub(crate) async fn write_lines(
    mut writer: impl AsyncWrite + Unpin,
    mut outgoing: mpsc::Receiver<Outgoing>,
    first: Vec<u8>,
) -> io::Result<()> {
    let mut buffer = first;
    let mut batch = Vec::with_capacity(MAX_BATCH);
    let mut ended = false;
    while !ended {
        writer.write_all(&buffer).await?;
        writer.flush().await?;
        buffer.clear();
        if outgoing.recv_many(&mut batch, MAX_BATCH).await == 0 {
            return Ok(());
        }
        for item in batch.drain(..) {
            match item {
                // A single large line is not copied.
                Outgoing::Line(line) if buffer.is_empty() => buffer = line,
                Outgoing::Line(line) => buffer.extend_from_slice(&line),
                Outgoing::End => {
                    ended = true;
                    break;
                }
            }
        }
    }
    writer.write_all(&buffer).await?;
    writer.flush().await
}

/// Writes a line for the author to read. zot keeps standard error in a file for each extension.
pub(crate) fn log(message: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{message}");
}

/// Encodes a frame; one that is too long is replaced with an error response.
pub(crate) fn encode(frame: ExtensionFrame) -> Option<Vec<u8>> {
    let length = match line_of(&frame) {
        Ok(line) if line.len() <= MAX_WIRE_LINE_BYTES => return Some(line),
        Ok(line) => line.len(),
        Err(error) => {
            log(format_args!("a frame cannot be written: {error}"));
            return None;
        }
    };
    let problem = format!(
        "the answer has {length} bytes, and {MAX_WIRE_LINE_BYTES} are the most that zot takes"
    );
    log(&problem);
    // The host does not read a line that is too long, so it could not assign it to a request.
    let replacement = match frame {
        ExtensionFrame::ToolResult(result) => {
            ExtensionFrame::ToolResult(ToolResult::error(problem).into_wire(result.id))
        }
        ExtensionFrame::CommandResponse(response) => {
            ExtensionFrame::CommandResponse(Response::error(problem).into_wire(response.id))
        }
        ExtensionFrame::EventInterceptResponse(response) => {
            ExtensionFrame::EventInterceptResponse(InterceptResponse {
                id: response.id,
                block: true,
                reason: problem,
                ..InterceptResponse::default()
            })
        }
        _ => return None,
    };
    line_of(&replacement).ok()
}

fn line_of(frame: &ExtensionFrame) -> serde_json::Result<Vec<u8>> {
    let mut line = Vec::new();
    write_line(&mut line, frame)?;
    Ok(line)
}
