//! The clocks of a response that is being read.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::http::ResponseBody;

/// How long a streamed response may take in all.
///
/// Limit: error that names the limit; the text received so far is kept.
const MAX_STREAM_TIME: Duration = Duration::from_secs(6 * 60 * 60);

/// How long a response may consist of nothing but keep-alives.
///
/// Limit: a stream of keep-alives only is an error; the text received so far is kept.
const MAX_KEEP_ALIVE_TIME: Duration = Duration::from_secs(30 * 60);

pub(super) struct Reading {
    pub(super) body: ResponseBody,
    began: Instant,
    last_content: Instant,
    last_progress: Instant,
    deadline: Pin<Box<Sleep>>,
    /// Whether data arrived since `last_progress` was set.
    pub(super) progressed: bool,
}

impl Reading {
    pub(super) fn new(body: ResponseBody, idle: Duration) -> Self {
        let now = Instant::now();
        Self {
            body,
            began: now,
            last_content: now,
            last_progress: now,
            deadline: Box::pin(tokio::time::sleep(idle)),
            progressed: false,
        }
    }

    /// Returns which time limit a response has exceeded, if it has.
    pub(super) fn exceeded_limit(&mut self, has_content: bool) -> Option<String> {
        let now = Instant::now();
        if has_content {
            self.last_content = now;
        }
        if now.duration_since(self.began) > MAX_STREAM_TIME {
            return Some(format!(
                "the response took longer than {MAX_STREAM_TIME:?} (MAX_STREAM_TIME)"
            ));
        }
        let is_empty = now.duration_since(self.last_content) > MAX_KEEP_ALIVE_TIME;
        is_empty.then(|| {
            format!(
                "the server sent nothing but keep-alives for {MAX_KEEP_ALIVE_TIME:?} \
                 (MAX_KEEP_ALIVE_TIME)"
            )
        })
    }

    /// Ready when nothing arrived for `idle`. The timer is moved only when it fires, because moving
    /// it for every piece of a response costs more than decoding the piece.
    pub(super) fn poll_idle(&mut self, context: &mut Context<'_>, idle: Duration) -> Poll<()> {
        if std::mem::take(&mut self.progressed) {
            self.last_progress = Instant::now();
        }
        loop {
            ready!(self.deadline.as_mut().poll(context));
            let due = self.last_progress + idle;
            if due <= Instant::now() {
                return Poll::Ready(());
            }
            self.deadline.as_mut().reset(due);
        }
    }
}
