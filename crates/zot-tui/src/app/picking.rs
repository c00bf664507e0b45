//! What keys do while there is a list, and what comes of a choice.

use unicode_segmentation::UnicodeSegmentation as _;

use super::{App, Choices, Effect, Key, KeyCode, Picker, PickerKind};
use crate::editor::Edit;
use crate::style::Theme;
use crate::view;

/// What of a paste becomes part of a query, in characters.
const MAX_PASTED: usize = 200;

impl App {
    /// Fills the list that is shown, or shows it if it is one of those that take the keys.
    pub(super) fn offer(&mut self, kind: PickerKind, choices: Choices) -> Vec<Effect> {
        if let Some(picker) = &mut self.picker
            && picker.kind == kind
        {
            picker.set_choices(choices);
        } else if kind.takes_keys() {
            let mut picker = Picker::new(kind, choices);
            // What is in use, where it has a name.
            match kind {
                PickerKind::Models => picker.select(&self.info.model),
                PickerKind::Themes if self.theme == Theme::LIGHT => picker.select("light"),
                _ => {}
            }
            self.picker = Some(picker);
        }
        Vec::new()
    }

    pub(super) fn press_picker(&mut self, key: &Key) -> Option<Vec<Effect>> {
        let kind = self.picker.as_ref()?.kind;
        let page = view::page(self, kind) as isize;
        let picker = self.picker.as_mut()?;
        match (key.control, key.code) {
            (_, KeyCode::Up) | (true, KeyCode::Character('p')) => picker.move_by(-1),
            (_, KeyCode::Down) | (true, KeyCode::Character('n')) => picker.move_by(1),
            (_, KeyCode::PageUp) => picker.leap(-page),
            (_, KeyCode::PageDown) => picker.leap(page),
            (_, KeyCode::Escape) => self.picker = None,
            (_, KeyCode::Tab) => return Some(self.finish_typing()),
            // A new line.
            (_, KeyCode::Enter) if (key.alt || key.shift) && !kind.takes_keys() => return None,
            (_, KeyCode::Enter) if !picker.is_empty() => return Some(self.choose(true)),
            // A server of one's own may have models that are not listed.
            (_, KeyCode::Enter)
                if kind == PickerKind::Models && !picker.query.trim().is_empty() =>
            {
                let model = picker.query.trim().to_owned();
                self.picker = None;
                return Some(vec![Effect::SetModel(model)]);
            }
            _ if !kind.takes_keys() => return None,
            // Suspending and drawing anew go on working.
            (true, KeyCode::Character('z' | 'l')) => return None,
            (_, KeyCode::Home) => picker.leap(isize::MIN),
            (_, KeyCode::End) => picker.leap(isize::MAX),
            (_, KeyCode::Backspace) | (true, KeyCode::Character('h')) => {
                let end = picker.query.grapheme_indices(true).next_back();
                let query = picker.query[..end.map_or(0, |(at, _)| at)].to_owned();
                picker.narrow(query);
            }
            (true, KeyCode::Character('u')) => picker.narrow(String::new()),
            (true, KeyCode::Character('w')) => {
                let kept = picker.query.trim_end();
                let end = kept.rfind(char::is_whitespace).map_or(0, |at| at + 1);
                let query = kept.get(..end).unwrap_or_default().to_owned();
                picker.narrow(query);
            }
            // On to older ones, and back.
            (true, KeyCode::Character('r')) => picker.move_by(1),
            (true, KeyCode::Character('s')) => picker.move_by(-1),
            (true, KeyCode::Character('c')) => self.picker = None,
            (false, KeyCode::Character(character)) if !key.alt => {
                let query = format!("{}{character}", picker.query);
                picker.narrow(query);
            }
            _ => {}
        }
        Some(Vec::new())
    }

    /// Whether a list takes what is typed.
    pub(super) fn has_keys(&self) -> bool {
        let picker = self.picker.as_ref();
        picker.is_some_and(|picker| picker.kind.takes_keys()) && self.approval.is_none()
    }

    /// Adds what was pasted to the query.
    pub(super) fn filter_by(&mut self, pasted: &str) -> Vec<Effect> {
        if let Some(picker) = &mut self.picker {
            let line = pasted.trim().lines().next().unwrap_or_default();
            let start: String = line.chars().take(MAX_PASTED).collect();
            let query = format!("{}{start}", picker.query);
            picker.narrow(query);
        }
        Vec::new()
    }

    /// Writes out the name of what is selected, where it has one.
    fn finish_typing(&mut self) -> Vec<Effect> {
        let Some(picker) = &mut self.picker else {
            return Vec::new();
        };
        let Some(choice) = picker.chosen().filter(|_| picker.kind.completes()) else {
            return Vec::new();
        };
        let name = choice.name.to_owned();
        match picker.kind {
            // What is in the directory comes next.
            PickerKind::Files if name.ends_with('/') && !name.contains(char::is_whitespace) => {
                let typed = picker.query.len() + 1;
                self.editor.replace_before(typed, &format!("@{name}"));
                self.complete()
            }
            kind if kind.takes_keys() => {
                picker.narrow(name);
                Vec::new()
            }
            _ => self.choose(false),
        }
    }

    /// Takes what is selected. A command without arguments is run at once with enter.
    fn choose(&mut self, with_enter: bool) -> Vec<Effect> {
        let Some(picker) = self.picker.take() else {
            return Vec::new();
        };
        let Some(choice) = picker.chosen() else {
            return Vec::new();
        };
        let name = choice.name;
        match picker.kind {
            PickerKind::Models => vec![Effect::SetModel(name.to_owned())],
            PickerKind::Sessions => vec![Effect::Resume {
                session: picker.chosen_session(),
            }],
            PickerKind::ForkPoints => {
                let index = picker.chosen_index();
                let forks = index.map(|index| Effect::Fork {
                    before: index.checked_sub(1),
                });
                forks.into_iter().collect()
            }
            PickerKind::Settings => {
                let name = name.to_owned();
                self.change_setting(&name)
            }
            PickerKind::Prompts => {
                let index = picker.chosen_index();
                index.map(Effect::Reprint).into_iter().collect()
            }
            PickerKind::History => {
                let index = picker.chosen_index();
                let found = index.and_then(|at| self.history.newest_first().get(at).copied());
                if let Some(draft) = found.cloned() {
                    self.editor.set(draft);
                }
                Vec::new()
            }
            PickerKind::Skills => {
                let text = format!("use the skill {name}: ");
                self.edit(Edit::Insert(text))
            }
            PickerKind::Themes => vec![Effect::LoadTheme(name.to_owned())],
            PickerKind::LogIn => self.log(&["login", name]),
            PickerKind::LogOut => self.log(&["logout", name]),
            PickerKind::Files => {
                let quoted = match name.contains(' ') {
                    true => format!("@\"{name}\" "),
                    false => format!("@{name} "),
                };
                self.editor.replace_before(picker.query.len() + 1, &quoted);
                Vec::new()
            }
            PickerKind::Commands => {
                self.editor.set(format!("{name} "));
                match with_enter {
                    true => self.press_enter(),
                    false => Vec::new(),
                }
            }
        }
    }
}
