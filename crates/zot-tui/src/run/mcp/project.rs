//! The question about a project's servers.

use zot_sdk::mcp::{ProjectFile, ProjectState};

use crate::app::{Input, McpInput, ProjectServers};

/// Returns the question, if the user has not been asked about this content.
pub(super) fn question_if_open(project: &ProjectFile) -> Option<Input> {
    (project.state == ProjectState::Unanswered).then(|| question(project))
}

pub(super) fn question(project: &ProjectFile) -> Input {
    let servers = project.proposals().into_iter().map(|proposal| {
        let facts = std::iter::once(proposal.target).chain(proposal.details);
        (proposal.name, facts.collect())
    });
    Input::Mcp(McpInput::ProjectFound(ProjectServers {
        path: project.path.display().to_string(),
        servers: servers.collect(),
        top: 0,
    }))
}
