//! The user's answer about a project's servers.

use zot_mcp::configuration::edit::Edited;
use zot_mcp::configuration::{
    ApprovalError, Approvals, Decision, ProjectFile, ProjectServers, project_file,
};

use super::configuration;
use crate::workspace::Workspace;

/// Returns the project's file and whether it counts; `None` if there is none, or it has no servers.
pub fn project(workspace: &Workspace) -> Option<ProjectFile> {
    configuration(workspace, ProjectServers::IfApproved).project
}

/// Keeps the user's answer about the content of `file` that the user has seen.
pub fn approve(
    workspace: &Workspace,
    file: &ProjectFile,
    decision: Decision,
) -> Result<(), ApprovalError> {
    let approvals = Approvals::new(&workspace.zot_home);
    approvals.record(&file.directory, &file.digest, decision)
}

/// Forgets all answers about this project, and returns whether there were any.
pub fn forget_answers(workspace: &Workspace) -> Result<bool, ApprovalError> {
    let path = project_file(&workspace.cwd, &workspace.zot_home);
    let directory = path.as_deref().and_then(|path| path.parent());
    let directory = directory.unwrap_or(&workspace.cwd);
    Approvals::new(&workspace.zot_home).forget(directory)
}

/// Carries an approval over to content that the user has just made: of a new file, or of one that was
/// approved before.
pub(super) fn keep_approval(workspace: &Workspace, edited: &Edited) -> Result<(), ApprovalError> {
    let Some(directory) = edited.path.parent() else {
        return Ok(());
    };
    let approvals = Approvals::new(&workspace.zot_home);
    let was_approved = match &edited.before {
        None => true,
        Some(digest) => approvals.decision(directory, digest) == Some(Decision::Approved),
    };
    match was_approved {
        true => approvals.record(directory, &edited.after, Decision::Approved),
        false => Ok(()),
    }
}
