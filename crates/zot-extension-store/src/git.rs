//! Fetches a repository with the user's own `git`, which knows their keys and proxies.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use zot_process::{Outcome, OutputSink};

use crate::origin::without_password;

/// How much of what `git` said last is kept for the error.
const KEPT_ERROR_LINES: usize = 8;
const KEPT_ERROR_BYTES: usize = 8 * 1024;

/// Longer than anybody waits for a repository; a silent remote would take for ever.
///
/// Limit: git is ended and the installation fails.
const CLONE_TIME_LIMIT: Duration = Duration::from_secs(30 * 60);

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
pub(crate) async fn clone(
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
async fn run(command: Command) -> Result<Result<(), String>, GitError> {
    let mut said = LastWords::default();
    // Whoever wants it to stop drops the future.
    let cancel = CancellationToken::new();
    let ran = zot_process::run(command, CLONE_TIME_LIMIT, &cancel, &mut said).await;
    let status = match ran.map_err(GitError::NoGit)?.outcome {
        Outcome::Exited(Some(status)) if status.success() => return Ok(Ok(())),
        Outcome::Exited(status) => status.map_or_else(String::new, |status| status.to_string()),
        Outcome::TimedOut | Outcome::Cancelled => {
            let minutes = CLONE_TIME_LIMIT.as_secs() / 60;
            return Ok(Err(format!("it took longer than {minutes} minutes")));
        }
    };
    let said = said.lines();
    Ok(Err(if said.is_empty() { status } else { said }))
}

/// The end of what `git` says; the cause stands there.
#[derive(Default)]
struct LastWords(Vec<u8>);

impl OutputSink for LastWords {
    async fn accept(&mut self, chunk: &[u8]) {
        self.0.extend_from_slice(chunk);
        let surplus = self.0.len().saturating_sub(KEPT_ERROR_BYTES);
        self.0.drain(..surplus);
    }
}

impl LastWords {
    fn lines(&self) -> String {
        let text = String::from_utf8_lossy(&self.0);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        lines[lines.len().saturating_sub(KEPT_ERROR_LINES)..].join("; ")
    }
}
