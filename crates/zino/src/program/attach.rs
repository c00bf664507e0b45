//! `zino attach`: a session on whichever worker, for a program that speaks `zot rpc`.

mod link;
mod worker_lines;

use std::io::{self, Write as _};
use std::time::Duration;

use tokio::time::timeout;
use zino_agent::{Attachment, LinkEnd};
use zot_conversation::BoxFuture;
use zot_process::{EndSignal, EndSignals};
use zot_rpc::{Token, TokenCheck};
use zot_stdio::executor::IdleSignal;
use zot_stdio::signals::FLUSH_TIME;
use zot_stdio::{Input, Output};
use zot_wire::Line;
use zot_wire::rpc::Command;

use crate::agents::profile::WRITING_TOOLS;
use crate::agents::wire::ProfileFacts;
use crate::bus::{Bus, BusError};
use crate::config::Config;
use crate::logging::{Level, Log};

use link::{Entrance, Link, LinkEvent, OpenFailure};

/// The name in the log lines, and of this process on the bus.
const CLIENT: &str = "client";

/// How long a session that another worker still holds is waited for: its lease, if that worker is dead,
/// and a while for the next one.
pub const DEFAULT_WAIT: Duration = Duration::from_secs(12);

/// The session to attach to.
pub struct AttachRequest {
    /// An existing session; a new one if `None`.
    pub session: Option<String>,
    /// The profile of its workers; the only one of the configuration, or `default`, if `None`.
    pub profile: Option<String>,
    /// How long to wait for a worker that opens the session.
    pub wait: Duration,
    /// What is set before the client's first command.
    pub settings: Vec<Command>,
    pub demands: Demands,
    /// What the client has to send first, if anything.
    pub token: Option<Token>,
}

/// What the client relies on, and only a profile can set.
#[derive(Debug, Clone, Default)]
pub struct Demands {
    /// The tools whose calls it expects to confirm, or an empty list for all.
    pub confirm: Option<Vec<String>>,
    pub jail: bool,
}

impl Demands {
    /// Returns what a profile lacks.
    fn unmet(&self, profile: &ProfileFacts) -> Option<&'static str> {
        let is_confirmed = match &self.confirm {
            None => true,
            Some(tools) => match profile.approve.as_str() {
                "always" => true,
                "writes" => {
                    let is_writing = |tool: &String| WRITING_TOOLS.contains(&tool.as_str());
                    !tools.is_empty() && tools.iter().all(is_writing)
                }
                _ => false,
            },
        };
        if !is_confirmed {
            return Some("--confirm: set approve = \"always\"");
        }
        (self.jail && !profile.jail).then_some("--jail: set jail = true")
    }
}

/// Why the client could not be served.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    #[error(
        "sessions are reached over the bus: set [bus] url, or ZINO_BUS_URL, to the address of a NATS server"
    )]
    NoBus,
    #[error("which profile? name it with --profile (there are {})", .0.join(", "))]
    NoProfile(Vec<String>),
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error("{}", .0.message)]
    NotOpened(OpenFailure),
    #[error("{demand} in [agents.{profile}] of the workers")]
    Unmet {
        profile: String,
        demand: &'static str,
    },
    #[error("the worker refused an argument: {0}")]
    Refused(String),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttachExit {
    /// The input ended and all work is done.
    Finished,
    /// The input ended, and the worker was lost before all work was done.
    WorkerLost,
    /// The client closed the output before all work was done.
    ReaderGone,
    /// The first line did not contain the token.
    BadToken,
    Signalled(EndSignal),
}

/// Serves one client on standard input and output until it is done.
pub async fn attach(
    config: &Config,
    request: AttachRequest,
    idle: IdleSignal,
) -> Result<AttachExit, AttachError> {
    let mut signals = EndSignals::new()?;
    let profile = request.profile.map_or_else(|| only_profile(config), Ok)?;
    // Standard error is the client's, which shows it when something goes wrong.
    let log = Log::new(CLIENT, config.log_level().max(Level::Warning));
    let bus = Bus::connect(config, &config.bus_identity(CLIENT), log).await?;
    let mut entrance = Entrance {
        bus: bus.ok_or(AttachError::NoBus)?,
        profile,
        session: request.session,
        wait: request.wait,
    };
    let link = tokio::select! {
        opened = entrance.open() => opened.map_err(AttachError::NotOpened)?,
        signal = signals.next() => return Ok(AttachExit::Signalled(signal)),
    };
    if let Some(demand) = request.demands.unmet(link.profile()) {
        let profile = entrance.profile;
        return Err(AttachError::Unmet { profile, demand });
    }
    // Standard error may be closed.
    let _ = writeln!(zot_terminal::stderr(), "zino: session {}", link.session());
    entrance.session = Some(link.session().to_owned());
    // The lease of a worker that died takes a while to end, however short the client wanted to wait first.
    entrance.wait = entrance.wait.max(DEFAULT_WAIT);
    let mut attachment = Attachment::with_settings(request.settings);
    attachment.opened();
    let bus = entrance.bus.clone();
    let client = Client {
        entrance,
        attachment,
        link: Some(link),
        opening: None,
        input: Input::stdin()?,
        output: Output::stdout(idle)?,
        is_lost_at_end: false,
        token: request.token,
        is_impostor: false,
    };
    let exit = client.run(&mut signals).await;
    // The worker hears at once that nobody waits for it.
    bus.flush().await;
    exit
}

/// The profile when neither the command nor the configuration names one.
const DEFAULT_PROFILE: &str = "default";

fn only_profile(config: &Config) -> Result<String, AttachError> {
    let names: Vec<String> = config.agents.keys().cloned().collect();
    match names.as_slice() {
        [only] => Ok(only.clone()),
        // The configuration of a client need not repeat that of the workers.
        [] => Ok(DEFAULT_PROFILE.to_owned()),
        _ => Err(AttachError::NoProfile(names)),
    }
}

/// The client of a session.
struct Client {
    entrance: Entrance,
    attachment: Attachment,
    link: Option<Link>,
    opening: Option<BoxFuture<'static, Result<Link, OpenFailure>>>,
    input: Input,
    output: Output,
    /// Whether the worker was lost after the input had ended.
    is_lost_at_end: bool,
    /// `None` once the client has sent it.
    token: Option<Token>,
    /// Whether the first line did not contain the token.
    is_impostor: bool,
}

/// What woke the loop.
enum Wakeup {
    Read(io::Result<()>),
    Worker(LinkEvent),
    Opened(Box<Result<Link, OpenFailure>>),
    Written(io::Result<()>),
    Signal(EndSignal),
}

impl Client {
    async fn run(mut self, signals: &mut EndSignals) -> Result<AttachExit, AttachError> {
        loop {
            self.take_commands();
            if let Some(problem) = self.attachment.refused_argument() {
                return Err(AttachError::Refused(problem));
            }
            self.pass_on();
            if self.is_impostor {
                let _ = timeout(FLUSH_TIME, self.output.flush()).await;
                return Ok(AttachExit::BadToken);
            }
            if self.is_done() {
                self.output.limit_waiting(Some(zot_rpc::UNREAD_TIME));
                return Ok(match self.output.flush().await {
                    Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                        return Err(error.into());
                    }
                    _ if self.is_lost_at_end => AttachExit::WorkerLost,
                    _ => AttachExit::Finished,
                });
            }
            match self.next_wakeup(signals).await {
                Wakeup::Read(read) => read?,
                Wakeup::Worker(event) => self.worker_event(event),
                Wakeup::Opened(opened) => self.opened(*opened),
                Wakeup::Written(Ok(())) => {}
                Wakeup::Written(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                    return Ok(match self.attachment.is_idle() {
                        true => AttachExit::Finished,
                        false => AttachExit::ReaderGone,
                    });
                }
                Wakeup::Written(Err(error)) => return Err(error.into()),
                Wakeup::Signal(signal) => return Ok(self.signalled(signal).await),
            }
        }
    }

    fn take_commands(&mut self) {
        while self.attachment.takes_commands()
            && !self.output.is_overfull()
            && !self.is_impostor
            && let Some(line) = self.input.take_line()
        {
            if let Some(token) = &self.token {
                match token.check(&line) {
                    TokenCheck::Missing => continue,
                    TokenCheck::Right => self.token = None,
                    TokenCheck::Wrong(response) => {
                        self.attachment.refuse_client(&response);
                        self.is_impostor = true;
                        return;
                    }
                }
            }
            match line {
                Line::Complete(line) => self.attachment.command(line),
                Line::TooLong => self.attachment.overlong_command(),
            }
        }
    }

    /// Hands over what the client and the worker are to read, and opens the session where a command
    /// needs it.
    fn pass_on(&mut self) {
        let lines = self.attachment.take_for_client();
        if !lines.is_empty() {
            self.output.push_text(&String::from_utf8_lossy(&lines));
        }
        if let Some(link) = &mut self.link {
            link.send(self.attachment.take_for_worker());
            let has_all = self.input.has_ended() && self.attachment.takes_commands();
            if has_all && !self.attachment.holds_commands() {
                link.finish();
            }
        } else if self.opening.is_none() && self.attachment.wants_worker() {
            let entrance = self.entrance.clone();
            self.opening = Some(Box::pin(async move { entrance.open().await }));
        }
    }

    fn is_done(&self) -> bool {
        self.input.has_ended() && self.link.is_none() && self.opening.is_none()
    }

    async fn next_wakeup(&mut self, signals: &mut EndSignals) -> Wakeup {
        let is_overfull = self.output.is_overfull();
        let takes_input =
            !self.input.has_ended() && !is_overfull && self.attachment.takes_commands();
        let takes_output = !self.output.is_full();
        let is_ended = self.input.has_ended();
        self.output
            .limit_waiting(is_ended.then_some(zot_rpc::UNREAD_TIME));
        tokio::select! {
            signal = signals.next() => Wakeup::Signal(signal),
            read = self.input.read_more(), if takes_input => Wakeup::Read(read),
            event = next_event(&mut self.link, takes_output) => Wakeup::Worker(event),
            opened = opened(&mut self.opening) => Wakeup::Opened(Box::new(opened)),
            written = self.output.drive() => Wakeup::Written(written),
        }
    }

    fn worker_event(&mut self, event: LinkEvent) {
        let Some(link) = &mut self.link else {
            return;
        };
        let broken = link.take_lines(|line| self.attachment.worker_line(line));
        let end = match event {
            LinkEvent::Ended(end) => Some(broken.unwrap_or(end)),
            LinkEvent::Progress => broken,
        };
        if let Some(end) = end {
            self.link = None;
            self.is_lost_at_end |= self.input.has_ended() && end != LinkEnd::Finished;
            self.attachment.ended(&end);
        }
    }

    fn opened(&mut self, opened: Result<Link, OpenFailure>) {
        self.opening = None;
        match opened {
            Ok(link) => {
                self.link = Some(link);
                self.attachment.opened();
            }
            Err(failure) => {
                self.is_lost_at_end |= self.input.has_ended();
                self.attachment.refused(&failure.code, &failure.message);
            }
        }
    }

    /// Ends what runs and shows how, as far as the client still reads.
    async fn signalled(mut self, signal: EndSignal) -> AttachExit {
        // Its worker aborts what runs.
        self.link = None;
        let reason = "zino attach was ended by a signal".to_owned();
        self.attachment.ended(&LinkEnd::Lost(reason));
        self.pass_on();
        let _ = timeout(FLUSH_TIME, self.output.flush()).await;
        AttachExit::Signalled(signal)
    }
}

/// Waits for the worker, forever if there is none. A client that reads nothing can still send an abort.
async fn next_event(link: &mut Option<Link>, takes_output: bool) -> LinkEvent {
    match link {
        Some(link) if takes_output => link.next().await,
        Some(link) => link.next_sent().await,
        None => std::future::pending().await,
    }
}

/// Waits for a session that is being opened, forever if none is.
async fn opened(
    opening: &mut Option<BoxFuture<'static, Result<Link, OpenFailure>>>,
) -> Result<Link, OpenFailure> {
    match opening {
        Some(opening) => opening.await,
        None => std::future::pending().await,
    }
}
