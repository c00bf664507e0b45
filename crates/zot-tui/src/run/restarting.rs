//! Restarts the chat with another conversation or other credentials.

use std::ops::ControlFlow;
use std::path::PathBuf;

use zot_sdk::ApprovalPolicy;
use zot_sdk::sandbox::Policy;
use zot_sdk::sessions::check_free;
use zot_sdk::wire::FullMessage;

use super::effects::Performed;
use super::{Chat, Ending, listings};
use crate::app::ShellOutput;

/// What the next chat inherits from this one.
#[derive(Debug, Clone, PartialEq)]
pub struct Inherited {
    pub is_jailed: bool,
    pub sandbox: Policy,
    pub approval: ApprovalPolicy,
    /// The model that was chosen here, for a copy of the conversation.
    pub model: Option<String>,
    /// The conversation, if it is not in a file.
    pub messages: Vec<FullMessage>,
    /// The prompt from the command line that waits for the session.
    pub prompt: Option<String>,
    /// For the editor.
    pub draft: Option<String>,
    /// Output attached to the next prompt of the same conversation.
    pub attached: AttachedOutput,
}

/// Output of `!commands` attached to the next prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AttachedOutput(pub(super) Vec<ShellOutput>);

impl Chat {
    /// Ends this chat to restart it with another session, or with this one (`None`). After an error,
    /// which is for the user, the chat continues.
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
        let inherited = Inherited {
            messages,
            prompt: self.options.prompt.clone().filter(|_| !is_own),
            attached: match is_own {
                true => AttachedOutput(self.app.composer.shell.outputs.clone()),
                false => AttachedOutput::default(),
            },
            ..self.inherited()
        };
        Ok(ControlFlow::Break(Ending::Restarted {
            session,
            inherited: Box::new(inherited),
        }))
    }

    /// Ends this chat to restart it with a copy of this conversation: all of it, or what came
    /// before the prompt with this index, which can then be rewritten.
    pub(super) fn restart_with_copy(&self, before: Option<usize>) -> Result<Performed, String> {
        let Some(parent) = self.session_file() else {
            return match before {
                None => self.restart(None),
                Some(_) => Err("this conversation is not saved yet".to_owned()),
            };
        };
        let draft = before.and_then(|index| listings::prompt_at(&self.runtime, index));
        let inherited = Inherited {
            model: self.chosen_model.clone(),
            draft,
            ..self.inherited()
        };
        Ok(ControlFlow::Break(Ending::Restarted {
            session: Some(self.copy_session(&parent, before)?),
            inherited: Box::new(inherited),
        }))
    }

    fn inherited(&self) -> Inherited {
        let sandbox = self.runtime.sandbox();
        Inherited {
            is_jailed: sandbox.is_jailed,
            sandbox: sandbox.chosen,
            approval: self.runtime.approval(),
            model: None,
            messages: Vec::new(),
            prompt: None,
            draft: None,
            attached: AttachedOutput::default(),
        }
    }

    /// Returns the file of a listed session, unless another process has it open.
    fn listed_session(&self, id: String) -> Result<PathBuf, String> {
        let Some(found) = self.sessions.iter().find(|one| one.id.starts_with(&id)) else {
            return Ok(PathBuf::from(id));
        };
        check_free(&found.path).map_err(|error| error.to_string())?;
        Ok(found.path.clone())
    }

    /// Returns the file of this conversation, if it exists.
    pub(super) fn session_file(&self) -> Option<PathBuf> {
        let session = self.runtime.session()?;
        session.path.exists().then(|| session.path.clone())
    }
}
