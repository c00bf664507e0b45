//! What keys do.

use super::{App, Effect, LEAVE_WINDOW_MS, Picker, PickerKind, Redraw, key_entry};
use crate::editor::Edit;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyCode {
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
    Insert,
    /// f1 and so on.
    Function(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub code: KeyCode,
    pub control: bool,
    pub alt: bool,
    pub shift: bool,
}

impl Key {
    pub(crate) const fn plain(code: KeyCode) -> Self {
        Self {
            code,
            control: false,
            alt: false,
            shift: false,
        }
    }

    pub(crate) const fn control(character: char) -> Self {
        Self {
            control: true,
            ..Self::plain(KeyCode::Character(character))
        }
    }

    #[cfg(test)]
    pub(crate) const fn alt(character: char) -> Self {
        Self {
            alt: true,
            ..Self::plain(KeyCode::Character(character))
        }
    }

    /// What extensions call it, and what it writes.
    pub(super) fn name(&self) -> (String, String) {
        let name = match self.code {
            KeyCode::Character(character) if !self.control && !self.alt => {
                return ("rune".to_owned(), character.to_string());
            }
            KeyCode::Character(' ') => "space".to_owned(),
            KeyCode::Character(character) => character.to_string(),
            KeyCode::Enter => "enter".to_owned(),
            KeyCode::Tab => "tab".to_owned(),
            KeyCode::Backspace => "backspace".to_owned(),
            KeyCode::Delete => "delete".to_owned(),
            KeyCode::Insert => "insert".to_owned(),
            KeyCode::Escape => "esc".to_owned(),
            KeyCode::Left => "left".to_owned(),
            KeyCode::Right => "right".to_owned(),
            KeyCode::Up => "up".to_owned(),
            KeyCode::Down => "down".to_owned(),
            KeyCode::Home => "home".to_owned(),
            KeyCode::End => "end".to_owned(),
            KeyCode::PageUp => "pageup".to_owned(),
            KeyCode::PageDown => "pagedown".to_owned(),
            KeyCode::Function(number) => format!("f{number}"),
        };
        // Which of its two letters a key writes is told by the letter.
        let shift = match self.code {
            KeyCode::Character(' ') => false,
            KeyCode::Character(_) => self.shift && self.control,
            _ => self.shift,
        };
        let modifiers = modifiers(self.control, self.alt, shift);
        (format!("{modifiers}{name}"), String::new())
    }
}

fn modifiers(control: bool, alt: bool, shift: bool) -> String {
    let named = [(control, "ctrl+"), (alt, "alt+"), (shift, "shift+")];
    let held = named.iter().filter(|(is_held, _)| *is_held);
    held.map(|(_, name)| *name).collect()
}

impl App {
    pub(super) fn press(&mut self, key: Key) -> Vec<Effect> {
        if key != Key::control('c') {
            self.stay();
        }
        if let Some(effects) = self.press_key_entry(&key) {
            return effects;
        }
        if let Some(effects) = self.press_step_limit(&key) {
            return effects;
        }
        if let Some(effects) = self.press_approval(&key) {
            return effects;
        }
        self.typed_ms = self.now_ms;
        if let Some(effects) = self.press_pager(&key) {
            return effects;
        }
        if let Some(effects) = self.press_panel(&key) {
            return effects;
        }
        if let Some(effects) = self.press_picker(&key) {
            return effects;
        }
        match (key.control, key.alt, key.code) {
            (true, _, KeyCode::Character('z' | 'Z')) if key.shift => self.edit(Edit::Redo),
            (true, _, KeyCode::Character(letter)) => self.press_control(letter),
            (_, true, KeyCode::Up) => {
                self.take_back();
                Vec::new()
            }
            (_, true, code) => {
                let edit = match code {
                    KeyCode::Enter => Edit::Newline,
                    KeyCode::Character('b') | KeyCode::Left => Edit::WordLeft,
                    KeyCode::Character('f') | KeyCode::Right => Edit::WordRight,
                    KeyCode::Character('d') => Edit::DeleteWordRight,
                    KeyCode::Character('y') => Edit::YankOlder,
                    // Some terminals tell the key instead of what is on it.
                    KeyCode::Character('z' | '_' | '-') => Edit::Redo,
                    KeyCode::Character(',') if key.shift => Edit::TextStart,
                    KeyCode::Character('.') if key.shift => Edit::TextEnd,
                    KeyCode::Character('<') | KeyCode::Home => Edit::TextStart,
                    KeyCode::Character('>') | KeyCode::End => Edit::TextEnd,
                    KeyCode::Backspace => Edit::DeleteWordLeft,
                    KeyCode::Delete => Edit::DeleteWordRight,
                    _ => return Vec::new(),
                };
                self.edit(edit)
            }
            (true, _, KeyCode::Left) => self.edit(Edit::WordLeft),
            (true, _, KeyCode::Right) => self.edit(Edit::WordRight),
            (true, _, KeyCode::Home) => self.edit(Edit::TextStart),
            (true, _, KeyCode::End) => self.edit(Edit::TextEnd),
            (true, _, KeyCode::Backspace) => self.edit(Edit::DeleteWordLeft),
            (true, _, KeyCode::Delete) => self.edit(Edit::DeleteWordRight),
            (_, _, KeyCode::Enter) if key.shift => self.edit(Edit::Newline),
            (_, _, KeyCode::Enter) => self.press_enter(),
            (_, _, KeyCode::Escape) => self.press_escape(),
            (_, _, KeyCode::Up) => self.press_up(),
            (_, _, KeyCode::Down) => self.press_down(),
            (_, _, KeyCode::Character(character)) => self.edit(Edit::Insert(character.to_string())),
            (_, _, code) => match code {
                KeyCode::Backspace => self.edit(Edit::Backspace),
                KeyCode::Delete => self.edit(Edit::Delete),
                KeyCode::Left => self.edit(Edit::Left),
                KeyCode::Right => self.edit(Edit::Right),
                KeyCode::Home => self.edit(Edit::LineStart),
                KeyCode::End => self.edit(Edit::LineEnd),
                KeyCode::PageUp => self.page_back(),
                _ => Vec::new(),
            },
        }
    }

    /// Whoever does something else between two ctrl+c did not mean to leave.
    pub(super) fn stay(&mut self) {
        if self.leave_until_ms > 0 {
            self.leave_until_ms = 0;
            self.remark = None;
        }
    }

    fn press_control(&mut self, letter: char) -> Vec<Effect> {
        let edit = match letter.to_ascii_lowercase() {
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
            'x' => return self.drop_output(),
            'j' => Edit::Newline,
            'a' => Edit::LineStart,
            'e' => Edit::LineEnd,
            'b' => Edit::Left,
            'f' => Edit::Right,
            'd' => Edit::Delete,
            'h' => Edit::Backspace,
            'k' => Edit::KillToLineEnd,
            'u' => Edit::KillToLineStart,
            'w' => Edit::DeleteUnbrokenLeft,
            't' => Edit::Transpose,
            'y' => Edit::Yank,
            '_' | '-' | '7' | '/' => Edit::Undo,
            'r' => return self.search_history(),
            'p' => return self.press_up(),
            'n' => return self.press_down(),
            _ => return Vec::new(),
        };
        self.edit(edit)
    }

    pub(super) fn edit(&mut self, edit: Edit) -> Vec<Effect> {
        self.editor.apply(edit);
        self.complete()
    }

    pub(super) fn press_enter(&mut self) -> Vec<Effect> {
        // What was said of the last one does not belong to this one.
        self.remark = None;
        // A backslash at the end continues the line, in terminals that know no shift+enter.
        if self.editor.before_cursor().ends_with('\\') {
            self.editor.apply(Edit::Backspace);
            return self.edit(Edit::Newline);
        }
        let command = match self.editor.begins_pasted() {
            true => None,
            false => self.editor.text().strip_prefix('!'),
        };
        if command.is_some_and(|command| command.trim().is_empty()) {
            self.say("! takes a command: !ls");
            return Vec::new();
        }
        let is_shell = command.is_some();
        if is_shell && self.shell.running.is_some() {
            self.say("a command is running: esc stops it");
            return Vec::new();
        }
        let draft = self.editor.take();
        self.picker = None;
        let mut effects = match key_entry::may_hold_key(&draft.content()) {
            true => Vec::new(),
            false => self.remember(&draft),
        };
        if draft.begins_pasted() {
            effects.extend(self.submit_draft(draft));
            return effects;
        }
        let text = draft.content();
        if is_shell {
            effects.extend(self.run_shell(text[1..].trim()));
        } else if let Some(done) = self.run_command(&text) {
            effects.extend(done);
        } else if let Some(remark) = self.unknown_command(&text) {
            self.say(remark);
            self.editor.set(draft);
        } else {
            effects.extend(self.submit_draft(draft));
        }
        effects
    }

    fn press_escape(&mut self) -> Vec<Effect> {
        if self.aside.is_some() {
            return self.cancel_aside();
        }
        if let Some(effects) = self.cancel_shell() {
            return effects;
        }
        match &mut self.work {
            Some(work) if !work.cancelling => {
                work.cancelling = true;
                vec![Effect::Cancel]
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn press_interrupt(&mut self) -> Vec<Effect> {
        if self.now_ms < self.leave_until_ms {
            return vec![Effect::Quit];
        }
        self.leave_until_ms = self.now_ms + LEAVE_WINDOW_MS;
        if !self.editor.is_empty() {
            self.editor.set("");
            self.history.leave();
            self.picker = None;
        }
        self.say_for(LEAVE_WINDOW_MS, "ctrl+c again to leave");
        let mut effects = self.cancel_shell().unwrap_or_default();
        effects.extend(self.press_escape());
        effects
    }

    /// Opens, narrows or closes the list that goes with what is being written.
    pub(super) fn complete(&mut self) -> Vec<Effect> {
        let before = self.editor.before_cursor();
        let command = match self.editor.begins_pasted() {
            true => None,
            false => command_query(before),
        };
        if let Some(query) = command {
            let query = query.to_owned();
            if !self.has_picker(PickerKind::Commands) {
                let choices = self.command_choices();
                self.picker = Some(Picker::new(PickerKind::Commands, choices));
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

    pub(crate) fn has_picker(&self, kind: PickerKind) -> bool {
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
