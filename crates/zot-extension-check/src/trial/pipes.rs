//! Reads the output of an extension, line by line.

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc;
use zot_wire::extension::{ExtensionFrame, FrameError};
use zot_wire::{Line, LineDecoder};

const BUFFER_BYTES: usize = 64 * 1024;

/// A longer line of standard error is not something a person wrote.
const MAX_LOG_LINE_BYTES: usize = 64 * 1024;

/// How much of an unusable line is kept for people to recognise it.
const SHOWN_CHARACTERS: usize = 200;

/// A piece of an extension's output.
#[derive(Debug, Clone, PartialEq)]
pub enum ExtensionOutput {
    Frame(ExtensionFrame),
    /// A line of standard output that is not a known frame.
    Unusable {
        line: String,
        error: FrameError,
    },
    /// A line of standard output that exceeds the limit.
    TooLong,
    /// A line of standard error.
    Log(String),
    /// Standard output was closed: no more frames.
    StdoutClosed,
    /// Both streams are closed.
    StreamsClosed,
}

pub(super) async fn read_frames(
    stream: impl AsyncRead + Unpin,
    limit: usize,
    output: mpsc::Sender<ExtensionOutput>,
) {
    read_lines(stream, limit, &output, |line| match line {
        // A blank line between frames is harmless.
        Line::Complete(line) if line.trim_ascii().is_empty() => None,
        Line::Complete(line) => Some(match ExtensionFrame::parse(line) {
            Ok(frame) => ExtensionOutput::Frame(frame),
            Err(error) => ExtensionOutput::Unusable {
                line: shown(line),
                error,
            },
        }),
        Line::TooLong => Some(ExtensionOutput::TooLong),
    })
    .await;
    let _ = output.send(ExtensionOutput::StdoutClosed).await;
}

pub(super) async fn read_log(
    stream: impl AsyncRead + Unpin,
    output: mpsc::Sender<ExtensionOutput>,
) {
    read_lines(stream, MAX_LOG_LINE_BYTES, &output, |line| {
        Some(ExtensionOutput::Log(match line {
            Line::Complete(line) => String::from_utf8_lossy(line).trim_end().to_owned(),
            Line::TooLong => format!("(a line of more than {MAX_LOG_LINE_BYTES} bytes)"),
        }))
    })
    .await;
}

/// Sends every line, converted by `read`, to `output` until the stream ends or the receiver is gone.
async fn read_lines(
    mut stream: impl AsyncRead + Unpin,
    limit: usize,
    output: &mpsc::Sender<ExtensionOutput>,
    read: impl Fn(Line<'_>) -> Option<ExtensionOutput>,
) {
    let mut decoder = LineDecoder::with_limit(limit);
    let mut buffer = vec![0; BUFFER_BYTES];
    // A failed stream counts as ended.
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        decoder.feed(&buffer[..count]);
        while let Some(line) = decoder.next_line() {
            let Some(line) = read(line) else { continue };
            if output.send(line).await.is_err() {
                return;
            }
        }
    }
    if let Some(last) = decoder.finish().and_then(read) {
        let _ = output.send(last).await;
    }
}

fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut shown: String = text.chars().take(SHOWN_CHARACTERS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
