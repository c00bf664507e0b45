//! Both output streams of an agent.

use std::io;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use zot_wire::{Line, LineDecoder};

use super::super::{Feed, READ_BYTES};
use crate::Event;
use crate::source::Finding;

/// How much of a line of standard error is shown.
///
/// Limit: a longer line of standard error is not shown.
const MAX_ERROR_LINE_BYTES: usize = 4 * 1024;

/// Standard output goes to the feed unchanged, lines of standard error as notices.
pub(super) struct Output {
    output: Stream,
    errors: Stream,
    error_lines: LineDecoder,
    feed: Feed,
}

struct Stream {
    pipe: pipe::Receiver,
    buffer: Vec<u8>,
    open: bool,
}

impl Stream {
    fn new(pipe: pipe::Receiver) -> Self {
        Self {
            pipe,
            buffer: vec![0; READ_BYTES],
            open: true,
        }
    }

    /// Cancel-safe: bytes that were not returned were not read.
    async fn read(&mut self) -> io::Result<usize> {
        self.pipe.read(&mut self.buffer).await
    }
}

impl Output {
    pub(super) fn new(output: pipe::Receiver, errors: pipe::Receiver, feed: Feed) -> Self {
        Self {
            output: Stream::new(output),
            errors: Stream::new(errors),
            error_lines: LineDecoder::with_limit(MAX_ERROR_LINE_BYTES),
            feed,
        }
    }

    /// Waits for output of either stream; false when both are closed. Cancel-safe.
    pub(super) async fn read(&mut self) -> bool {
        tokio::select! {
            read = self.output.read(), if self.output.open => match read {
                Ok(count) if count > 0 => self.feed.feed(&self.output.buffer[..count]),
                _ => self.output.open = false,
            },
            read = self.errors.read(), if self.errors.open => match read {
                Ok(count) if count > 0 => self.read_errors(count),
                _ => self.errors.open = false,
            },
            else => return false,
        }
        true
    }

    fn read_errors(&mut self, count: usize) {
        self.error_lines.feed(&self.errors.buffer[..count]);
        while let Some(line) = self.error_lines.next_line() {
            let text = match line {
                Line::Complete(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Line::TooLong => "(a line too long to show)".to_owned(),
            };
            if !text.trim().is_empty() {
                self.feed.report_finding(notice(text));
            }
        }
    }

    pub(super) fn into_feed(mut self) -> Feed {
        if let Some(Line::Complete(bytes)) = self.error_lines.finish() {
            let text = String::from_utf8_lossy(bytes).into_owned();
            self.feed.report_finding(notice(text));
        }
        self.feed
    }
}

fn notice(text: String) -> Finding {
    Finding::Event(Event {
        raw_type: Some("stderr".to_owned()),
        ..Event::notice(text)
    })
}
