//! What an extension writes, line by line.

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc;
use zot_wire::extension::{ExtensionFrame, FrameError};
use zot_wire::{Line, LineDecoder};

const BUFFER_BYTES: usize = 64 * 1024;

/// A longer line of standard error is not something a person wrote.
const MAX_LOG_LINE_BYTES: usize = 64 * 1024;

/// How much of a line that is no frame is kept for people to recognise it.
const SHOWN_CHARACTERS: usize = 200;

/// Something an extension wrote.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    Frame(ExtensionFrame),
    /// A line of standard output that is no frame we understand.
    Unusable {
        line: String,
        error: FrameError,
    },
    /// A line of standard output that goes over the limit.
    TooLong,
    /// A line of standard error.
    Log(String),
    /// Standard output was closed: no more frames.
    StdoutClosed,
    /// Both streams are closed.
    Silence,
}

pub(super) async fn read_frames(
    stream: impl AsyncRead + Unpin,
    limit: usize,
    heard: mpsc::Sender<Heard>,
) {
    read_lines(stream, limit, &heard, |line| match line {
        // A blank line between frames hurts nobody.
        Line::Complete(line) if line.trim_ascii().is_empty() => None,
        Line::Complete(line) => Some(match ExtensionFrame::parse(line) {
            Ok(frame) => Heard::Frame(frame),
            Err(error) => Heard::Unusable {
                line: shown(line),
                error,
            },
        }),
        Line::TooLong => Some(Heard::TooLong),
    })
    .await;
    let _ = heard.send(Heard::StdoutClosed).await;
}

pub(super) async fn read_log(stream: impl AsyncRead + Unpin, heard: mpsc::Sender<Heard>) {
    read_lines(stream, MAX_LOG_LINE_BYTES, &heard, |line| {
        Some(Heard::Log(match line {
            Line::Complete(line) => String::from_utf8_lossy(line).trim_end().to_owned(),
            Line::TooLong => format!("(a line of more than {MAX_LOG_LINE_BYTES} bytes)"),
        }))
    })
    .await;
}

/// Hands every line to `heard` as `read` understands it, until the stream ends or nobody listens.
async fn read_lines(
    mut stream: impl AsyncRead + Unpin,
    limit: usize,
    heard: &mpsc::Sender<Heard>,
    read: impl Fn(Line<'_>) -> Option<Heard>,
) {
    let mut decoder = LineDecoder::with_limit(limit);
    let mut buffer = vec![0; BUFFER_BYTES];
    // A stream that fails is one that ended.
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        decoder.feed(&buffer[..count]);
        while let Some(line) = decoder.next_line() {
            let Some(line) = read(line) else { continue };
            if heard.send(line).await.is_err() {
                return;
            }
        }
    }
    if let Some(last) = decoder.finish().and_then(read) {
        let _ = heard.send(last).await;
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
