//! The limit on steps: the user decides whether zot continues beyond it.

use zot_sdk::ErrorCode;

use crate::app::action::Handled;
use crate::app::{AgentEffect, Effect, Key, KeyCode};

/// How many steps "without a limit" allows.
const WITHOUT_LIMIT: u64 = u32::MAX as u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum StepLimit {
    #[default]
    NotReached,
    /// The limit is reached, and the user is asked for as many steps again.
    Asked(u64),
    /// The user ended the prompt at the limit, which is not an error.
    Refused(u64),
}

impl StepLimit {
    /// Handles a key while the user is asked.
    pub(super) fn press(&mut self, key: &Key, is_typing: bool) -> Handled {
        let Self::Asked(limit) = *self else {
            return Handled::No;
        };
        if key.control {
            return match key.code {
                // Stopping, suspending and redrawing still work.
                KeyCode::Character('c' | 'z' | 'l') => Handled::No,
                _ => Handled::DONE,
            };
        }
        if is_typing && key.code != KeyCode::Escape {
            return match key.code {
                KeyCode::Enter => Handled::DONE,
                _ => Handled::No,
            };
        }
        if key.alt {
            return Handled::DONE;
        }
        let more = match key.code {
            KeyCode::Character('y' | 'Y') | KeyCode::Enter => limit,
            KeyCode::Character('a' | 'A') => WITHOUT_LIMIT,
            KeyCode::Character('n' | 'N') | KeyCode::Escape => 0,
            _ => return Handled::DONE,
        };
        *self = match more {
            0 => Self::Refused(limit),
            _ => Self::NotReached,
        };
        Handled::effect(Effect::Agent(AgentEffect::AllowSteps(more)))
    }

    /// Returns the note to show instead of an error, if the user ended the prompt at the limit.
    pub(crate) fn take_refusal(&mut self, code: ErrorCode) -> Option<String> {
        let Self::Refused(limit) = *self else {
            return None;
        };
        if !matches!(code, ErrorCode::MaxSteps | ErrorCode::Budget) {
            return None;
        }
        *self = Self::NotReached;
        let steps = step_count(limit);
        Some(format!(
            "stopped at the limit of {steps} · say \"continue\" for more"
        ))
    }
}

/// `1 step`, `20 steps`.
pub(crate) fn step_count(count: u64) -> String {
    match count {
        1 => "1 step".to_owned(),
        count => format!("{count} steps"),
    }
}
