//! `zot ext dev`: an extension to play with while it is being written.

mod input;
mod output;
mod watch;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};
use zot_sdk::VERSION;
use zot_sdk::extensions::check::{Heard, Introduction, Stage, Trial};
use zot_sdk::extensions::{Manifest, READY_GRACE};

use super::terminal::one_line;
use super::{Failure, home};
use crate::output::say;
use watch::Snapshot;

/// How often the directory is looked at.
const WATCH_INTERVAL: Duration = Duration::from_millis(300);

/// As long as nobody has anything to say.
const PROMPT_TIME_LIMIT: Duration = Duration::from_secs(3600);

pub(super) async fn run(path: &Path) -> Result<ExitCode, Failure> {
    let directory = std::path::absolute(path)?;
    if !directory.is_dir() {
        let path = directory.display();
        return Err(Failure::Refused(format!(
            "{path}: no such directory: name the extension's directory"
        )));
    }
    let mut bench = Bench {
        snapshot: Snapshot::take(&directory),
        directory,
        running: None,
        panel: None,
    };
    let mut lines = input::lines()?;
    let mut ticks = interval(WATCH_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    bench.start().await?;
    loop {
        tokio::select! {
            heard = next_heard(&mut bench.running) => bench.hear(heard).await?,
            line = next_line(&mut lines) => match line {
                Some(line) => bench.obey(&line).await?,
                None => lines = None,
            },
            _ = ticks.tick() => bench.look().await?,
        }
    }
}

/// The extension's next words; waits for ever when none runs. Cancel-safe.
async fn next_heard(running: &mut Option<Running>) -> Heard {
    match running {
        Some(running) => loop {
            if let Some(heard) = running.trial.hear(Instant::now() + PROMPT_TIME_LIMIT).await {
                return heard;
            }
        },
        None => std::future::pending().await,
    }
}

/// The next line of standard input; waits for ever once that has ended. Cancel-safe.
async fn next_line(lines: &mut Option<mpsc::Receiver<String>>) -> Option<String> {
    match lines {
        Some(lines) => lines.recv().await,
        None => std::future::pending().await,
    }
}

/// The extension as it is now, and the files it was made of.
struct Bench {
    directory: PathBuf,
    snapshot: Snapshot,
    running: Option<Running>,
    /// The panel that is open.
    panel: Option<String>,
}

struct Running {
    trial: Trial,
    introduction: Introduction,
}

impl Bench {
    async fn start(&mut self) -> Result<(), Failure> {
        let manifest = match Manifest::load(&self.directory) {
            Ok(manifest) => manifest,
            Err(error) => return self.wait_for_change(&error.to_string()),
        };
        let stage = Stage {
            zot_version: VERSION.to_owned(),
            provider: "offline".to_owned(),
            model: "offline".to_owned(),
            cwd: std::env::current_dir()?,
            data_dir: manifest.data_dir(&self.directory, &home()),
        };
        let mut trial = match Trial::start(&manifest, &self.directory, &stage).await {
            Ok(trial) => trial,
            Err(error) => return self.wait_for_change(&error.to_string()),
        };
        for shortfall in trial.shortfalls() {
            say(format_args!("! {}", one_line(shortfall)))?;
        }
        let deadline = Instant::now() + manifest.start_time();
        // Written at once: what it says may explain why it never gets to its hello.
        let mut aside = |heard: Heard| {
            let _ = output::write(&heard);
        };
        match trial
            .introduce(deadline, deadline + READY_GRACE, &mut aside)
            .await
        {
            Ok(introduction) => {
                output::write_introduction(&introduction)?;
                self.running = Some(Running {
                    trial,
                    introduction,
                });
                Ok(())
            }
            Err(error) => {
                trial.shut_down(&mut aside).await;
                self.wait_for_change(&error.to_string())
            }
        }
    }

    fn wait_for_change(&mut self, problem: &str) -> Result<(), Failure> {
        say(format_args!("! {problem}; waiting for a change"))?;
        Ok(())
    }

    async fn hear(&mut self, heard: Heard) -> Result<(), Failure> {
        let Some(running) = &mut self.running else {
            return Ok(());
        };
        match heard {
            Heard::Frame(frame) => {
                output::note_panel(&frame, &mut self.panel);
                match running.introduction.add(frame.clone()) {
                    Some(other) => output::write(&Heard::Frame(other))?,
                    None => output::write(&Heard::Frame(frame))?,
                }
            }
            Heard::StdoutClosed | Heard::Silence => {
                let Some(running) = self.running.take() else {
                    return Ok(());
                };
                let mut aside = |heard: Heard| {
                    let _ = output::write(&heard);
                };
                let farewell = running.trial.shut_down(&mut aside).await;
                let how = match farewell.status {
                    Some(status) => status.to_string(),
                    None => "it closed its standard output and had to be killed".to_owned(),
                };
                self.panel = None;
                self.wait_for_change(&format!("the extension ended ({how})"))?;
            }
            heard => output::write(&heard)?,
        }
        Ok(())
    }

    async fn obey(&mut self, line: &str) -> Result<(), Failure> {
        if line.trim().is_empty() {
            return Ok(());
        }
        let Some(running) = &mut self.running else {
            say(format_args!("! the extension is not running"))?;
            return Ok(());
        };
        let id = running.trial.next_id();
        match input::parse(line, id, &running.introduction, self.panel.as_deref()) {
            Ok(frame) => {
                if let Err(error) = running.trial.send(&frame).await {
                    say(format_args!("! {error}"))?;
                }
            }
            Err(problem) => say(format_args!("! {problem}"))?,
        }
        Ok(())
    }

    /// Restarts when something was saved.
    async fn look(&mut self) -> Result<(), Failure> {
        let now = Snapshot::take(&self.directory);
        let Some(changed) = self.snapshot.first_difference(&now) else {
            return Ok(());
        };
        let shown = changed.strip_prefix(&self.directory).unwrap_or(&changed);
        say(format_args!("~ {} changed: restarting", shown.display()))?;
        self.snapshot = now;
        self.panel = None;
        if let Some(running) = self.running.take() {
            let mut aside = |heard: Heard| {
                let _ = output::write(&heard);
            };
            running.trial.shut_down(&mut aside).await;
        }
        self.start().await
    }
}
