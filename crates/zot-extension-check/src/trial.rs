//! One extension with a simulated host.

mod introduction;
mod pipes;
mod shutdown;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use zot_extension_contract::{
    EffectiveLimits, FoundExtension, Launch, LaunchError, LaunchRules, Manifest, ProcessSandbox,
};
use zot_process::{GroupEnd, ProcessGroup};
use zot_wire::extension::{HelloAck, HostFrame, PROTOCOL_VERSION};

pub use introduction::{Introduction, IntroductionError, RegisteredCommand, RegisteredTool};
pub use pipes::ExtensionOutput;
pub use shutdown::ShutdownReport;

/// How long a write to an extension may take before the extension counts as stuck.
const TRIAL_WRITE_TIME: Duration = Duration::from_secs(2);

/// How many lines of an extension may be queued. Few, because each may be as long as a frame; when
/// the queue is full, the extension has to wait.
const OUTPUT_CAPACITY: usize = 16;

/// The agent that an extension is part of, as described in `hello_ack`.
#[derive(Debug, Clone)]
pub struct Stage {
    pub zot_version: String,
    pub provider: String,
    pub model: String,
    /// Where the agent works.
    pub cwd: PathBuf,
    /// Where the extension may keep persistent data.
    pub data_dir: PathBuf,
    /// Whether the extension is part of a project.
    pub is_from_project: bool,
    /// What applies to every extension.
    pub rules: LaunchRules,
}

/// Why something could not be sent to an extension.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error("it has closed its standard input")]
    Closed(#[source] io::Error),
    #[error("it does not read its standard input")]
    Stuck,
    #[error("standard input is closed already")]
    Ended,
}

/// A running extension. Dropping it kills it and everything it started in its process group.
pub struct Trial {
    // First, so that the readers are dropped before the pipes they read from.
    readers: JoinSet<()>,
    output: mpsc::Receiver<ExtensionOutput>,
    stdin: Option<pipe::Sender>,
    /// `None` once the process has ended.
    group: Option<ProcessGroup>,
    end: Option<GroupEnd>,
    shortfalls: Vec<String>,
    /// Dropped after the process.
    _sandbox: ProcessSandbox,
    hello_ack: HelloAck,
    requests: u64,
}

impl Trial {
    /// Starts the extension of `manifest` in `directory` as the host does.
    ///
    /// It dies with the thread that polls this.
    pub async fn start(
        manifest: &Manifest,
        directory: &Path,
        stage: &Stage,
    ) -> Result<Self, LaunchError> {
        let launch = Launch {
            manifest,
            directory,
            data_dir: &stage.data_dir,
            cwd: &stage.cwd,
            limits: EffectiveLimits::of(manifest),
            is_from_project: stage.is_from_project,
            rules: &stage.rules,
        };
        let process = zot_extension_contract::start(&launch).await?;
        let (sender, output) = mpsc::channel(OUTPUT_CAPACITY);
        let mut readers = JoinSet::new();
        let frame_bytes = launch.limits.frame_bytes;
        readers.spawn(pipes::read_frames(
            process.stdout,
            frame_bytes,
            sender.clone(),
        ));
        readers.spawn(pipes::read_log(process.stderr, sender));
        Ok(Self {
            readers,
            output,
            stdin: Some(process.stdin),
            group: Some(process.group),
            end: None,
            shortfalls: process.shortfalls,
            _sandbox: process.sandbox,
            hello_ack: HelloAck {
                protocol_version: PROTOCOL_VERSION,
                zot_version: stage.zot_version.clone(),
                provider: stage.provider.clone(),
                model: stage.model.clone(),
                cwd: stage.cwd.display().to_string(),
                extension_dir: directory.display().to_string(),
                data_dir: stage.data_dir.display().to_string(),
            },
            requests: 0,
        })
    }

    /// Returns the permissions that are not enforced here, and those that cannot be granted.
    pub fn shortfalls(&self) -> &[String] {
        &self.shortfalls
    }

    /// Returns an id that no request of this trial has used.
    pub fn next_id(&mut self) -> String {
        self.requests += 1;
        format!("trial-{}", self.requests)
    }

    pub async fn send(&mut self, frame: &HostFrame) -> Result<(), SendError> {
        let mut line = Vec::new();
        zot_wire::write_line(&mut line, frame).map_err(|error| SendError::Closed(error.into()))?;
        self.send_bytes(&line).await
    }

    /// Sends raw bytes, for example frames that the protocol does not define.
    pub async fn send_bytes(&mut self, bytes: &[u8]) -> Result<(), SendError> {
        let Some(stdin) = &mut self.stdin else {
            return Err(SendError::Ended);
        };
        match timeout(TRIAL_WRITE_TIME, stdin.write_all(bytes)).await {
            Ok(written) => written.map_err(SendError::Closed),
            Err(_) => {
                // Half a line may have been written: nothing sensible can follow.
                self.stdin = None;
                Err(SendError::Stuck)
            }
        }
    }

    /// Returns the extension's next output, or `None` at the deadline. Cancel-safe.
    pub async fn receive(&mut self, deadline: Instant) -> Option<ExtensionOutput> {
        match timeout_at(deadline, self.output.recv()).await {
            Ok(output) => Some(output.unwrap_or(ExtensionOutput::StreamsClosed)),
            Err(_) => None,
        }
    }
}

/// Starts an installed extension to learn what it registers, and shuts it down again.
pub async fn inspect(
    found: &FoundExtension,
    stage: &Stage,
    limit: Duration,
) -> Result<Introduction, IntroductionError> {
    let deadline = Instant::now() + limit;
    let mut trial = Trial::start(&found.manifest, &found.directory, stage).await?;
    let introduced = trial.introduce(deadline, deadline, &mut |_| {}).await;
    match &introduced {
        Ok(_) => drop(trial.shut_down(&mut |_| {}).await),
        // It would not understand shutdown either.
        Err(_) => trial.terminate(&mut |_| {}).await,
    }
    introduced
}
