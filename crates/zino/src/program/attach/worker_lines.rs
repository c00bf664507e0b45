//! The lines of the worker that has the session.

#[cfg(test)]
mod tests;

use zino_agent::LinkEnd;
use zot_wire::{Line, LineDecoder};

use crate::agents::wire::{CloseReason, WorkerLine};

/// The longest line of a worker: a whole conversation is one line.
///
/// Limit: a worker that sends a longer line counts as lost.
const MAX_WORKER_LINE_BYTES: usize = 512 * 1024 * 1024;

/// What a worker sends.
pub(super) struct WorkerLines {
    decoder: LineDecoder,
    /// What the worker said before it closed the session.
    closed: Option<(CloseReason, String)>,
}

impl Default for WorkerLines {
    fn default() -> Self {
        Self::with_limit(MAX_WORKER_LINE_BYTES)
    }
}

impl WorkerLines {
    fn with_limit(limit: usize) -> Self {
        Self {
            decoder: LineDecoder::with_limit(limit),
            closed: None,
        }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.decoder.feed(bytes);
    }

    pub(super) fn has_line(&self) -> bool {
        self.decoder.has_line()
    }

    pub(super) fn next_line(&mut self) -> Option<Line<'_>> {
        self.decoder.next_line()
    }

    /// Takes the lines for the client. Returns how the link ended if there can be no others: without the
    /// response in a line that was too long, a command would wait for ever.
    pub(super) fn take(&mut self, mut take: impl FnMut(&[u8])) -> Option<LinkEnd> {
        while let Some(line) = self.decoder.next_line() {
            match line {
                Line::Complete(line) => match WorkerLine::closed(line) {
                    Some(closed) => self.closed = Some(closed),
                    None => take(line),
                },
                Line::TooLong => {
                    let reason = "it sent a line that is too long".to_owned();
                    return Some(LinkEnd::Lost(reason));
                }
            }
        }
        None
    }

    /// Returns how the link ended, as the worker says or else for this reason.
    pub(super) fn end(&self, reason: &str) -> LinkEnd {
        match &self.closed {
            Some((CloseReason::Finished, _)) => LinkEnd::Finished,
            Some((_, message)) => LinkEnd::Lost(message.clone()),
            None => LinkEnd::Lost(reason.to_owned()),
        }
    }
}
