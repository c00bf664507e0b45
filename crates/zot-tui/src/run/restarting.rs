//! A chat that restarts: with another conversation, or with other credentials.

use std::ops::ControlFlow;
use std::path::PathBuf;

use zot_sdk::ApprovalPolicy;
use zot_sdk::sessions::check_free;
use zot_sdk::wire::FullMessage;

use super::effects::Performed;
use super::{Chat, Ending, listings};
use crate::app::ShellOutput;

/// What the next chat gets from this one.
#[derive(Debug, Clone, PartialEq)]
pub struct Carried {
    pub is_jailed: bool,
    pub approval: ApprovalPolicy,
    /// The model that was chosen here, for a copy of the conversation.
    pub model: Option<String>,
    /// The conversation, if it is in no file.
    pub messages: Vec<FullMessage>,
    /// The prompt from the command line that waits for the session.
    pub prompt: Option<String>,
    /// For the editor.
    pub draft: Option<String>,
    /// What waits for the next prompt of the same conversation.
    pub waiting: Waiting,
}

/// Output of the user's commands that goes with the next prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Waiting(pub(super) Vec<ShellOutput>);

impl Chat {
    /// Ends this chat for one with another session, or with this one (`None`). After an error, which
    /// is for the user, the chat continues.
    pub(super) fn restart(&self, session: Option<String>) -> Result<Performed, String> {
        let is_own = session.is_none();
        let session = match session {
            Some(id) => Some(self.listed_session(id)?),
            None => self.session_file(),
        };
        let messages = match &session {
            None if is_own => self.runtime.full_messages(),
            _ => Vec::new(),
        };
        let carried = Carried {
            messages,
            prompt: self.options.prompt.clone().filter(|_| !is_own),
            waiting: match is_own {
                true => Waiting(self.app.composer.shell.outputs.clone()),
                false => Waiting::default(),
            },
            ..self.carried()
        };
        Ok(ControlFlow::Break(Ending::Again {
            session,
            carried: Box::new(carried),
        }))
    }

    /// Ends this chat for one with a copy of this conversation: of all of it, or of what was said
    /// before the prompt with this index, which can then be rewritten.
    pub(super) fn restart_with_copy(&self, before: Option<usize>) -> Result<Performed, String> {
        let Some(parent) = self.session_file() else {
            return match before {
                None => self.restart(None),
                Some(_) => Err("nothing of this conversation is on disk".to_owned()),
            };
        };
        let draft = before.and_then(|index| listings::prompt_at(&self.runtime, index));
        let carried = Carried {
            model: self.chosen_model.clone(),
            draft,
            ..self.carried()
        };
        Ok(ControlFlow::Break(Ending::Again {
            session: Some(self.copy_session(&parent, before)?),
            carried: Box::new(carried),
        }))
    }

    fn carried(&self) -> Carried {
        Carried {
            is_jailed: self.runtime.jailed().is_some(),
            approval: self.runtime.approval(),
            model: None,
            messages: Vec::new(),
            prompt: None,
            draft: None,
            waiting: Waiting::default(),
        }
    }

    /// The file of a session that was listed, unless another process has it open.
    fn listed_session(&self, id: String) -> Result<PathBuf, String> {
        let Some(found) = self.sessions.iter().find(|one| one.id.starts_with(&id)) else {
            return Ok(PathBuf::from(id));
        };
        check_free(&found.path).map_err(|error| error.to_string())?;
        Ok(found.path.clone())
    }

    /// The file of this conversation, if it exists already.
    pub(super) fn session_file(&self) -> Option<PathBuf> {
        let session = self.runtime.session()?;
        session.path.exists().then(|| session.path.clone())
    }
}
