//! A chat that begins anew: with another conversation, or with other keys.

use std::path::{Path, PathBuf};

use zot_sdk::sessions::{ForkPoint, check_free, fork_here};
use zot_sdk::{ApprovalPolicy, FullMessage, Workspace};

use super::{Chat, Ending, listings};
use crate::app::ShellOutput;

/// What the next chat has from this one.
#[derive(Debug, Clone, PartialEq)]
pub struct Carried {
    /// As confined as before.
    pub is_jailed: bool,
    /// As the user wanted to be asked.
    pub approval: ApprovalPolicy,
    /// The model that was chosen here, for a copy of the conversation.
    pub model: Option<String>,
    /// The conversation, if it is in no file.
    pub messages: Vec<FullMessage>,
    /// What was asked on the command line and waits for the session.
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
    /// Ends this chat for one with another session, or with this one (`None`). The error is for
    /// the user; the chat goes on then.
    pub(super) fn begin_again(&self, session: Option<String>) -> Result<Ending, String> {
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
        Ok(Ending::Again {
            session,
            carried: Box::new(carried),
        })
    }

    /// Ends this chat for one with a copy of this conversation: of all of it, or of what was said
    /// before the prompt with that index, which can then be written differently.
    pub(super) fn begin_copy(&self, before: Option<usize>) -> Result<Ending, String> {
        let Some(parent) = self.session_file() else {
            return match before {
                None => self.begin_again(None),
                Some(_) => Err("nothing of this conversation is on disk".to_owned()),
            };
        };
        let draft = before.and_then(|index| listings::prompt_at(&self.runtime, index));
        let carried = Carried {
            model: self.chosen_model.clone(),
            draft,
            ..self.carried()
        };
        Ok(Ending::Again {
            session: Some(self.copy_of(&parent, before)?),
            carried: Box::new(carried),
        })
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

    /// The file of a session that was listed, unless somebody else has it open: then the chat goes
    /// on as it is.
    fn listed_session(&self, id: String) -> Result<PathBuf, String> {
        let Some(found) = self.sessions.iter().find(|one| one.id.starts_with(&id)) else {
            return Ok(PathBuf::from(id));
        };
        check_free(&found.path).map_err(|error| error.to_string())?;
        Ok(found.path.clone())
    }

    /// The file of this conversation, if there is something in it.
    pub(super) fn session_file(&self) -> Option<PathBuf> {
        let session = self.runtime.session()?;
        session.path.exists().then(|| session.path.clone())
    }

    /// Made at once, so that everything can be done with the copy that can be done with a session.
    fn copy_of(&self, parent: &Path, before: Option<usize>) -> Result<PathBuf, String> {
        let Some(home) = self.options.sessions.as_deref().and_then(Path::parent) else {
            return Err("there is no directory for sessions".to_owned());
        };
        let workspace = Workspace::of_process()
            .with_zot_home(home)
            .in_directory(self.runtime.cwd());
        let point = match before {
            Some(index) => ForkPoint::BeforeCurrentPrompt(index + 1),
            None => ForkPoint::End,
        };
        let copy = fork_here(&workspace, &parent.display().to_string(), point);
        Ok(copy.map_err(|error| error.to_string())?.path)
    }
}
