//! `/login`: a key that is typed or pasted here without being shown, or a login in a browser.

mod view;

use super::action::{Action, Handled};
use super::{
    Effect, Key, KeyCode, LoginEffect, LoginInput, McpEffect, Redraw, SessionEffect, TerminalEffect,
};
use crate::typed_secret::TypedSecret;

pub(super) use view::frame;

#[derive(Debug, Default)]
pub(crate) struct Login {
    /// Receives every key and paste while it is open.
    pub(super) dialog: Option<Dialog>,
    /// Credentials have changed, and the chat restarts with them once it is idle.
    is_restart_due: bool,
}

#[derive(Debug)]
pub(super) enum Dialog {
    Key(KeyEntry),
    /// The user logs in elsewhere by following `step`.
    Elsewhere {
        provider: String,
        step: String,
    },
    Page(PageEntry),
}

/// A login at an MCP server, in a browser on this machine or another.
#[derive(Debug)]
pub(super) struct PageEntry {
    server: String,
    page: String,
    /// The address that the browser was sent to. It holds a code.
    address: TypedSecret,
}

/// The entry of a provider's key.
#[derive(Debug, Default)]
pub(crate) struct KeyEntry {
    provider: String,
    key: TypedSecret,
    /// Where the key can be pasted in a browser instead.
    page: Option<String>,
    /// The provider is checking the key.
    is_checking: bool,
}

/// Returns whether a key may have been typed after `/login` by mistake. Such a line is not kept in
/// the history.
pub(super) fn may_hold_key(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next() == Some("/login") && words.next().is_some()
}

impl Login {
    pub(crate) fn is_open(&self) -> bool {
        self.dialog.is_some()
    }

    pub(super) fn update(&mut self, input: LoginInput) -> Vec<Action> {
        match input {
            LoginInput::KeyRequested { provider, page } => {
                self.dialog = Some(Dialog::Key(KeyEntry {
                    provider,
                    page,
                    ..KeyEntry::default()
                }));
            }
            LoginInput::StepShown { provider, step } => {
                self.dialog = Some(Dialog::Elsewhere { provider, step });
            }
            LoginInput::PageShown { server, page } => {
                self.dialog = Some(Dialog::Page(PageEntry {
                    server,
                    page,
                    address: TypedSecret::default(),
                }));
            }
            LoginInput::Closed => self.dialog = None,
            LoginInput::KeyRefused(reason) => {
                // Another key can be typed.
                if let Some(Dialog::Key(entry)) = &mut self.dialog {
                    entry.is_checking = false;
                    entry.key.clear();
                }
                return vec![Action::error(reason)];
            }
            LoginInput::PageClosed => {
                if let Some(Dialog::Key(entry)) = &mut self.dialog {
                    entry.page = None;
                }
            }
            LoginInput::Failed(reason) => {
                self.dialog = None;
                return vec![Action::error(reason)];
            }
            LoginInput::LoggedIn => {
                self.dialog = None;
                self.is_restart_due = true;
            }
        }
        Vec::new()
    }

    /// Returns the effect that restarts the chat with new credentials, once.
    pub(super) fn take_restart(&mut self) -> Option<Effect> {
        std::mem::take(&mut self.is_restart_due)
            .then_some(Effect::Session(SessionEffect::Resume { session: None }))
    }

    /// Handles a key while a login is open.
    pub(super) fn press(&mut self, key: &Key) -> Handled {
        let Some(dialog) = &mut self.dialog else {
            return Handled::No;
        };
        match (key.control, key.code) {
            (_, KeyCode::Escape) | (true, KeyCode::Character('c')) => Handled::Yes(self.abandon()),
            (true, KeyCode::Character('z')) => Handled::effect(TerminalEffect::Suspend),
            (true, KeyCode::Character('l')) => Handled::Yes(vec![Action::Redraw(Redraw::Screen)]),
            _ => match dialog {
                Dialog::Key(entry) if *key == Key::control('d') && entry.key.is_empty() => {
                    Handled::Yes(self.abandon())
                }
                Dialog::Key(entry) => Handled::Yes(Vec::from_iter(entry.press(key))),
                Dialog::Page(entry) => Handled::Yes(Vec::from_iter(entry.press(key))),
                Dialog::Elsewhere { .. } => Handled::DONE,
            },
        }
    }

    /// Handles a paste while a login is open.
    pub(super) fn paste(&mut self, text: &str) -> Handled {
        match &mut self.dialog {
            None => Handled::No,
            Some(Dialog::Key(entry)) if !entry.is_checking => Handled::Yes(vec![entry.paste(text)]),
            Some(Dialog::Page(entry)) => {
                entry.address.clear();
                let mut characters = text.trim().chars();
                match characters.all(|character| entry.address.push(character)) {
                    true => Handled::Yes(Vec::from_iter(entry.send())),
                    false => Handled::DONE,
                }
            }
            Some(_) => Handled::DONE,
        }
    }

    fn abandon(&mut self) -> Vec<Action> {
        let provider = match self.dialog.take() {
            Some(Dialog::Key(entry)) => entry.provider,
            Some(Dialog::Elsewhere { provider, .. }) => provider,
            Some(Dialog::Page(entry)) => entry.server,
            None => return Vec::new(),
        };
        vec![
            Action::HideRemark,
            Action::note(format!("login to {provider} cancelled")),
            Action::Effect(LoginEffect::Cancel.into()),
        ]
    }
}

impl PageEntry {
    fn press(&mut self, key: &Key) -> Option<Action> {
        match (key.control, key.code) {
            (_, KeyCode::Enter) => return self.send(),
            (_, KeyCode::Backspace) => self.address.pop(),
            (true, KeyCode::Character('u' | 'w')) => self.address.clear(),
            (true, KeyCode::Character('y')) => {
                return Some(Action::Effect(
                    TerminalEffect::Copy(self.page.clone()).into(),
                ));
            }
            (false, KeyCode::Character(character)) if !key.alt => {
                self.address.push(character);
            }
            _ => {}
        }
        None
    }

    fn send(&mut self) -> Option<Action> {
        if self.address.is_empty() {
            return None;
        }
        let address = std::mem::take(&mut self.address);
        Some(Action::Effect(McpEffect::Redirected(address).into()))
    }
}

impl KeyEntry {
    fn press(&mut self, key: &Key) -> Option<Action> {
        match (key.control, key.code) {
            // A second key while the first is being checked would be a mistake.
            _ if self.is_checking => {}
            (_, KeyCode::Enter) | (true, KeyCode::Character('j' | 'm')) => {
                return Some(self.check_key());
            }
            (_, KeyCode::Backspace) | (true, KeyCode::Character('h')) => self.key.pop(),
            (true, KeyCode::Character('u' | 'w')) => self.key.clear(),
            (false, KeyCode::Character(character)) if !key.alt => {
                return Some(self.write(std::iter::once(character)));
            }
            _ => {}
        }
        None
    }

    fn paste(&mut self, text: &str) -> Action {
        match text.trim().lines().count() > 1 {
            true => Action::remark("a key is one line: the paste was ignored"),
            false => self.write(text.trim().chars()),
        }
    }

    fn check_key(&mut self) -> Action {
        if self.key.is_empty() {
            return Action::remark("type or paste the key first; esc cancels");
        }
        self.is_checking = true;
        Action::Effect(Effect::Login(LoginEffect::CheckKey(std::mem::take(
            &mut self.key,
        ))))
    }

    fn write(&mut self, characters: impl Iterator<Item = char>) -> Action {
        for character in characters {
            if !self.key.push(character) {
                self.key.clear();
                return Action::remark("that is too long for a key and was ignored");
            }
        }
        Action::HideRemark
    }
}
