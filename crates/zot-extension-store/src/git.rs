//! Fetches a repository with the user's own `git`, which knows their keys and proxies.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use zot_process::sandbox::{Level, Policy, Sandbox, SandboxError, Surroundings};
use zot_process::{Outcome, OutputSink};

use crate::origin::without_password;

/// How much of the end of `git`'s output is kept for the error.
const KEPT_ERROR_LINES: usize = 8;
const KEPT_ERROR_BYTES: usize = 8 * 1024;

/// Longer than anyone waits for a repository; a silent remote would block forever.
///
/// Limit: git is ended and the installation fails.
const CLONE_TIME_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Variables of a surrounding git command (a hook, say) that would redirect ours.
const INHERITED_GIT_VARIABLES: [&str; 5] = [
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
    #[error("git could not fetch {url}: {output}")]
    Failed { url: String, output: String },
    #[error(
        "git could not fetch {url}: it has no branch or tag {reference:?} (a commit is given by its whole id)"
    )]
    NoSuchReference { url: String, reference: String },
}

/// The user's `git`, which gets their rights and their environment, without the variables in `withheld`.
pub(crate) struct Git {
    sandbox: Sandbox,
}

impl Git {
    pub(crate) fn new(withheld: Vec<String>) -> Result<Self, GitError> {
        let surroundings = Surroundings {
            withheld,
            ..Surroundings::default()
        };
        let sandbox = Sandbox::new(Policy::at(Level::Off), surroundings);
        let sandbox = sandbox.map_err(not_started)?;
        Ok(Self { sandbox })
    }

    /// Runs `git` to completion; the inner error is the end of its output.
    async fn run(&self, command: Command) -> Result<Result<(), String>, GitError> {
        let mut output = OutputTail::default();
        let command = self.sandbox.prepare(command).map_err(not_started)?.command;
        // Callers cancel by dropping the future.
        let cancel = CancellationToken::new();
        let ran = zot_process::run(command, CLONE_TIME_LIMIT, &cancel, &mut output).await;
        let status = match ran.map_err(GitError::NoGit)?.outcome {
            Outcome::Exited(Some(status)) if status.success() => return Ok(Ok(())),
            Outcome::Exited(status) => status.map_or_else(String::new, |status| status.to_string()),
            Outcome::TimedOut | Outcome::Cancelled => {
                let minutes = CLONE_TIME_LIMIT.as_secs() / 60;
                return Ok(Err(format!("it took longer than {minutes} minutes")));
            }
        };
        let output = output.lines();
        Ok(Err(if output.is_empty() { status } else { output }))
    }
}

fn not_started(error: SandboxError) -> GitError {
    GitError::NoGit(io::Error::other(error))
}

/// Clones `url` into `target`, without history and without ever prompting.
pub(crate) async fn clone(
    program: &Git,
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
    let mut command = git()?;
    command.args(["clone", "--quiet", "--depth", "1"]);
    if let Some(reference) = reference {
        command.args(["--branch", reference]);
    }
    command.arg("--").arg(url).arg(target);
    let failed = |output: String| GitError::Failed {
        url: shown.clone(),
        // git repeats the URL in its error messages.
        output: output.replace(url, &shown),
    };
    let output = match program.run(command).await? {
        Ok(()) => return Ok(()),
        Err(output) => output,
    };
    match reference {
        Some(commit) if is_commit_id(commit) => {
            progress("not a branch or tag: fetching it as a commit");
            let fetched = fetch_commit(program, url, commit, target).await?;
            fetched.map_err(failed)
        }
        Some(reference) if output.contains("Remote branch") && output.contains("not found") => {
            Err(GitError::NoSuchReference {
                url: shown.clone(),
                reference: reference.to_owned(),
            })
        }
        _ => Err(failed(output)),
    }
}

async fn fetch_commit(
    program: &Git,
    url: &str,
    commit: &str,
    target: &Path,
) -> Result<Result<(), String>, GitError> {
    let mut steps = [git()?, git()?, git()?];
    steps[0].args(["init", "--quiet", "--"]).arg(target);
    steps[1].arg("-C").arg(target);
    steps[1].args(["fetch", "--quiet", "--depth", "1", "--", url, commit]);
    steps[2].arg("-C").arg(target);
    steps[2].args(["checkout", "--quiet", "FETCH_HEAD"]);
    for step in steps {
        if let Err(output) = program.run(step).await? {
            return Ok(Err(output));
        }
    }
    Ok(Ok(()))
}

fn is_commit_id(reference: &str) -> bool {
    matches!(reference.len(), 40 | 64) && reference.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn git() -> Result<Command, GitError> {
    let mut command = zot_process::helper("git", Path::new(".")).map_err(GitError::NoGit)?;
    command
        .env("GIT_TERMINAL_PROMPT", "0")
        // Answers every password prompt with nothing instead of opening a window.
        .env("GIT_ASKPASS", "true")
        .env("SSH_ASKPASS_REQUIRE", "never")
        .env("LC_ALL", "C");
    if std::env::var_os("GIT_SSH_COMMAND").is_none() && std::env::var_os("GIT_SSH").is_none() {
        command.env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
    }
    for name in INHERITED_GIT_VARIABLES {
        command.env_remove(name);
    }
    Ok(command)
}

/// The end of `git`'s output, where the cause of a failure is.
#[derive(Default)]
struct OutputTail(Vec<u8>);

impl OutputSink for OutputTail {
    async fn accept(&mut self, chunk: &[u8]) {
        self.0.extend_from_slice(chunk);
        let surplus = self.0.len().saturating_sub(KEPT_ERROR_BYTES);
        self.0.drain(..surplus);
    }
}

impl OutputTail {
    fn lines(&self) -> String {
        let text = String::from_utf8_lossy(&self.0);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        lines[lines.len().saturating_sub(KEPT_ERROR_LINES)..].join("; ")
    }
}
