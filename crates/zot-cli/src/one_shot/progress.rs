//! The sign of life of `zot -p`: one line on standard error, erased before anything else is printed.

#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use zot_sdk::AgentEvent;
use zot_stdio::is_in_foreground;
use zot_terminal::StatusLine;

/// A quick answer comes without a line, which would only flicker.
const FIRST_AFTER: Duration = Duration::from_millis(500);
const REDRAWN_EVERY: Duration = Duration::from_secs(1);

/// A line with the model, what it is doing, and the elapsed seconds.
pub(super) struct ProgressLine {
    /// `None` if standard error is not a terminal.
    shown: Option<Shown>,
}

struct Shown {
    line: StatusLine,
    status: Status,
    started: Instant,
    redraws: Interval,
}

/// The content of the line, except the time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Status {
    model: String,
    activity: String,
}

impl ProgressLine {
    pub(super) fn hidden() -> Self {
        Self { shown: None }
    }

    /// Returns a line for `model`, if standard error is a terminal.
    pub(super) fn on_terminal(model: String) -> Self {
        let started = Instant::now();
        let mut redraws = interval_at(started + FIRST_AFTER, REDRAWN_EVERY);
        redraws.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            shown: StatusLine::on_stderr().map(|line| Shown {
                line,
                status: Status::new(model),
                started,
                redraws,
            }),
        }
    }

    pub(super) fn observe(&mut self, event: &AgentEvent) {
        if let Some(shown) = &mut self.shown
            && shown.status.observe(event)
            && shown.line.is_drawn()
        {
            shown.draw();
        }
    }

    /// Keeps the line up to date; never returns.
    pub(super) async fn keep_drawing(&mut self) -> Infallible {
        let Some(shown) = &mut self.shown else {
            return std::future::pending().await;
        };
        loop {
            shown.redraws.tick().await;
            shown.draw();
        }
    }

    /// Erases the line, so that something else can be printed.
    pub(super) fn clear(&mut self) {
        if let Some(shown) = &mut self.shown {
            shown.line.clear();
        }
    }
}

impl Shown {
    fn draw(&mut self) {
        if is_in_foreground() {
            self.line.draw(&self.status.line(self.started.elapsed()));
        }
    }
}

impl Status {
    fn new(model: String) -> Self {
        Self {
            model,
            activity: "waiting for the model".to_owned(),
        }
    }

    /// Applies an event, and returns whether the line changes.
    fn observe(&mut self, event: &AgentEvent) -> bool {
        let activity = match event {
            AgentEvent::TurnStarted { .. } => "waiting for the model".to_owned(),
            AgentEvent::Retrying { .. } => "waiting to retry".to_owned(),
            AgentEvent::ThinkingDelta(_) => "thinking".to_owned(),
            AgentEvent::TextDelta(_) => "answering".to_owned(),
            AgentEvent::ToolUseStarted { name, .. } => format!("calling {name}"),
            AgentEvent::ToolCallRequested(call) => format!("running {}", call.name),
            AgentEvent::CompactionStarted => "compacting the conversation".to_owned(),
            AgentEvent::FellBack { to, .. } => {
                self.model.clone_from(to);
                "waiting for the model".to_owned()
            }
            _ => return false,
        };
        let has_changed = activity != self.activity;
        self.activity = activity;
        has_changed
    }

    fn line(&self, elapsed: Duration) -> String {
        let Self { model, activity } = self;
        format!("{model} · {activity} · {} s", elapsed.as_secs())
    }
}
