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
    /// The wrapped lines, kept so that drawing does not wrap them again.
    pub(crate) lines: Vec<Line>,
    /// The width and theme that the lines were wrapped for.
    wrapped_for: Option<(usize, Theme)>,
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
            wrapped_for: None,
            top: 0,
        }
    }

    /// Identifies the call by tool and arguments.
    pub(super) fn call(&self) -> (String, String) {
        (self.tool.clone(), self.arguments.clone())
    }

    pub(super) fn toggle_arguments(&mut self) {
        self.shows_arguments = !self.shows_arguments;
        self.wrapped_for = None;
        self.top = 0;
    }

    pub(super) fn lay_out(&mut self, context: &Context) {
        let current = Some((context.columns, context.theme));
        if self.wrapped_for != current {
            self.lines = view::preview(self, context.columns, &context.theme);
            self.wrapped_for = current;
        }
    }

    /// Scrolls to `top`, but not past the last page of `room` rows.
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
