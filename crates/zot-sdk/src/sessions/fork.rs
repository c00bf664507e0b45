//! Forks sessions.

use std::fmt;
use std::path::PathBuf;

use zot_session::{Durability, Session, View, read};

use super::{OperationError, library, short_id};
use crate::workspace::Workspace;

/// Where a session is forked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkPoint {
    /// After all messages that the model has now.
    End,
    /// Before the prompt with this number, counted from 1 over everything in the file, as
    /// `zot sessions show` counts.
    BeforePrompt(usize),
    /// Before the prompt with this number, counted from 1 among the messages that the model has now.
    BeforeCurrentPrompt(usize),
}

/// A session that was forked.
#[derive(Debug, Clone)]
pub struct ForkReport {
    /// The id of the new session.
    pub id: String,
    /// The path of its file.
    pub path: PathBuf,
    /// The id of the session it was forked from.
    pub parent: String,
    /// How many messages the two sessions share.
    pub messages: u64,
    /// Problems of the parent's file.
    pub findings: Vec<String>,
}

/// Creates a session with the messages of another, in the directory of its parent.
pub fn fork(
    workspace: &Workspace,
    name: &str,
    point: ForkPoint,
) -> Result<ForkReport, OperationError> {
    let parent = read_parent(workspace, name, point)?;
    let cwd = match parent.meta.cwd.as_str() {
        "" => workspace.cwd_text(),
        cwd => cwd.to_owned(),
    };
    fork_into(workspace, parent, point, cwd)
}

/// Creates a session of the working directory with the messages of another.
pub fn fork_here(
    workspace: &Workspace,
    name: &str,
    point: ForkPoint,
) -> Result<ForkReport, OperationError> {
    let parent = read_parent(workspace, name, point)?;
    fork_into(workspace, parent, point, workspace.cwd_text())
}

fn read_parent(
    workspace: &Workspace,
    name: &str,
    point: ForkPoint,
) -> Result<Session, OperationError> {
    let view = match point {
        ForkPoint::End | ForkPoint::BeforeCurrentPrompt(_) => View::Current,
        ForkPoint::BeforePrompt(_) => View::Everything,
    };
    Ok(read(&library(workspace).find(name)?, view)?)
}

fn fork_into(
    workspace: &Workspace,
    parent: Session,
    point: ForkPoint,
    cwd: String,
) -> Result<ForkReport, OperationError> {
    let prompt = match point {
        ForkPoint::End => None,
        ForkPoint::BeforePrompt(number) | ForkPoint::BeforeCurrentPrompt(number) => Some(number),
    };
    let sessions = library(workspace);
    let log = zot_session::fork(
        sessions.root(),
        &parent,
        prompt,
        cwd,
        Durability::ProcessEnd,
    )?;
    log.keep()?;
    Ok(ForkReport {
        id: log.meta().id.clone(),
        path: log.path().to_owned(),
        messages: log.meta().fork_point.unwrap_or_default(),
        findings: parent.report.findings(),
        parent: parent.meta.id,
    })
}

impl fmt::Display for ForkReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, messages) = (&self.id, self.messages);
        let (parent, short) = (short_id(&self.parent), short_id(id));
        write!(
            formatter,
            "{id}\n{messages} messages of {parent}; resume it: zot -p --resume {short} PROMPT"
        )
    }
}
