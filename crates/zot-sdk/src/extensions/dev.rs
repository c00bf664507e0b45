//! Runs an extension during development: restarts it on every save and sends it typed commands.

mod line;
mod watch;

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};
use zot_extension_check::{
    CommandAction, ExtensionFrame, ExtensionOutput, Introduction, Stage, Trial,
};
use zot_extension_contract::{Manifest, READY_GRACE};

use crate::configuration::least_of_extensions;
use crate::known_secrets::launch_rules;
use crate::runtime::VERSION;
use crate::workspace::Workspace;
use watch::Snapshot;

/// How often the directory is checked for changes.
const WATCH_INTERVAL: Duration = Duration::from_millis(300);

/// The length of one wait for the extension; waits are repeated.
const RECEIVE_TIME: Duration = Duration::from_secs(3600);

/// An event of an extension under development.
#[derive(Debug)]
pub enum DevEvent<'a> {
    /// It runs and has registered this.
    Started(&'a Introduction),
    /// It sent a frame or wrote a line.
    Output(&'a ExtensionOutput),
    /// A permission it requests is not enforced here.
    Shortfall(&'a str),
    /// It stopped; the next save starts it again.
    Stopped {
        /// What went wrong.
        problem: String,
    },
    /// A typed line is invalid.
    Rejected {
        /// What went wrong.
        problem: String,
    },
    /// A file was saved, so it is restarted.
    Saved {
        /// The file, relative to the directory of the extension.
        path: &'a Path,
    },
}

/// An extension cannot be run for development.
#[derive(Debug, thiserror::Error)]
pub enum DevError {
    /// There is no such directory.
    #[error("{}: no such directory: name the extension's directory", .0.display())]
    NoDirectory(PathBuf),
    /// An event could not be shown.
    #[error("{0}")]
    Show(#[from] io::Error),
}

/// A callback for events.
type Show<'a> = dyn FnMut(DevEvent<'_>) -> io::Result<()> + Send + 'a;

/// Runs the extension in `directory` until the future is dropped. Each line of `lines` invokes a
/// command (`/name args`), calls a tool (`tool NAME {…}`) or sends a key to a panel (`panel KEY`).
pub async fn develop(
    workspace: &Workspace,
    directory: &Path,
    lines: mpsc::Receiver<String>,
    show: &mut Show<'_>,
) -> Result<Infallible, DevError> {
    let directory = workspace.cwd.join(directory);
    if !directory.is_dir() {
        return Err(DevError::NoDirectory(directory));
    }
    let mut bench = Bench {
        snapshot: Snapshot::take(&directory),
        directory,
        workspace,
        show,
        running: None,
        panel: None,
    };
    let mut lines = Some(lines);
    let mut ticks = interval(WATCH_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    bench.start().await?;
    loop {
        tokio::select! {
            output = next_output(&mut bench.running) => bench.handle_output(output).await?,
            line = next_line(&mut lines) => match line {
                Some(line) => bench.run_line(&line).await?,
                None => lines = None,
            },
            _ = ticks.tick() => bench.restart_if_changed().await?,
        }
    }
}

/// Waits for the next output of the extension; pending forever if it does not run. Cancel-safe.
async fn next_output(running: &mut Option<Running>) -> ExtensionOutput {
    match running {
        Some(running) => loop {
            if let Some(output) = running.trial.receive(Instant::now() + RECEIVE_TIME).await {
                return output;
            }
        },
        None => std::future::pending().await,
    }
}

/// Waits for the next line; pending forever after the last. Cancel-safe.
async fn next_line(lines: &mut Option<mpsc::Receiver<String>>) -> Option<String> {
    match lines {
        Some(lines) => lines.recv().await,
        None => std::future::pending().await,
    }
}

/// The extension, and the files it was started from.
struct Bench<'a, 'b> {
    workspace: &'a Workspace,
    directory: PathBuf,
    snapshot: Snapshot,
    show: &'a mut Show<'b>,
    running: Option<Running>,
    /// The id of the open panel.
    panel: Option<String>,
}

struct Running {
    trial: Trial,
    introduction: Introduction,
}

impl Bench<'_, '_> {
    async fn start(&mut self) -> io::Result<()> {
        let manifest = match Manifest::load(&self.directory) {
            Ok(manifest) => manifest,
            Err(error) => return self.stopped(error.to_string()),
        };
        let rules = launch_rules(
            &self.workspace.zot_home,
            least_of_extensions(self.workspace),
        );
        let stage = Stage {
            zot_version: VERSION.to_owned(),
            provider: "offline".to_owned(),
            model: "offline".to_owned(),
            cwd: self.workspace.cwd.clone(),
            data_dir: manifest.data_dir(&self.directory, &self.workspace.zot_home, rules.minimum),
            is_from_project: false,
            rules,
        };
        let mut trial = match Trial::start(&manifest, &self.directory, &stage).await {
            Ok(trial) => trial,
            Err(error) => return self.stopped(error.to_string()),
        };
        for shortfall in trial.shortfalls() {
            (self.show)(DevEvent::Shortfall(shortfall))?;
        }
        let deadline = Instant::now() + manifest.start_time();
        let show = &mut *self.show;
        // Shown immediately: it may explain why the extension never sends its hello.
        let mut on_other = |output: ExtensionOutput| {
            let _ = show(DevEvent::Output(&output));
        };
        match trial
            .introduce(deadline, deadline + READY_GRACE, &mut on_other)
            .await
        {
            Ok(introduction) => {
                (self.show)(DevEvent::Started(&introduction))?;
                self.running = Some(Running {
                    trial,
                    introduction,
                });
                Ok(())
            }
            Err(error) => {
                trial.shut_down(&mut on_other).await;
                self.stopped(error.to_string())
            }
        }
    }

    fn stopped(&mut self, problem: String) -> io::Result<()> {
        (self.show)(DevEvent::Stopped { problem })
    }

    async fn handle_output(&mut self, output: ExtensionOutput) -> io::Result<()> {
        let Some(running) = &mut self.running else {
            return Ok(());
        };
        match output {
            ExtensionOutput::Frame(frame) => {
                track_panel(&frame, &mut self.panel);
                let frame = running.introduction.add(frame.clone()).unwrap_or(frame);
                (self.show)(DevEvent::Output(&ExtensionOutput::Frame(frame)))
            }
            ExtensionOutput::StdoutClosed | ExtensionOutput::StreamsClosed => {
                let status = self.shut_down().await;
                self.panel = None;
                let how = status
                    .unwrap_or("it closed its standard output and had to be killed".to_owned());
                self.stopped(format!("the extension ended ({how})"))
            }
            output => (self.show)(DevEvent::Output(&output)),
        }
    }

    async fn run_line(&mut self, line: &str) -> io::Result<()> {
        if line.trim().is_empty() {
            return Ok(());
        }
        let Some(running) = &mut self.running else {
            let problem = "the extension is not running".to_owned();
            return (self.show)(DevEvent::Rejected { problem });
        };
        let id = running.trial.next_id();
        let problem = match line::parse(line, id, &running.introduction, self.panel.as_deref()) {
            Ok(frame) => match running.trial.send(&frame).await {
                Ok(()) => return Ok(()),
                Err(error) => error.to_string(),
            },
            Err(problem) => problem,
        };
        (self.show)(DevEvent::Rejected { problem })
    }

    /// Restarts the extension if a file was saved.
    async fn restart_if_changed(&mut self) -> io::Result<()> {
        let now = Snapshot::take(&self.directory);
        let Some(changed) = self.snapshot.first_difference(&now) else {
            return Ok(());
        };
        let path = changed.strip_prefix(&self.directory).unwrap_or(&changed);
        (self.show)(DevEvent::Saved { path })?;
        self.snapshot = now;
        self.panel = None;
        self.shut_down().await;
        self.start().await
    }

    /// Stops the extension, if it runs, and returns its exit status.
    async fn shut_down(&mut self) -> Option<String> {
        let running = self.running.take()?;
        let show = &mut *self.show;
        let mut on_other = |output: ExtensionOutput| {
            let _ = show(DevEvent::Output(&output));
        };
        let report = running.trial.shut_down(&mut on_other).await;
        report.status.map(|status| status.to_string())
    }
}

/// Keeps track of the open panel.
fn track_panel(frame: &ExtensionFrame, panel: &mut Option<String>) {
    match frame {
        ExtensionFrame::CommandResponse(response) => {
            if let CommandAction::OpenPanel { open_panel } = &response.action {
                *panel = Some(open_panel.id.clone());
            }
        }
        ExtensionFrame::PanelClose { panel_id } if panel.as_ref() == Some(panel_id) => {
            *panel = None;
        }
        _ => {}
    }
}
