//! What zot is doing, what it cost, and remarks that disappear on their own.

mod hint;
mod spending;
mod view;
mod work;

use super::action::Action;
use super::effect::Effect;
use super::{AgentEffect, Context};

pub(super) use hint::{explain, readable};
pub(super) use spending::Spending;
pub(super) use view::{SPINNER_MS, footer, lines, spinner};
pub(crate) use work::{Retry, Work};

/// A second ctrl+c within this time leaves the chat.
pub(crate) const LEAVE_WINDOW_MS: u64 = 2_000;

/// How long a remark stays above the editor.
const REMARK_MS: u64 = 6_000;

#[derive(Debug, Default)]
pub(crate) struct Status {
    /// The running prompt or compaction.
    pub(crate) work: Option<Work>,
    pub(super) spending: Spending,
    remark: Option<Remark>,
    /// Until then, another ctrl+c leaves the chat.
    leave_until_ms: u64,
    /// The theme was guessed, not chosen.
    pub(crate) is_theme_guessed: bool,
}

#[derive(Debug)]
struct Remark {
    text: String,
    until_ms: u64,
}

impl Status {
    pub(crate) fn remark(&self) -> Option<&str> {
        self.remark.as_ref().map(|remark| remark.text.as_str())
    }

    pub(super) fn show_remark(&mut self, context: &Context, text: impl Into<String>) {
        self.show_remark_for(context, REMARK_MS, text);
    }

    fn show_remark_for(&mut self, context: &Context, time_ms: u64, text: impl Into<String>) {
        self.remark = Some(Remark {
            text: text.into(),
            until_ms: context.now_ms + time_ms,
        });
    }

    /// Hides any remark.
    pub(super) fn clear_remark(&mut self) {
        self.remark = None;
    }

    /// Hides a remark that no longer applies, except the one about another ctrl+c.
    pub(super) fn hide_remark(&mut self, context: &Context) {
        if self.leave_until_ms <= context.now_ms {
            self.remark = None;
        }
    }

    /// Hides a remark whose time is up.
    pub(super) fn expire_remark(&mut self, context: &Context) {
        self.remark
            .take_if(|remark| remark.until_ms <= context.now_ms);
    }

    /// Cancels leaving: anything between two presses of ctrl+c means that the user stays.
    pub(super) fn cancel_leaving(&mut self) {
        if self.leave_until_ms > 0 {
            self.leave_until_ms = 0;
            self.remark = None;
        }
    }

    /// Handles ctrl+c and returns whether it leaves the chat.
    pub(super) fn interrupt(&mut self, context: &Context) -> bool {
        if context.now_ms < self.leave_until_ms {
            return true;
        }
        self.leave_until_ms = context.now_ms + LEAVE_WINDOW_MS;
        self.show_remark_for(context, LEAVE_WINDOW_MS, "ctrl+c again to leave");
        false
    }

    pub(crate) fn is_working(&self) -> bool {
        self.work.is_some()
    }

    pub(super) fn begin_work(&mut self, context: &Context, activity: &'static str) {
        self.work = Some(Work::new(context.now_ms, context.info.cost_usd, activity));
    }

    pub(super) fn set_activity(&mut self, activity: &'static str) {
        if let Some(work) = &mut self.work {
            work.activity = activity;
        }
    }

    /// Counts bytes that the model has written.
    pub(super) fn count_received(&mut self, context: &Context, bytes: usize) {
        if let Some(work) = &mut self.work {
            work.count_received(bytes, context.now_ms);
        }
    }

    pub(super) fn end_response(&mut self) {
        if let Some(work) = &mut self.work {
            work.end_response();
        }
    }

    pub(super) fn set_retry(&mut self, retry: Option<Retry>) {
        if let Some(work) = &mut self.work {
            work.retry = retry;
        }
    }

    /// Stops the work, unless it is stopping already.
    pub(super) fn cancel_work(&mut self) -> Option<Effect> {
        let work = self.work.as_mut().filter(|work| !work.is_cancelling)?;
        work.is_cancelling = true;
        Some(Effect::Agent(AgentEffect::Cancel))
    }

    /// Ends the work.
    pub(super) fn end_work(&mut self) -> Option<Action> {
        let work = self.work.take()?;
        work.is_cancelling.then(|| Action::note("stopped"))
    }

    /// Returns how long until the remark disappears.
    pub(super) fn next_tick_ms(&self, context: &Context) -> Option<u64> {
        let remark = self.remark.as_ref()?;
        Some(remark.until_ms.saturating_sub(context.now_ms).max(1))
    }
}
