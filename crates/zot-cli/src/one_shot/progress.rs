//! The sign of life of `zot -p`: one line on standard error, erased before anything else is printed.

#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use zot_sdk::AgentEvent;
use zot_terminal::{Layout, clean};

/// Quick answers come without a line that flickers.
const FIRST_AFTER: Duration = Duration::from_millis(500);
const REDRAWN_EVERY: Duration = Duration::from_secs(1);

const ERASE: &str = "\r\x1b[K";
/// A line that is too long is cut off instead of wrapped: the rest of it could not be erased.
const NO_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";

/// A line that says which model works, on what, and for how long.
pub(super) struct ProgressLine {
    /// `None` where nobody watches, or the terminal cannot erase a line.
    shown: Option<Shown>,
}

struct Shown {
    status: Status,
    started: Instant,
    redraws: Interval,
    is_drawn: bool,
}

/// What the line says.
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
        let is_capable = env::var_os("TERM").is_some_and(|name| !name.is_empty() && name != "dumb");
        if !io::stderr().is_terminal() || !is_capable {
            return Self::hidden();
        }
        let started = Instant::now();
        let mut redraws = interval_at(started + FIRST_AFTER, REDRAWN_EVERY);
        redraws.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            shown: Some(Shown {
                status: Status::new(model),
                started,
                redraws,
                is_drawn: false,
            }),
        }
    }

    pub(super) fn observe(&mut self, event: &AgentEvent) {
        if let Some(shown) = &mut self.shown
            && shown.status.observe(event)
            && shown.is_drawn
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
        if let Some(shown) = &mut self.shown
            && std::mem::take(&mut shown.is_drawn)
        {
            write(ERASE);
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Shown {
    fn draw(&mut self) {
        let line = clean(&self.status.line(self.started.elapsed()), Layout::LINE);
        write(&format!("{ERASE}{NO_WRAP}{line}{WRAP}"));
        self.is_drawn = true;
    }
}

impl Status {
    fn new(model: String) -> Self {
        Self {
            model,
            activity: "waiting for the model".to_owned(),
        }
    }

    /// Applies an event, and returns whether the line says something else now.
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

/// The line holds nothing that its loss would hurt, so errors are ignored.
fn write(text: &str) {
    let mut stderr = io::stderr();
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}
