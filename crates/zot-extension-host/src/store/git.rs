//! Fetches a repository with the user's own `git`, which knows their keys and proxies.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use super::origin::without_password;
use crate::trial::ProcessGroup;

/// What `git` said last is kept for the error; the cause stands at the end.
const KEPT_LINES: usize = 8;

/// Variables of a surrounding git command (a hook, say) that would redirect ours.
const FOREIGN: [&str; 5] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
];

/// Why a repository could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git is needed to install from a URL, and it cannot be started: {0}")]
    NoGit(#[source] io::Error),
    #[error("git could not fetch {url}: {said}")]
    Failed { url: String, said: String },
    #[error(
        "git could not fetch {url}: it has no branch or tag {reference:?} (a commit is given by its whole id)"
    )]
    NoSuchReference { url: String, reference: String },
}

/// Clones `url` into `target`, with no history and without ever asking anything.
pub(super) async fn clone(
    url: &str,
    reference: Option<&str>,
    target: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<(), GitError> {
    let shown = without_password(url);
    progress(&match reference {
        Some(reference) => format!("cloning {shown} at {reference}"),
        None => format!("cloning {shown}"),
    });
    let mut command = git();
    command.args(["clone", "--quiet", "--depth", "1"]);
    if let Some(reference) = reference {
        command.args(["--branch", reference]);
    }
    command.arg("--").arg(url).arg(target);
    let failed = |said: String| GitError::Failed {
        url: shown.clone(),
        // git repeats the URL when it cannot make anything of it.
        said: said.replace(url, &shown),
    };
    let said = match run(command).await? {
        Ok(()) => return Ok(()),
        Err(said) => said,
    };
    match reference {
        Some(commit) if is_commit_id(commit) => {
            progress("not a branch or tag: fetching it as a commit");
            fetch_commit(url, commit, target).await?.map_err(failed)
        }
        Some(reference) if said.contains("Remote branch") && said.contains("not found") => {
            Err(GitError::NoSuchReference {
                url: shown.clone(),
                reference: reference.to_owned(),
            })
        }
        _ => Err(failed(said)),
    }
}

async fn fetch_commit(
    url: &str,
    commit: &str,
    target: &Path,
) -> Result<Result<(), String>, GitError> {
    let mut steps = [git(), git(), git()];
    steps[0].args(["init", "--quiet", "--"]).arg(target);
    steps[1].arg("-C").arg(target);
    steps[1].args(["fetch", "--quiet", "--depth", "1", "--", url, commit]);
    steps[2].arg("-C").arg(target);
    steps[2].args(["checkout", "--quiet", "FETCH_HEAD"]);
    for step in steps {
        if let Err(said) = run(step).await? {
            return Ok(Err(said));
        }
    }
    Ok(Ok(()))
}

fn is_commit_id(reference: &str) -> bool {
    matches!(reference.len(), 40 | 64) && reference.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn git() -> Command {
    let mut command = Command::new("git");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .env("GIT_TERMINAL_PROMPT", "0")
        // Answers every question with nothing, where a window would open otherwise.
        .env("GIT_ASKPASS", "true")
        .env("SSH_ASKPASS_REQUIRE", "never")
        .env("LC_ALL", "C");
    if std::env::var_os("GIT_SSH_COMMAND").is_none() && std::env::var_os("GIT_SSH").is_none() {
        command.env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
    }
    for name in FOREIGN {
        command.env_remove(name);
    }
    command
}

/// Runs `git` to its end; the inner error is what it said.
async fn run(mut command: Command) -> Result<Result<(), String>, GitError> {
    let mut group = ProcessGroup::spawn(&mut command).map_err(GitError::NoGit)?;
    let mut said = VecDeque::new();
    if let Some(stderr) = group.child().stderr.take() {
        let mut lines = BufReader::new(stderr).lines();
        // Anything that is not text is not worth more than the end of it.
        while let Ok(Some(line)) = lines.next_line().await {
            if line.trim().is_empty() {
                continue;
            }
            if said.len() == KEPT_LINES {
                said.pop_front();
            }
            said.push_back(line);
        }
    }
    let status = group.child().wait().await.map_err(GitError::NoGit)?;
    if status.success() {
        return Ok(Ok(()));
    }
    let said = Vec::from(said).join("; ");
    Ok(Err(if said.is_empty() {
        status.to_string()
    } else {
        said
    }))
}
