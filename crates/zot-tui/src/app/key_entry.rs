//! `/login` of a key: typed or pasted here, and shown nowhere.

use super::{App, Effect, Key, KeyCode, Redraw};
use crate::secret::Secret;

/// A key that is asked for. It takes every key and every paste until it is over.
#[derive(Debug, Default)]
pub(crate) struct KeyEntry {
    pub(crate) provider: String,
    key: Secret,
    /// Where the key can be pasted in a browser instead.
    pub(crate) page: Option<String>,
    /// The provider is being asked about the key.
    pub(crate) is_trying: bool,
}

impl KeyEntry {
    /// As many bullets as there are characters.
    pub(crate) fn count(&self) -> usize {
        self.key.count()
    }
}

/// Whether somebody may have typed a key behind `/login`, by mistake. Such a line is not remembered.
pub(super) fn may_hold_key(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next() == Some("/login") && words.next().is_some()
}

impl App {
    /// Begins to ask for a key.
    pub(super) fn ask_key(&mut self, provider: String, page: Option<String>) {
        self.picker = None;
        self.remark = None;
        self.key_entry = Some(KeyEntry {
            provider,
            page,
            ..KeyEntry::default()
        });
    }

    /// The key was not taken: another can be given.
    pub(super) fn refuse_key(&mut self, reason: String) {
        self.note(reason, true);
        if let Some(entry) = &mut self.key_entry {
            entry.is_trying = false;
            entry.key.clear();
        }
    }

    /// Credentials have changed: the chat begins anew with them when nothing is under way.
    pub(super) fn take_login(&mut self) -> Vec<Effect> {
        self.key_entry = None;
        match self.work.is_some() {
            true => {
                self.is_login_due = true;
                Vec::new()
            }
            false => vec![Effect::Resume { session: None }],
        }
    }

    /// Takes a key while a provider's key is asked for. `None` when it is not about that.
    pub(super) fn press_key_entry(&mut self, key: &Key) -> Option<Vec<Effect>> {
        let entry = self.key_entry.as_mut()?;
        let effects = match (key.control, key.code) {
            (_, KeyCode::Escape) | (true, KeyCode::Character('c')) => return Some(self.end_key()),
            (true, KeyCode::Character('d')) if entry.key.is_empty() => return Some(self.end_key()),
            (true, KeyCode::Character('z')) => vec![Effect::Suspend],
            (true, KeyCode::Character('l')) => {
                self.ask_redraw(Redraw::Screen);
                Vec::new()
            }
            // A second key while the first is tried would be somebody's mistake.
            _ if entry.is_trying => Vec::new(),
            (_, KeyCode::Enter) | (true, KeyCode::Character('j' | 'm')) => {
                match entry.key.is_empty() {
                    true => {
                        self.say("type or paste the key first; esc gives up");
                        Vec::new()
                    }
                    false => {
                        entry.is_trying = true;
                        vec![Effect::TryKey(std::mem::take(&mut entry.key))]
                    }
                }
            }
            (_, KeyCode::Backspace) | (true, KeyCode::Character('h')) => {
                entry.key.pop();
                Vec::new()
            }
            (true, KeyCode::Character('u' | 'w')) => {
                entry.key.clear();
                Vec::new()
            }
            (false, KeyCode::Character(character)) if !key.alt => {
                self.write_key(std::iter::once(character));
                Vec::new()
            }
            _ => Vec::new(),
        };
        Some(effects)
    }

    /// Takes a paste while a key is asked for.
    pub(super) fn paste_key(&mut self, text: &str) -> bool {
        let Some(entry) = &self.key_entry else {
            return false;
        };
        if entry.is_trying {
            return true;
        }
        match text.trim().lines().count() > 1 {
            true => self.say("a key is one line: that was more, and was not taken"),
            false => self.write_key(text.trim().chars()),
        }
        true
    }

    fn write_key(&mut self, characters: impl Iterator<Item = char>) {
        let Some(entry) = &mut self.key_entry else {
            return;
        };
        for character in characters {
            if !entry.key.push(character) {
                entry.key.clear();
                self.say("that is too long for a key, and was not taken");
                return;
            }
        }
        self.forget_remark();
    }

    fn end_key(&mut self) -> Vec<Effect> {
        let Some(entry) = self.key_entry.take() else {
            return Vec::new();
        };
        self.forget_remark();
        let text = format!("zot login {} was given up", entry.provider);
        self.note(text, false);
        vec![Effect::EndKeyEntry]
    }
}
