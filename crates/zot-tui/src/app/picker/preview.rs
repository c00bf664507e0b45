//! The preview of the selected choice.
//!
//! One preview is requested at a time, however fast the selection moves: one that arrives too late is
//! dropped, and the current one is requested.

use super::{ChoiceList, PickerKind, session_id};
use crate::style::Theme;

/// How long the last preview stays while the next one is on its way, to avoid flicker.
const STALE_MS: u64 = 200;

/// What is previewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A model of the current provider, by its id.
    Model(String),
    /// A prompt of this conversation, by its index.
    Prompt(usize),
    /// A session, by the beginning of its id.
    Session(String),
    /// A file below the working directory, a directory with a slash at its end, or a resource of an
    /// MCP server.
    File(String),
    Skill(String),
    Theme(String),
    Provider(String),
    /// An MCP server.
    Server(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Preview {
    /// Short lines about the choice.
    pub facts: Vec<String>,
    pub body: PreviewBody,
}

/// The beginning of the choice's contents.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PreviewBody {
    Nothing,
    Prose(String),
    Code { language: String, text: String },
    Colours(Box<Theme>),
}

/// The state of a list's preview.
#[derive(Debug, Default)]
pub(crate) struct PreviewState {
    /// The preview that is on its way.
    requested: Option<Subject>,
    shown: Option<(Subject, Preview)>,
    /// When another choice was selected.
    stale_since_ms: Option<u64>,
}

impl PreviewState {
    fn shows(&self, subject: &Subject) -> bool {
        self.shown.as_ref().is_some_and(|(of, _)| of == subject)
    }
}

impl ChoiceList {
    /// Returns the selected choice, if there are previews for its kind.
    fn subject(&self) -> Option<Subject> {
        let name = || self.chosen().map(|choice| choice.name.to_owned());
        match self.kind {
            PickerKind::Commands
            | PickerKind::History
            | PickerKind::Settings
            | PickerKind::ServerActions => None,
            // The first choice is the whole conversation.
            PickerKind::ForkPoints => {
                let index = self.chosen_index()?.checked_sub(1);
                index.map(Subject::Prompt)
            }
            PickerKind::Files => name().map(Subject::File),
            PickerKind::Models => name().map(Subject::Model),
            PickerKind::Prompts => self.chosen_index().map(Subject::Prompt),
            PickerKind::Sessions => session_id(self.chosen()?.name).map(Subject::Session),
            PickerKind::Skills => name().map(Subject::Skill),
            PickerKind::Themes => name().map(Subject::Theme),
            PickerKind::Servers => name().map(Subject::Server),
            PickerKind::LogIn | PickerKind::LogOut => name().map(Subject::Provider),
        }
    }

    /// Returns the preview to show now.
    pub(crate) fn preview(&self, now_ms: u64) -> Option<&Preview> {
        self.subject()?;
        let until = self.preview.stale_since_ms.map(|since| since + STALE_MS);
        let (_, preview) = self.preview.shown.as_ref()?;
        until.is_none_or(|until| now_ms < until).then_some(preview)
    }

    /// Returns the subject whose preview is needed, unless it is known or another is on its way.
    pub(super) fn request_preview(&mut self, now_ms: u64) -> Option<Subject> {
        let subject = self.subject()?;
        let preview = &mut self.preview;
        if preview.shows(&subject) {
            preview.stale_since_ms = None;
            return None;
        }
        preview.stale_since_ms.get_or_insert(now_ms);
        if preview.requested.is_some() {
            return None;
        }
        preview.requested = Some(subject.clone());
        Some(subject)
    }

    pub(super) fn forget_preview(&mut self) {
        self.preview = PreviewState::default();
    }

    pub(super) fn set_preview(&mut self, subject: Subject, preview: Preview) {
        let is_current = self.subject().as_ref() == Some(&subject);
        self.preview
            .requested
            .take_if(|requested| *requested == subject);
        if is_current {
            self.preview.shown = Some((subject, preview));
        }
    }

    /// Returns how long until the preview is too old to show.
    pub(super) fn preview_tick_ms(&self, now_ms: u64) -> Option<u64> {
        self.preview.shown.as_ref()?;
        let until = self.preview.stale_since_ms? + STALE_MS;
        until.checked_sub(now_ms).filter(|left| *left > 0)
    }
}
