//! A limit on steps that is reached: whether zot may go on is a question.

use zot_sdk::ErrorCode;

use super::{App, Effect, Key, KeyCode};

/// What answers of "as many as it takes" come to.
const WITHOUT_LIMIT: u64 = u32::MAX as u64;

/// What the user said about a limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum StepLimit {
    #[default]
    NotReached,
    /// So many steps were allowed: is it to be as many more?
    Asked(u64),
    /// The prompt ends there, which is not an error.
    Refused(u64),
}

impl App {
    pub(super) fn ask_for_steps(&mut self, limit: u64) {
        self.step_limit = StepLimit::Asked(limit);
    }

    /// Takes a key while it is asked. `None` when it is not about that.
    pub(super) fn press_step_limit(&mut self, key: &Key) -> Option<Vec<Effect>> {
        let StepLimit::Asked(limit) = self.step_limit else {
            return None;
        };
        if key.control {
            return match key.code {
                // It can still be stopped, suspended and drawn anew.
                KeyCode::Character('c' | 'z' | 'l') => None,
                _ => Some(Vec::new()),
            };
        }
        if self.is_typing() && key.code != KeyCode::Escape {
            return match key.code {
                KeyCode::Enter => Some(Vec::new()),
                _ => None,
            };
        }
        if key.alt {
            return Some(Vec::new());
        }
        let more = match key.code {
            KeyCode::Character('y' | 'Y') | KeyCode::Enter => limit,
            KeyCode::Character('a' | 'A') => WITHOUT_LIMIT,
            KeyCode::Character('n' | 'N') | KeyCode::Escape => 0,
            _ => return Some(Vec::new()),
        };
        self.step_limit = match more {
            0 => StepLimit::Refused(limit),
            _ => StepLimit::NotReached,
        };
        Some(vec![Effect::AllowSteps(more)])
    }

    /// Says where the prompt ended, if the user wanted it to end there.
    pub(super) fn end_at_step_limit(&mut self, code: ErrorCode) -> bool {
        let StepLimit::Refused(limit) = self.step_limit else {
            return false;
        };
        if !matches!(code, ErrorCode::MaxSteps | ErrorCode::Budget) {
            return false;
        }
        self.step_limit = StepLimit::NotReached;
        let text = format!(
            "stopped at the limit of {} · say \"go on\" for more",
            steps(limit)
        );
        self.note(text, false);
        true
    }
}

/// `1 step`, `20 steps`.
pub(crate) fn steps(count: u64) -> String {
    match count {
        1 => "1 step".to_owned(),
        count => format!("{count} steps"),
    }
}
