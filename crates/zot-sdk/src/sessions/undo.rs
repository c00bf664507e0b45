//! Restores files that `write` and `edit` changed.

#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::Path;

use zot_conversation::{Message, Timestamp};
use zot_session::{
    Checkpoints, Durability, FileOutcome, IfChanged, SessionError, Undone, UndoneFile, View, read,
};

use super::{OperationError, library, shortened_line};
use crate::runtime::{Busy, Runtime};
use crate::workspace::Workspace;

/// How many characters of a command are shown.
const MAX_COMMAND: usize = 100;

/// The result of an undo.
#[derive(Debug, Clone)]
pub struct UndoReport {
    /// What was undone.
    pub undone: Undone,
    /// The commands that `bash` ran for the same prompts; their changes are not undone.
    pub not_covered: Vec<String>,
}

/// Nothing was undone.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// A prompt or compaction is running.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The conversation is not written to a session.
    #[error("this conversation has no session, so there is nothing to undo")]
    NoSession,
    /// The session cannot be read.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The saved files cannot be read.
    #[error("cannot read the saved versions of the files: {0}")]
    Unreadable(#[from] io::Error),
}

/// Undoes what `write` and `edit` changed for the last `prompts` prompts that changed anything, of the
/// session `name`, or of the newest one of the working directory.
pub fn undo(
    workspace: &Workspace,
    name: Option<&str>,
    prompts: usize,
    if_changed: IfChanged,
) -> Result<UndoReport, OperationError> {
    let library = library(workspace);
    let cwd = workspace.cwd_text();
    let session = match name {
        Some(name) => library.find(name)?,
        None => library
            .newest(&cwd)?
            .ok_or(OperationError::NoSessionHere { cwd })?,
    };
    Ok(undo_file(&session, prompts, if_changed)?)
}

fn undo_file(
    session: &Path,
    prompts: usize,
    if_changed: IfChanged,
) -> Result<UndoReport, UndoError> {
    let messages = read(session, View::Everything)?.messages;
    let undone = Checkpoints::beside(session, Durability::ProcessEnd).undo(prompts, if_changed)?;
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

impl UndoReport {
    /// Returns whether there was something to undo and all of it was undone.
    pub fn is_complete(&self) -> bool {
        let files = &self.undone.files;
        !files.is_empty() && files.iter().all(|file| file.outcome.is_done())
    }
}

/// Writes one line for each file and for each command that is not covered.
impl fmt::Display for UndoReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.undone.files.is_empty() {
            writeln!(
                formatter,
                "nothing to undo: no file was changed by write or edit"
            )?;
        }
        for file in &self.undone.files {
            write_outcome(formatter, file)?;
        }
        for command in &self.not_covered {
            let command = shortened_line(command, MAX_COMMAND);
            writeln!(formatter, "not covered: bash {command}")?;
        }
        Ok(())
    }
}

fn write_outcome(formatter: &mut fmt::Formatter<'_>, file: &UndoneFile) -> fmt::Result {
    let path = file.path.display();
    match &file.outcome {
        FileOutcome::Restored => writeln!(formatter, "restored  {path}"),
        FileOutcome::Removed => writeln!(formatter, "removed   {path} (it was new)"),
        FileOutcome::Unchanged => writeln!(formatter, "unchanged {path}"),
        FileOutcome::Overwritten { kept } => writeln!(
            formatter,
            "put back  {path} as it was (the version it replaced is kept in {})",
            kept.display()
        ),
        FileOutcome::ChangedSince => writeln!(
            formatter,
            "left      {path}: it was changed since; --force restores it anyway"
        ),
        FileOutcome::NotKept => writeln!(
            formatter,
            "left      {path}: it was too large to be kept, or not readable"
        ),
        FileOutcome::Refused { reason } => writeln!(formatter, "refused   {path}: {reason}"),
        FileOutcome::Failed { reason } => writeln!(formatter, "failed    {path}: {reason}"),
    }
}

impl Runtime {
    /// Undoes what `write` and `edit` changed for the last `prompts` prompts that changed anything.
    pub fn undo(&self, prompts: usize, if_changed: IfChanged) -> Result<UndoReport, UndoError> {
        if self.state().busy {
            return Err(Busy.into());
        }
        match self.session() {
            Some(session) => undo_file(&session.path, prompts, if_changed),
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
