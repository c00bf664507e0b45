//! The response to a slash command.

use std::fmt::Display;

use zot_wire::extension::{CommandAction, CommandResponse};

use crate::Panel;
use crate::handler::describe;

/// What zot does after a command has been handled.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Response {
    action: CommandAction,
    error: String,
}

impl Response {
    /// Runs the agent on a message, as if the user had typed it.
    pub fn prompt(text: impl Into<String>) -> Self {
        CommandAction::Prompt {
            prompt: text.into(),
        }
        .into()
    }

    /// Puts text into the editor without sending it.
    pub fn insert(text: impl Into<String>) -> Self {
        CommandAction::Insert {
            insert: text.into(),
        }
        .into()
    }

    /// Shows a note that the model does not see.
    pub fn display(text: impl Into<String>) -> Self {
        CommandAction::Display {
            display: text.into(),
        }
        .into()
    }

    /// Opens a panel; its keys go to the handler registered for its id.
    pub fn open_panel(panel: Panel) -> Self {
        CommandAction::OpenPanel {
            open_panel: panel.into_wire(),
        }
        .into()
    }

    /// Does nothing: the extension has done everything itself.
    pub fn noop() -> Self {
        Self::default()
    }

    /// Shows an error.
    pub fn error(message: impl Into<String>) -> Self {
        Self {
            action: CommandAction::Noop,
            error: message.into(),
        }
    }

    pub fn action(&self) -> &CommandAction {
        &self.action
    }

    /// Returns the error to show, if there is one.
    pub fn error_message(&self) -> Option<&str> {
        (!self.error.is_empty()).then_some(self.error.as_str())
    }

    pub(crate) fn into_wire(self, id: String) -> CommandResponse {
        CommandResponse {
            id,
            action: self.action,
            error: self.error,
        }
    }

    pub(crate) fn from_wire(response: CommandResponse) -> Self {
        Self {
            action: response.action,
            error: response.error,
        }
    }
}

impl From<CommandAction> for Response {
    fn from(action: CommandAction) -> Self {
        Self {
            action,
            error: String::new(),
        }
    }
}

/// What a command's handler may return: a [`Response`], nothing, or a `Result` of one of them.
/// An `Err` is shown to the user.
pub trait IntoResponse {
    fn into_response(self) -> Response;
}

impl IntoResponse for Response {
    fn into_response(self) -> Response {
        self
    }
}

impl IntoResponse for () {
    fn into_response(self) -> Response {
        Response::noop()
    }
}

impl<T: IntoResponse, E: Display> IntoResponse for Result<T, E> {
    fn into_response(self) -> Response {
        match self {
            Ok(value) => value.into_response(),
            Err(error) => Response::error(describe(error)),
        }
    }
}
