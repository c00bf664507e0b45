//! What keys do.

use super::{App, Effect, LEAVE_WINDOW_MS, Picker, PickerKind, Prompt, Redraw};
use crate::editor::Edit;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyCode {
    Character(char),
    Enter,
    Tab,
    Backspace,
    Delete,
    Escape,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    PageUp,
    PageDown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub code: KeyCode,
    pub control: bool,
    pub alt: bool,
    pub shift: bool,
}

impl Key {
    pub const fn plain(code: KeyCode) -> Self {
        Self {
            code,
            control: false,
            alt: false,
            shift: false,
        }
    }

    pub const fn control(character: char) -> Self {
        Self {
            control: true,
            ..Self::plain(KeyCode::Character(character))
        }
    }

    pub const fn alt(character: char) -> Self {
        Self {
            alt: true,
            ..Self::plain(KeyCode::Character(character))
        }
    }

    /// What extensions call it, and what it writes.
    fn name(&self) -> (String, String) {
        let name = match self.code {
            KeyCode::Character(' ') => "space",
            KeyCode::Character(character) => {
                let text = match self.control || self.alt {
                    true => String::new(),
                    false => character.to_string(),
                };
                let prefix = match (self.control, self.alt) {
                    (true, _) => "ctrl+",
                    (_, true) => "alt+",
                    _ => "",
                };
                return (format!("{prefix}{character}"), text);
            }
            KeyCode::Enter => "enter",
            KeyCode::Tab => "tab",
            KeyCode::Backspace => "backspace",
            KeyCode::Delete => "delete",
            KeyCode::Escape => "esc",
            KeyCode::Left => "left",
            KeyCode::Right => "right",
            KeyCode::Up => "up",
            KeyCode::Down => "down",
            KeyCode::Home => "home",
            KeyCode::End => "end",
            KeyCode::PageUp => "pgup",
            KeyCode::PageDown => "pgdown",
        };
        let text = if name == "space" { " " } else { "" };
        (name.to_owned(), text.to_owned())
    }
}

impl App {
    pub(super) fn press(&mut self, key: Key) -> Vec<Effect> {
        if let Some(effects) = self.press_approval(&key) {
            return effects;
        }
        if let Some(effects) = self.press_panel(&key) {
            return effects;
        }
        if let Some(effects) = self.press_picker(&key) {
            return effects;
        }
        match (key.control, key.alt, key.code) {
            (true, _, KeyCode::Character(letter)) => self.press_control(letter),
            (_, true, code) => {
                let edit = match code {
                    KeyCode::Enter => Edit::Newline,
                    KeyCode::Character('b') | KeyCode::Left => Edit::WordLeft,
                    KeyCode::Character('f') | KeyCode::Right => Edit::WordRight,
                    KeyCode::Character('d') => Edit::DeleteWordRight,
                    KeyCode::Character('y') => Edit::YankOlder,
                    KeyCode::Backspace => Edit::DeleteWordLeft,
                    _ => return Vec::new(),
                };
                self.edit(edit)
            }
            (true, _, KeyCode::Left) => self.edit(Edit::WordLeft),
            (true, _, KeyCode::Right) => self.edit(Edit::WordRight),
            (_, _, KeyCode::Enter) if key.shift => self.edit(Edit::Newline),
            (_, _, KeyCode::Enter) => self.press_enter(),
            (_, _, KeyCode::Escape) => self.press_escape(),
            (_, _, KeyCode::Up) if self.editor.is_at_top() => self.recall(true),
            (_, _, KeyCode::Down) if self.editor.is_at_bottom() => self.recall(false),
            (_, _, KeyCode::Character(character)) => self.edit(Edit::Insert(character.to_string())),
            (_, _, code) => match code {
                KeyCode::Backspace => self.edit(Edit::Backspace),
                KeyCode::Delete => self.edit(Edit::Delete),
                KeyCode::Left => self.edit(Edit::Left),
                KeyCode::Right => self.edit(Edit::Right),
                KeyCode::Up => self.edit(Edit::Up),
                KeyCode::Down => self.edit(Edit::Down),
                KeyCode::Home => self.edit(Edit::LineStart),
                KeyCode::End => self.edit(Edit::LineEnd),
                _ => Vec::new(),
            },
        }
    }

    fn press_control(&mut self, letter: char) -> Vec<Effect> {
        let edit = match letter {
            'c' => return self.press_interrupt(),
            'd' if self.editor.is_empty() => return vec![Effect::Quit],
            'z' => return vec![Effect::Suspend],
            'l' => {
                self.ask_redraw(Redraw::Screen);
                return Vec::new();
            }
            'o' => {
                self.toggle_folding();
                return Vec::new();
            }
            'g' => return vec![Effect::OpenEditor(self.editor.content())],
            's' => return self.steer(),
            'j' => Edit::Newline,
            'a' => Edit::LineStart,
            'e' => Edit::LineEnd,
            'b' => Edit::Left,
            'f' => Edit::Right,
            'd' => Edit::Delete,
            'h' => Edit::Backspace,
            'k' => Edit::KillToLineEnd,
            'u' => Edit::KillToLineStart,
            'w' => Edit::DeleteWordLeft,
            'y' => Edit::Yank,
            '_' | '-' | '7' | '/' => Edit::Undo,
            'r' => Edit::Redo,
            'p' => return self.recall(true),
            'n' => return self.recall(false),
            _ => return Vec::new(),
        };
        self.edit(edit)
    }

    pub(super) fn edit(&mut self, edit: Edit) -> Vec<Effect> {
        self.history.leave();
        self.editor.apply(edit);
        self.complete()
    }

    fn recall(&mut self, older: bool) -> Vec<Effect> {
        let found = match older {
            true => self.history.older(&self.editor.content()),
            false => self.history.newer(),
        };
        if let Some(text) = found {
            self.editor.set(&text);
        }
        Vec::new()
    }

    pub(super) fn press_enter(&mut self) -> Vec<Effect> {
        // A backslash at the end continues the line, in terminals that know no shift+enter.
        if self.editor.before_cursor().ends_with('\\') {
            self.editor.apply(Edit::Backspace);
            return self.edit(Edit::Newline);
        }
        let text = self.editor.take();
        self.picker = None;
        let mut effects = Vec::new();
        if self.history.push(&text) {
            effects.push(Effect::Remember(text.clone()));
        }
        if let Some(command) = text.strip_prefix('!')
            && !command.trim().is_empty()
        {
            effects.push(Effect::Shell(command.trim().to_owned()));
        } else if let Some(done) = self.run_command(&text) {
            effects.extend(done);
        } else {
            effects.extend(self.submit(Prompt::typed(text)));
        }
        effects
    }

    fn press_escape(&mut self) -> Vec<Effect> {
        if self.aside.is_some() {
            return self.cancel_aside();
        }
        match &mut self.work {
            Some(work) if !work.cancelling => {
                work.cancelling = true;
                vec![Effect::Cancel]
            }
            _ => Vec::new(),
        }
    }

    fn press_interrupt(&mut self) -> Vec<Effect> {
        if self.now_ms < self.leave_until_ms {
            return vec![Effect::Quit];
        }
        self.leave_until_ms = self.now_ms + LEAVE_WINDOW_MS;
        if !self.editor.is_empty() {
            self.editor.set("");
            self.picker = None;
        }
        self.say("ctrl+c again to leave");
        self.press_escape()
    }

    /// Gives the running prompt one more word, now.
    fn steer(&mut self) -> Vec<Effect> {
        if self.editor.content().trim().is_empty() {
            return Vec::new();
        }
        let text = self.editor.take();
        match self.work {
            Some(_) => vec![Effect::Steer(text)],
            None => self.submit(Prompt::typed(text)),
        }
    }

    fn press_panel(&mut self, key: &Key) -> Option<Vec<Effect>> {
        let panel = self.panel.as_ref()?;
        let (extension, id) = (panel.extension.clone(), panel.id.clone());
        if *key == Key::control('c') {
            self.panel = None;
            return Some(vec![Effect::PanelClose {
                extension,
                panel: id,
            }]);
        }
        let (name, text) = key.name();
        Some(vec![Effect::PanelKey {
            extension,
            panel: id,
            key: name,
            text,
        }])
    }

    /// Opens, narrows or closes the list that goes with what is being written.
    pub(super) fn complete(&mut self) -> Vec<Effect> {
        let before = self.editor.before_cursor();
        if let Some(query) = command_query(before) {
            let query = query.to_owned();
            if !self.has_picker(PickerKind::Commands) {
                let choices = self.command_choices();
                self.picker = Some(Picker::new(PickerKind::Commands, choices.into()));
            }
            self.narrow(query);
        } else if let Some(query) = file_query(before) {
            let query = query.to_owned();
            let is_new = !self.has_picker(PickerKind::Files);
            if is_new {
                // Those of the last time until the new ones are known.
                self.picker = Some(Picker::new(PickerKind::Files, self.files.clone()));
            }
            self.narrow(query);
            if is_new {
                return vec![Effect::ListFiles];
            }
        } else if self
            .picker
            .as_ref()
            .is_some_and(|picker| !picker.kind.takes_keys())
        {
            self.picker = None;
        }
        Vec::new()
    }

    pub(super) fn has_picker(&self, kind: PickerKind) -> bool {
        self.picker
            .as_ref()
            .is_some_and(|picker| picker.kind == kind)
    }

    fn narrow(&mut self, query: String) {
        if let Some(picker) = &mut self.picker
            && picker.query != query
        {
            picker.narrow(query);
        }
    }
}

/// A command that is being written: a slash at the beginning and no blank yet.
fn command_query(before: &str) -> Option<&str> {
    (before.starts_with('/') && !before.contains(char::is_whitespace)).then_some(before)
}

/// A file that is being written: an `@` that begins a word.
fn file_query(before: &str) -> Option<&str> {
    let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    // The blank may be wider than a byte.
    let word = before
        .get(start..)
        .or_else(|| before.split_whitespace().last())?;
    // What is elsewhere is not in the list, where something else might fit.
    let elsewhere = ["\"", "/", "~", "./", "../"];
    word.strip_prefix('@')
        .filter(|query| !elsewhere.iter().any(|start| query.starts_with(start)))
}
