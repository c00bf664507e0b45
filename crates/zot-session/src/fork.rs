//! Begins a session with the first messages of another.

#[cfg(test)]
mod tests;

use std::path::Path;

use crate::id::file_below_sessions;
use crate::{Durability, Session, SessionError, SessionLog, SessionMeta};

/// A session could not be forked.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    #[error("no prompt number {wanted}: the session has {prompts} prompts")]
    NoSuchPrompt { wanted: usize, prompts: usize },
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Creates a session in `cwd` that begins with the messages before prompt number `prompt` of
/// `parent` (counted from 1), or with all of them. Its file is created with its first message.
pub fn fork(
    sessions: &Path,
    parent: &Session,
    prompt: Option<usize>,
    cwd: String,
    durability: Durability,
) -> Result<SessionLog, ForkError> {
    let kept = match prompt {
        None => parent.messages.len(),
        Some(wanted) => {
            let mut prompts = (0..parent.messages.len())
                .filter(|index| parent.messages.get(*index).is_some_and(|m| m.is_prompt()));
            let index = wanted
                .checked_sub(1)
                .and_then(|skipped| prompts.nth(skipped));
            index.ok_or_else(|| ForkError::NoSuchPrompt {
                wanted,
                prompts: parent.messages.iter().filter(|m| m.is_prompt()).count(),
            })?
        }
    };
    let meta = SessionMeta {
        parent: Some(parent.meta.id.clone()),
        fork_point: Some(kept as u64),
        ..parent.meta.successor(cwd)
    };
    let path = sessions.join(file_below_sessions(&meta));
    let messages = parent.messages.get(..kept).unwrap_or_default().to_vec();
    Ok(SessionLog::beginning_with(path, meta, messages, durability))
}

impl SessionLog {
    /// Creates the file of a fork now, to be continued later.
    pub fn keep(&self) -> Result<(), SessionError> {
        self.copy(Vec::new())
    }
}
