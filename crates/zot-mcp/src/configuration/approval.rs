//! Which projects' `.mcp.json` the user has approved: `$ZOT_HOME/mcp/approved.json`.
//!
//! An answer holds for one directory and one content. After a change of the file, or in a copy elsewhere, the
//! user is asked again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use zot_files::Lock;

use super::FileDigest;

/// The most answers that are kept.
///
/// Limit: the oldest answer is forgotten, and that project is asked about again.
const MAX_MCP_APPROVALS: usize = 1000;

/// The largest file of answers.
///
/// Limit: a larger file counts as damaged; no project is approved until it is removed.
const MAX_APPROVALS_BYTES: u64 = 8 << 20;

/// The answers below one `$ZOT_HOME`.
#[derive(Debug, Clone)]
pub struct Approvals {
    path: PathBuf,
}

/// What the user said about a project's servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Approved,
    Refused,
}

/// Why an answer was not kept.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep the answer in {}", .path.display())]
pub struct ApprovalError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

#[derive(Default, Serialize, Deserialize)]
struct Record {
    answers: Vec<Answer>,
}

#[derive(Serialize, Deserialize)]
struct Answer {
    project: PathBuf,
    sha256: String,
    decision: Decision,
}

impl Approvals {
    pub fn new(home: &Path) -> Self {
        Self {
            path: home.join("mcp").join("approved.json"),
        }
    }

    /// Returns what the user said about a file with this content in `project`. A damaged record approves
    /// nothing.
    pub fn decision(&self, project: &Path, digest: &FileDigest) -> Option<Decision> {
        let (project, digest) = (identity(project), digest.to_string());
        let record = self.read().unwrap_or_default();
        let mut answers = record.answers.iter().rev();
        answers
            .find(|answer| answer.project == project && answer.sha256 == digest)
            .map(|answer| answer.decision)
    }

    /// Keeps the answer about a file with this content in `project`.
    pub fn record(
        &self,
        project: &Path,
        digest: &FileDigest,
        decision: Decision,
    ) -> Result<(), ApprovalError> {
        let (project, sha256) = (identity(project), digest.to_string());
        self.change(|answers| {
            answers.retain(|answer| answer.project != project || answer.sha256 != sha256);
            let surplus = (answers.len() + 1).saturating_sub(MAX_MCP_APPROVALS);
            answers.drain(..surplus);
            answers.push(Answer {
                project,
                sha256,
                decision,
            });
        })
    }

    /// Forgets all answers about `project`, and returns whether there were any.
    pub fn forget(&self, project: &Path) -> Result<bool, ApprovalError> {
        let project = identity(project);
        let mut forgotten = false;
        self.change(|answers| {
            let before = answers.len();
            answers.retain(|answer| answer.project != project);
            forgotten = answers.len() < before;
        })?;
        Ok(forgotten)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Answer>)) -> Result<(), ApprovalError> {
        let changed = || -> io::Result<()> {
            let directory = self.path.parent().unwrap_or(Path::new("."));
            zot_files::create_private_directory(directory)?;
            let _lock = Lock::acquire(&self.path.with_extension("json.lock"))?;
            let mut record = self.read()?;
            change(&mut record.answers);
            let text = serde_json::to_vec_pretty(&record)?;
            zot_files::replace(&self.path, &text, 0o600)
        };
        changed().map_err(|source| ApprovalError {
            path: self.path.clone(),
            source,
        })
    }

    fn read(&self) -> io::Result<Record> {
        match zot_files::read_bytes(&self.path, MAX_APPROVALS_BYTES)? {
            Some(text) => Ok(serde_json::from_slice(&text)?),
            None => Ok(Record::default()),
        }
    }
}

/// Returns the same path for every way to write the path of a directory.
pub(super) fn identity(directory: &Path) -> PathBuf {
    fs::canonicalize(directory)
        .or_else(|_| std::path::absolute(directory))
        .unwrap_or_else(|_| directory.to_owned())
}
