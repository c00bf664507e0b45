//! `/login` with a key: typed or pasted here, and shown nowhere.

mod view;

use super::action::{Action, Handled};
use super::{Effect, Key, KeyCode, Redraw};
use crate::secret::Secret;

pub(super) use view::frame;

#[derive(Debug, Default)]
pub(crate) struct Login {
    /// The key that is asked for; it takes every key and every paste until it is over.
    pub(crate) entry: Option<KeyEntry>,
    /// Credentials have changed, and the chat restarts with them once it is idle.
    is_restart_due: bool,
}

/// A provider's key that is asked for.
#[derive(Debug, Default)]
pub(crate) struct KeyEntry {
    provider: String,
    key: Secret,
    /// Where the key can be pasted in a browser instead.
    page: Option<String>,
    /// The provider is being asked about the key.
    is_trying: bool,
}

/// Returns whether a key may have been typed behind `/login` by mistake. Such a line is not kept in
/// the history.
pub(super) fn may_hold_key(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next() == Some("/login") && words.next().is_some()
}

impl Login {
    /// Asks for a key.
    pub(super) fn ask(&mut self, provider: String, page: Option<String>) {
        self.entry = Some(KeyEntry {
            provider,
            page,
            ..KeyEntry::default()
        });
    }

    /// The key was not accepted: another can be typed.
    pub(super) fn refuse(&mut self) {
        if let Some(entry) = &mut self.entry {
            entry.is_trying = false;
            entry.key.clear();
        }
    }

    pub(super) fn close_page(&mut self) {
        if let Some(entry) = &mut self.entry {
            entry.page = None;
        }
    }

    /// Credentials have changed.
    pub(super) fn finish(&mut self) {
        self.entry = None;
        self.is_restart_due = true;
    }

    /// Restarts the chat with new credentials, if there are any.
    pub(super) fn take_restart(&mut self) -> Option<Effect> {
        std::mem::take(&mut self.is_restart_due).then_some(Effect::Resume { session: None })
    }

    /// Takes a key while a provider's key is asked for.
    pub(super) fn press(&mut self, key: &Key) -> Handled {
        let Some(entry) = &mut self.entry else {
            return Handled::No;
        };
        match (key.control, key.code) {
            (_, KeyCode::Escape) | (true, KeyCode::Character('c')) => {
                return Handled::Yes(self.cancel());
            }
            (true, KeyCode::Character('d')) if entry.key.is_empty() => {
                return Handled::Yes(self.cancel());
            }
            (true, KeyCode::Character('z')) => return Handled::effect(Effect::Suspend),
            (true, KeyCode::Character('l')) => {
                return Handled::Yes(vec![Action::Redraw(Redraw::Screen)]);
            }
            // A second key while the first is tried would be a mistake.
            _ if entry.is_trying => {}
            (_, KeyCode::Enter) | (true, KeyCode::Character('j' | 'm')) => {
                return Handled::Yes(vec![entry.try_key()]);
            }
            (_, KeyCode::Backspace) | (true, KeyCode::Character('h')) => entry.key.pop(),
            (true, KeyCode::Character('u' | 'w')) => entry.key.clear(),
            (false, KeyCode::Character(character)) if !key.alt => {
                return Handled::Yes(vec![entry.write(std::iter::once(character))]);
            }
            _ => {}
        }
        Handled::DONE
    }

    /// Takes a paste while a key is asked for.
    pub(super) fn paste(&mut self, text: &str) -> Handled {
        let Some(entry) = &mut self.entry else {
            return Handled::No;
        };
        if entry.is_trying {
            return Handled::DONE;
        }
        Handled::Yes(vec![match text.trim().lines().count() > 1 {
            true => Action::remark("a key is one line: that was more, and was not taken"),
            false => entry.write(text.trim().chars()),
        }])
    }

    fn cancel(&mut self) -> Vec<Action> {
        let Some(entry) = self.entry.take() else {
            return Vec::new();
        };
        vec![
            Action::HideRemark,
            Action::note(format!("zot login {} was given up", entry.provider)),
            Action::Effect(Effect::EndKeyEntry),
        ]
    }
}

impl KeyEntry {
    fn try_key(&mut self) -> Action {
        if self.key.is_empty() {
            return Action::remark("type or paste the key first; esc gives up");
        }
        self.is_trying = true;
        Action::Effect(Effect::TryKey(std::mem::take(&mut self.key)))
    }

    fn write(&mut self, characters: impl Iterator<Item = char>) -> Action {
        for character in characters {
            if !self.key.push(character) {
                self.key.clear();
                return Action::remark("that is too long for a key, and was not taken");
            }
        }
        Action::HideRemark
    }
}
