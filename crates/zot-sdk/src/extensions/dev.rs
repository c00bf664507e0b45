//! An extension that is restarted on every save, and driven by hand.

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

use crate::runtime::VERSION;
use crate::workspace::Workspace;
use watch::Snapshot;

/// How often the directory is looked at.
const WATCH_INTERVAL: Duration = Duration::from_millis(300);

/// How long one wait for the extension lasts; there is always another.
const RECEIVE_TIME: Duration = Duration::from_secs(3600);

/// What happened to an extension that is being developed.
#[derive(Debug)]
pub enum DevEvent<'a> {
    /// It runs, and registered this.
    Started(&'a Introduction),
    /// It sent a frame or wrote a line.
    Output(&'a ExtensionOutput),
    /// A permission it asks for is not enforced here.
    Shortfall(&'a str),
    /// It does not run; the next save starts it again.
    Stopped { problem: String },
    /// A typed line could not be used.
    Rejected { problem: String },
    /// A file was saved, so it is restarted.
    Saved { path: &'a Path },
}

/// An extension cannot be developed.
#[derive(Debug, thiserror::Error)]
pub enum DevError {
    #[error("{}: no such directory: name the extension's directory", .0.display())]
    NoDirectory(PathBuf),
    #[error("{0}")]
    Show(#[from] io::Error),
}

/// What is called with every event.
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
                Some(line) => bench.obey(&line).await?,
                None => lines = None,
            },
            _ = ticks.tick() => bench.look().await?,
        }
    }
}

/// Waits for what the extension sends next, for ever when it does not run. Cancel-safe.
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

/// Waits for the next line, for ever once they have ended. Cancel-safe.
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
    /// The panel that is open.
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
        let stage = Stage {
            zot_version: VERSION.to_owned(),
            provider: "offline".to_owned(),
            model: "offline".to_owned(),
            cwd: self.workspace.cwd.clone(),
            data_dir: manifest.data_dir(&self.directory, &self.workspace.zot_home),
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
        // Shown at once: what it says may explain why it never gets to its hello.
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
                note_panel(&frame, &mut self.panel);
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

    async fn obey(&mut self, line: &str) -> io::Result<()> {
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

    /// Restarts when something was saved.
    async fn look(&mut self) -> io::Result<()> {
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

    /// Ends the extension, if it runs, and returns how it ended.
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

/// Keeps track of which panel is open.
fn note_panel(frame: &ExtensionFrame, panel: &mut Option<String>) {
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
