//! A tool call that waits for the user's approval.

use super::view;
use crate::app::{Context, KeyCode};
use crate::editor::Editor;
use crate::style::Theme;
use crate::text::Line;

#[derive(Debug, Clone)]
pub(crate) struct Approval {
    pub(crate) id: String,
    pub(crate) tool: String,
    /// As the model wrote them.
    pub(crate) arguments: String,
    /// The command or the diff, for tools that have one.
    pub(crate) preview: Option<String>,
    /// The reason for a refusal, while it is being typed.
    pub(crate) refusal: Option<Editor>,
    /// The arguments are shown instead of the preview.
    pub(crate) shows_arguments: bool,
    /// What is shown, wrapped; made when the call is asked about and not for every drawing.
    pub(crate) lines: Vec<Line>,
    /// The columns and colours that the lines were made for.
    made_for: Option<(usize, Theme)>,
    /// The first line on the screen.
    pub(crate) top: usize,
}

impl Approval {
    pub(crate) fn new(
        id: String,
        tool: String,
        arguments: String,
        preview: Option<String>,
    ) -> Self {
        Self {
            id,
            tool,
            arguments,
            preview,
            refusal: None,
            shows_arguments: false,
            lines: Vec::new(),
            made_for: None,
            top: 0,
        }
    }

    /// Identifies the call by tool and arguments.
    pub(super) fn call(&self) -> (String, String) {
        (self.tool.clone(), self.arguments.clone())
    }

    pub(super) fn toggle_arguments(&mut self) {
        self.shows_arguments = !self.shows_arguments;
        self.made_for = None;
        self.top = 0;
    }

    pub(super) fn lay_out(&mut self, context: &Context) {
        let wanted = Some((context.columns, context.theme));
        if self.made_for != wanted {
            self.lines = view::preview(self, context.columns, &context.theme);
            self.made_for = wanted;
        }
    }

    /// Scrolls to `top`, or as far as there are lines for `room` rows.
    pub(super) fn scroll_to(&mut self, top: usize, room: usize) {
        self.top = top.min(self.lines.len().saturating_sub(room));
    }

    /// Scrolls with a key, if it is one that scrolls.
    pub(super) fn scroll(&mut self, code: KeyCode, page: usize) -> bool {
        self.top = match code {
            KeyCode::Up => self.top.saturating_sub(1),
            KeyCode::Down => self.top.saturating_add(1),
            KeyCode::PageUp => self.top.saturating_sub(page),
            KeyCode::PageDown => self.top.saturating_add(page),
            KeyCode::Home => 0,
            KeyCode::End => self.lines.len(),
            _ => return false,
        };
        true
    }
}
