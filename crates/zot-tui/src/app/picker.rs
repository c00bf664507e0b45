//! Lists to choose from: what opens and narrows them, and what the user chooses.

mod choices;
mod list;
mod preview;
mod view;

use unicode_segmentation::UnicodeSegmentation as _;

use super::{Context, Effect, Key, KeyCode, Query};
use crate::style::Theme;

pub(crate) use choices::{Choice, Choices};
pub(crate) use list::{ChoiceList, PickerKind};
pub(crate) use preview::{Preview, PreviewBody, Subject};
pub(super) use view::lines;

/// How many characters of a paste are added to a query.
const MAX_PASTED_CHARACTERS: usize = 200;

#[derive(Default)]
pub(crate) struct Picker {
    list: Option<ChoiceList>,
    /// The files listed last time, shown until the new list arrives.
    files: Choices,
    /// The resources of MCP servers: `server:uri`, title.
    resources: Choices,
    /// Both, as they are offered.
    mentionable: Choices,
}

/// What is being typed in the editor, as far as a list can complete it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Completion {
    Nothing,
    /// A leading slash and no space yet.
    Command(String),
    /// The rest of a word that begins with `@`.
    File(String),
}

/// What a key did.
#[derive(Debug)]
pub(crate) enum Picked {
    /// The key is for the next component.
    No,
    /// The list has changed or closed.
    Yes,
    Chosen(Chosen),
    /// The name of a directory replaces the query in the editor; its contents come next.
    Entered(Chosen),
}

/// A choice, after its list has closed.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) kind: PickerKind,
    pub(crate) name: String,
    /// Its index among all choices.
    pub(crate) index: usize,
    pub(crate) query: String,
    pub(crate) key: ChoiceKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChoiceKey {
    Enter,
    Tab,
}

impl Picker {
    pub(crate) fn list(&self) -> Option<&ChoiceList> {
        self.list.as_ref()
    }

    pub(crate) fn is_open(&self, kind: PickerKind) -> bool {
        self.list.as_ref().is_some_and(|list| list.kind == kind)
    }

    pub(crate) fn take_list(&mut self) -> Option<ChoiceList> {
        self.list.take()
    }

    pub(super) fn close(&mut self) {
        self.list = None;
    }

    /// Returns whether typed characters go to the list.
    pub(super) fn takes_keys(&self) -> bool {
        self.list
            .as_ref()
            .is_some_and(|list| list.kind.takes_keys())
    }

    /// Fills the open list, or opens one that receives the keys.
    pub(super) fn offer(&mut self, context: &Context, kind: PickerKind, choices: Choices) {
        if let Some(list) = &mut self.list
            && list.kind == kind
        {
            list.set_choices(choices);
        } else if kind.takes_keys() {
            let mut list = ChoiceList::new(kind, choices);
            // Selects the one in use, if it has a name.
            match kind {
                PickerKind::Models => list.select(&context.info.model),
                PickerKind::Themes if context.theme == Theme::LIGHT => list.select("light"),
                _ => {}
            }
            self.list = Some(list);
        }
    }

    /// Offers the files of the project. A partial list that arrives after a longer one is ignored.
    pub(super) fn offer_files(&mut self, context: &Context, files: Choices, is_complete: bool) {
        if is_complete || files.len() >= self.files.len() {
            self.files = files;
            self.mentionable = self.files.after(&self.resources);
            self.offer(context, PickerKind::Files, self.mentionable.clone());
        }
    }

    /// Sets the resources that are offered with the files.
    pub(super) fn set_resources(&mut self, resources: Choices) {
        if resources == self.resources {
            return;
        }
        self.resources = resources;
        self.mentionable = self.files.after(&self.resources);
        let offered = self.mentionable.clone();
        if let Some(list) = &mut self.list
            && list.kind == PickerKind::Files
        {
            list.set_choices(offered);
        }
    }

    /// Forgets the preview, because what it shows has changed.
    pub(super) fn forget_preview(&mut self) {
        if let Some(list) = &mut self.list {
            list.forget_preview();
        }
    }

    /// Selects a choice by its name.
    pub(super) fn select(&mut self, name: &str) {
        if let Some(list) = &mut self.list {
            list.select(name);
        }
    }

    /// Opens, narrows or closes the list that completes what is being typed.
    pub(super) fn complete(
        &mut self,
        completion: Completion,
        commands: impl FnOnce() -> Choices,
    ) -> Option<Effect> {
        match completion {
            Completion::Command(query) => {
                if !self.is_open(PickerKind::Commands) {
                    self.list = Some(ChoiceList::new(PickerKind::Commands, commands()));
                }
                self.narrow(query);
                None
            }
            Completion::File(query) => {
                let is_new = !self.is_open(PickerKind::Files);
                if is_new {
                    self.list = Some(ChoiceList::new(PickerKind::Files, self.mentionable.clone()));
                }
                self.narrow(query);
                is_new.then_some(Effect::Query(Query::Files))
            }
            Completion::Nothing => {
                self.list.take_if(|list| !list.kind.takes_keys());
                None
            }
        }
    }

    fn narrow(&mut self, query: String) {
        if let Some(list) = &mut self.list
            && list.query != query
        {
            list.narrow(query);
        }
    }

    /// Adds a paste to the query.
    pub(super) fn paste(&mut self, text: &str) {
        if let Some(list) = &mut self.list {
            let line = text.trim().lines().next().unwrap_or_default();
            let start: String = line.chars().take(MAX_PASTED_CHARACTERS).collect();
            let query = format!("{}{start}", list.query);
            list.narrow(query);
        }
    }

    /// Handles a key while a list is open.
    pub(super) fn press(&mut self, context: &Context, key: &Key, editor_rows: usize) -> Picked {
        let Some(list) = &mut self.list else {
            return Picked::No;
        };
        let kind = list.kind;
        let page = view::page(context, editor_rows, kind) as isize;
        match (key.control, key.code) {
            (_, KeyCode::Up) | (true, KeyCode::Character('p')) => list.move_by(-1),
            (_, KeyCode::Down) | (true, KeyCode::Character('n')) => list.move_by(1),
            (_, KeyCode::PageUp) => list.move_within(-page),
            (_, KeyCode::PageDown) => list.move_within(page),
            (_, KeyCode::Escape) => self.list = None,
            (_, KeyCode::Tab) => return self.press_tab(),
            // A line break.
            (_, KeyCode::Enter) if (key.alt || key.shift) && !kind.takes_keys() => {
                return Picked::No;
            }
            (_, KeyCode::Enter) if !list.is_empty() => return self.choose(ChoiceKey::Enter),
            // A local server may have models that are not listed.
            (_, KeyCode::Enter) if kind == PickerKind::Models && !list.query.trim().is_empty() => {
                let name = list.query.trim().to_owned();
                self.list = None;
                return Picked::Chosen(Chosen {
                    kind,
                    name,
                    index: 0,
                    query: String::new(),
                    key: ChoiceKey::Enter,
                });
            }
            _ if !kind.takes_keys() => return Picked::No,
            _ => return self.press_query(key),
        }
        Picked::Yes
    }

    /// Handles a key for a list that receives all of them.
    fn press_query(&mut self, key: &Key) -> Picked {
        let Some(list) = &mut self.list else {
            return Picked::No;
        };
        match (key.control, key.code) {
            // Suspending and redrawing still work.
            (true, KeyCode::Character('z' | 'l')) => return Picked::No,
            (_, KeyCode::Home) => list.move_within(isize::MIN),
            (_, KeyCode::End) => list.move_within(isize::MAX),
            (_, KeyCode::Backspace) | (true, KeyCode::Character('h')) => {
                let end = list.query.grapheme_indices(true).next_back();
                let query = list.query[..end.map_or(0, |(at, _)| at)].to_owned();
                list.narrow(query);
            }
            (true, KeyCode::Character('u')) => list.narrow(String::new()),
            (true, KeyCode::Character('w')) => {
                let kept = list.query.trim_end();
                let end = kept.rfind(char::is_whitespace).map_or(0, |at| at + 1);
                let query = kept.get(..end).unwrap_or_default().to_owned();
                list.narrow(query);
            }
            // Towards older entries and back.
            (true, KeyCode::Character('r')) => list.move_by(1),
            (true, KeyCode::Character('s')) => list.move_by(-1),
            (true, KeyCode::Character('c')) => self.list = None,
            (false, KeyCode::Character(character)) if !key.alt => {
                let query = format!("{}{character}", list.query);
                list.narrow(query);
            }
            _ => {}
        }
        Picked::Yes
    }

    /// Completes the name of the selected choice, if it has one.
    fn press_tab(&mut self) -> Picked {
        let Some(list) = &mut self.list else {
            return Picked::No;
        };
        let kind = list.kind;
        let Some(choice) = list.chosen().filter(|_| kind.completes()) else {
            return Picked::Yes;
        };
        let name = choice.name.to_owned();
        match kind {
            // The contents of the directory come next.
            PickerKind::Files if name.ends_with('/') && !name.contains(char::is_whitespace) => {
                Picked::Entered(Chosen {
                    kind,
                    name,
                    index: 0,
                    query: list.query.clone(),
                    key: ChoiceKey::Tab,
                })
            }
            kind if kind.takes_keys() => {
                list.narrow(name);
                Picked::Yes
            }
            _ => self.choose(ChoiceKey::Tab),
        }
    }

    /// Chooses the selected choice and closes the list.
    fn choose(&mut self, key: ChoiceKey) -> Picked {
        let Some(list) = self.list.take() else {
            return Picked::No;
        };
        let (Some(choice), Some(index)) = (list.chosen(), list.chosen_index()) else {
            return Picked::Yes;
        };
        Picked::Chosen(Chosen {
            kind: list.kind,
            name: choice.name.to_owned(),
            index,
            query: list.query.clone(),
            key,
        })
    }

    /// Requests the preview of the selected choice, unless it is known or another is on its way.
    pub(super) fn request_preview(
        &mut self,
        context: &Context,
        editor_rows: usize,
    ) -> Option<Effect> {
        let list = self.list.as_mut()?;
        if !view::has_preview(context, editor_rows, list.kind) {
            return None;
        }
        list.request_preview(context.now_ms)
            .map(|subject| Query::Preview(subject).into())
    }

    pub(super) fn set_preview(&mut self, subject: Subject, preview: Preview) {
        if let Some(list) = &mut self.list {
            list.set_preview(subject, preview);
        }
    }

    /// Returns how long until a preview is too old to show.
    pub(super) fn next_tick_ms(&self, context: &Context) -> Option<u64> {
        self.list.as_ref()?.preview_tick_ms(context.now_ms)
    }
}

/// Returns the id that begins a session's name.
pub(super) fn session_id(name: &str) -> Option<String> {
    name.split_whitespace().next().map(str::to_owned)
}
