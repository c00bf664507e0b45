//! `glasspane top`: a table of many agents in a terminal.

mod attention;
mod keys;
mod screen;
mod table;
mod view;

use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval};
use zot_process::{EndSignal, EndSignals};

use super::agents::{DEFAULT_SOCKET, Files};
use super::{AgentArguments, Attachments, Failure, Outcome};
use crate::attach::{Watcher, default_socket};
use crate::{AgentState, Hub, now_ms};
use keys::Keys;
use screen::Screen;
use table::{Size, table};
use view::{After, View};

/// How often the table is drawn.
const REFRESH: Duration = Duration::from_millis(250);

/// The width of a table that is not shown in a terminal.
const PRINTED_COLUMNS: usize = 160;

/// Show a live table of agents.
#[derive(Debug, Args)]
#[command(
    after_help = "Keys: q quit, s sort, r reverse, / filter, d hide done agents, arrows and page keys scroll.\n\
                        Without a terminal the table is printed once, when all files are read and all agents have \
                        ended.\nNO_COLOR is respected."
)]
pub struct TopArguments {
    #[command(flatten)]
    pub agents: AgentArguments,
    /// Show the agents of a running `glasspane serve`; PATH is its socket, if not the default
    #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = DEFAULT_SOCKET)]
    pub connect: Option<PathBuf>,
}

/// Where states come from.
enum Origin {
    Local { hub: Hub, attachments: Attachments },
    Remote(Watcher),
}

/// Shows agents until cancelled.
pub async fn top(arguments: TopArguments) -> Result<ExitCode, Failure> {
    let live = io::stdout().is_terminal();
    let mut origin = origin(&arguments, live).await?;
    let color = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if !live {
        return print(origin).await;
    }
    let mut signals = EndSignals::new().map_err(Failure::failed)?;
    let screen = Screen::open().map_err(|error| {
        Failure::Failed(format!(
            "cannot use the terminal: {error}; pipe the output to print the table once"
        ))
    })?;
    let result = show(&mut origin, &screen, &mut signals, color).await;
    drop(screen);
    if let Origin::Local { attachments, .. } = origin {
        attachments.shutdown().await;
    }
    result
}

async fn origin(arguments: &TopArguments, live: bool) -> Result<Origin, Failure> {
    if let Some(path) = &arguments.connect {
        if !arguments.agents.is_empty() {
            return Err(Failure::Usage(
                "--connect shows the agents of another process and cannot be combined with other agents"
                    .to_owned(),
            ));
        }
        let path = match path.as_os_str() == DEFAULT_SOCKET {
            true => default_socket(),
            false => path.clone(),
        };
        let watcher = Watcher::connect(&path).await.map_err(Failure::failed)?;
        return Ok(Origin::Remote(watcher));
    }
    if arguments.agents.is_empty() {
        return Err(Failure::Usage(
            "no agents: give --file FILE, --socket, --agent COMMAND or -- COMMAND, or --connect to a running \
             `glasspane serve`"
                .to_owned(),
        ));
    }
    if !live && arguments.agents.socket.is_some() {
        return Err(Failure::Usage(
            "--socket needs a terminal; without one, use `glasspane serve --socket`".to_owned(),
        ));
    }
    let hub = Hub::new();
    let files = if live { Files::Follow } else { Files::Once };
    let attachments = Attachments::start_with(&hub, &arguments.agents, files)?;
    Ok(Origin::Local { hub, attachments })
}

/// Prints the table once, for a pipe.
async fn print(origin: Origin) -> Result<ExitCode, Failure> {
    let mut worst = 0;
    let agents = match origin {
        Origin::Local {
            hub,
            mut attachments,
        } => {
            while let Some(outcome) = attachments.next().await {
                match outcome {
                    Outcome::Ended(ended) => worst = worst.max(ended.verdict()),
                    Outcome::Failed(error) => return Err(Failure::Failed(error)),
                    Outcome::Over => {}
                }
            }
            hub.snapshot().agents
        }
        Origin::Remote(mut watcher) => {
            watcher.changed().await.map_err(Failure::failed)?;
            watcher.agents().to_vec()
        }
    };
    let size = Size {
        columns: PRINTED_COLUMNS,
        rows: usize::MAX,
    };
    let mut output = zot_terminal::stdout();
    for line in table(&agents, &View::default(), now_ms(), size, false) {
        // A reader that leaves early is not an error.
        if writeln!(output, "{}", line.trim_end()).is_err() {
            break;
        }
    }
    Ok(ExitCode::from(worst))
}

async fn show(
    origin: &mut Origin,
    screen: &Screen,
    signals: &mut EndSignals,
    color: bool,
) -> Result<ExitCode, Failure> {
    let mut view = View::default();
    let mut keys = Keys::default();
    let mut resized = signal(SignalKind::window_change()).map_err(Failure::failed)?;
    let mut ticks = interval(REFRESH);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut input = [0; 256];
    loop {
        tokio::select! {
            signal = signals.next() => return Ok(ended_by(signal)),
            count = screen.read(&mut input) => {
                let count = count.map_err(|error| Failure::Failed(format!("cannot use the terminal: {error}")))?;
                for key in keys.read(&input[..count]) {
                    if view.press(key) == After::Quit {
                        return Ok(ExitCode::SUCCESS);
                    }
                }
            }
            _ = resized.recv() => {}
            _ = ticks.tick() => {}
            notice = origin.next_notice() => view.note = notice?,
        }
        keys.settle();
        let agents = origin.agents();
        let lines = table(&agents, &view, now_ms(), screen.size(), color);
        // A terminal that is busy must not delay signals.
        tokio::select! {
            drawn = screen.draw(&lines) => drawn.map_err(|error| {
                Failure::Failed(format!("cannot use the terminal: {error}"))
            })?,
            signal = signals.next() => return Ok(ended_by(signal)),
        }
    }
}

fn ended_by(signal: EndSignal) -> ExitCode {
    match signal {
        // The ordinary way to leave.
        EndSignal::Interrupted => ExitCode::SUCCESS,
        signal => ExitCode::from(signal.exit_code()),
    }
}

impl Origin {
    fn agents(&self) -> Vec<AgentState> {
        match self {
            Self::Local { hub, .. } => hub.snapshot().agents,
            Self::Remote(watcher) => watcher.agents().to_vec(),
        }
    }

    /// Waits for a message to show below the table.
    async fn next_notice(&mut self) -> Result<Option<String>, Failure> {
        match self {
            Self::Local { attachments, .. } => loop {
                match attachments.next().await {
                    Some(Outcome::Failed(error)) => return Ok(Some(error)),
                    Some(_) => {}
                    None => std::future::pending().await,
                }
            },
            Self::Remote(watcher) => {
                while watcher.changed().await.map_err(Failure::failed)? {}
                Err(Failure::Failed("the watched process has ended".to_owned()))
            }
        }
    }
}
