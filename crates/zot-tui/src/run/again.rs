//! A chat that begins anew: with another conversation, or with other keys.

use std::path::{Path, PathBuf};

use zot_sdk::sessions::{View, check_free, fork, read};
use zot_sdk::{ApprovalPolicy, Durability, FullMessage};

use super::{Chat, Ending};

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
}

impl Chat {
    /// Ends this chat for one with another session, or with this one (`None`). The error is for
    /// the user; the chat goes on then.
    pub(super) fn begin_again(
        &self,
        session: Option<String>,
        fork: bool,
    ) -> Result<Ending, String> {
        let is_own = session.is_none();
        let mut session = match session {
            Some(id) => Some(self.listed_session(id)?),
            None => self.session_file(),
        };
        let messages = match &session {
            None if is_own => self.runtime.full_messages(),
            _ => Vec::new(),
        };
        if let (true, Some(parent)) = (fork, &session) {
            session = Some(self.copy_of(parent)?);
        }
        Ok(Ending::Again {
            session,
            carried: Box::new(Carried {
                is_jailed: self.runtime.jailed().is_some(),
                approval: self.runtime.approval(),
                model: self.chosen_model.clone().filter(|_| fork),
                messages,
            }),
        })
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
    fn copy_of(&self, parent: &Path) -> Result<PathBuf, String> {
        let Some(sessions) = &self.options.sessions else {
            return Err("there is no folder for sessions".to_owned());
        };
        let cwd = self.runtime.cwd().display().to_string();
        let whole = read(parent, View::Current).map_err(|error| error.to_string())?;
        let copy = fork(sessions, &whole, None, cwd, Durability::ProcessEnd)
            .map_err(|error| error.to_string())?;
        copy.keep().map_err(|error| error.to_string())?;
        Ok(copy.path().to_owned())
    }
}
