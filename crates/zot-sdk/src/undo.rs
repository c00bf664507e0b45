//! Brings back files that `write` and `edit` changed.

#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use zot_conversation::{Message, Timestamp};
use zot_session::{Checkpoints, IfChanged, SessionError, Undone, View, read};

use crate::runtime::{Busy, Runtime};

/// What an undo did, and what it cannot do.
#[derive(Debug, Clone)]
pub struct UndoReport {
    pub undone: Undone,
    /// The commands that `bash` ran for the same prompts: what they changed is not brought back.
    pub not_covered: Vec<String>,
}

/// Nothing was undone.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error(transparent)]
    Busy(#[from] Busy),
    #[error("this conversation has no session, so nothing was kept to undo")]
    NoSession,
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("cannot read what was kept for undo: {0}")]
    Unreadable(#[from] io::Error),
}

/// Undoes what `write` and `edit` changed for the last `prompts` prompts of a session that changed
/// anything.
pub fn undo(
    session: &Path,
    prompts: usize,
    if_changed: IfChanged,
) -> Result<UndoReport, UndoError> {
    let messages = read(session, View::Everything)?.messages;
    let undone = Checkpoints::beside(session).undo(prompts, if_changed)?;
    let mut not_covered = Vec::new();
    for prompt in &undone.prompts {
        let following = messages.iter().skip_while(|message| !is(message, *prompt));
        let own = following.skip(1).take_while(|message| !message.is_prompt());
        for call in own.flat_map(|message| message.tool_calls()) {
            if call.name == "bash" {
                not_covered.push(command(call.arguments.json_or_empty()));
            }
        }
    }
    Ok(UndoReport {
        undone,
        not_covered,
    })
}

impl Runtime {
    /// Undoes what `write` and `edit` changed for the last `prompts` prompts that changed anything.
    pub fn undo(&self, prompts: usize, if_changed: IfChanged) -> Result<UndoReport, UndoError> {
        if self.state().busy {
            return Err(Busy.into());
        }
        match self.session() {
            Some(session) => undo(&session.path, prompts, if_changed),
            None => Err(UndoError::NoSession),
        }
    }
}

fn is(message: &Message, prompt: Timestamp) -> bool {
    message.is_prompt() && message.time == prompt
}

fn command(arguments: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Bash {
        #[serde(default)]
        command: String,
    }
    serde_json::from_str::<Bash>(arguments).map_or_else(|_| String::new(), |bash| bash.command)
}
