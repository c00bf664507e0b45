//! Answers commands and forwards events, in one loop that owns everything.

mod commands;

use std::collections::HashSet;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use zot_sdk::{Event, EventStream, Runtime};
use zot_wire::Line;
use zot_wire::rpc::{Command, CommandFrame, RequestRefused, Response, StartedData};

use crate::executor::IdleSignal;
use crate::queue::{Job, JobQueue, JobWork};
use crate::stdio::{Input, Output};
use crate::token::Token;

/// How the server is to behave.
#[derive(Default)]
pub struct ServeOptions {
    /// When set, the first line must be a `hello` that shows it.
    pub token: Option<String>,
}

/// Why the server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Standard input ended and all work is done.
    Finished,
    /// The first line did not show the token.
    BadToken,
    /// Nobody reads standard output any more.
    ReaderGone,
    Interrupted,
    Terminated,
}

/// Serves one client on standard input and output until it is done.
pub async fn serve(runtime: Runtime, options: ServeOptions, idle: IdleSignal) -> io::Result<Exit> {
    let mut server = Server {
        runtime,
        token: options.token.as_deref().map(Token::new),
        output: Output::stdout(idle)?,
        queue: JobQueue::default(),
        running: None,
        wanted: None,
    };
    let mut input = Input::stdin()?;
    let mut signals = Signals::new()?;
    let exit = server.run(&mut input, &mut signals).await?;
    server.wind_down(exit, &mut signals).await;
    Ok(exit)
}

/// The signals that end the process.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
        }
    }
}

struct Server {
    runtime: Runtime,
    /// Present until it has been shown.
    token: Option<Token>,
    output: Output,
    queue: JobQueue,
    running: Option<EventStream>,
    /// The types of events the client wants; all when not set.
    wanted: Option<HashSet<&'static str>>,
}

/// What one turn of the loop found.
enum Happening {
    Input(io::Result<()>),
    Event(Option<Event>),
    Written(io::Result<()>),
    Exit(Exit),
}

impl Server {
    async fn run(&mut self, input: &mut Input, signals: &mut Signals) -> io::Result<Exit> {
        loop {
            while !self.output.is_full()
                && let Some(line) = input.take_line()
            {
                let frame = decode(line);
                if let Some(exit) = self.answer(frame)? {
                    return Ok(exit);
                }
            }
            self.start_next()?;
            if input.has_ended() {
                if self.running.is_none() {
                    return Ok(Exit::Finished);
                }
                self.runtime.refuse_confirmations();
            }
            match self.next_happening(input, signals).await {
                Happening::Input(result) => result?,
                Happening::Event(Some(event)) => self.report(&event)?,
                Happening::Event(None) => self.running = None,
                Happening::Written(Ok(())) => {}
                Happening::Written(Err(_)) => return Ok(Exit::ReaderGone),
                Happening::Exit(exit) => return Ok(exit),
            }
        }
    }

    /// Waits for the next thing to do. A reader that is behind stops both input and events, so that
    /// what waits for it stays bounded.
    async fn next_happening(&mut self, input: &mut Input, signals: &mut Signals) -> Happening {
        let open = !self.output.is_full();
        tokio::select! {
            exit = signals.next() => Happening::Exit(exit),
            result = input.read_more(), if open && !input.has_ended() => Happening::Input(result),
            event = next_event(&mut self.running), if open => Happening::Event(event),
            result = self.output.drive() => Happening::Written(result),
        }
    }

    fn report(&mut self, event: &Event) -> io::Result<()> {
        match &self.wanted {
            Some(wanted) if !wanted.contains(event.type_name()) => Ok(()),
            _ => self.output.push(event),
        }
    }

    /// Begins the next queued job when nothing runs.
    fn start_next(&mut self) -> io::Result<()> {
        if self.running.is_some() {
            return Ok(());
        }
        let Some(Job { id, work }) = self.queue.pop() else {
            return Ok(());
        };
        let (command, started) = match work {
            JobWork::Prompt {
                text,
                images,
                budget,
            } => ("prompt", self.runtime.prompt_within(&text, images, budget)),
            JobWork::Compact => ("compact", self.runtime.compact()),
        };
        match started {
            Ok(stream) => {
                self.running = Some(stream);
                self.succeed(id, command, StartedData { started: true })
            }
            Err(busy) => self.refuse(id, command, "busy", busy.to_string()),
        }
    }

    fn answer(
        &mut self,
        frame: Option<Result<CommandFrame, RequestRefused>>,
    ) -> io::Result<Option<Exit>> {
        let Some(frame) = frame else {
            return Ok(None);
        };
        if let Some(token) = &self.token {
            if let Some(refused) = refusal(token, &frame) {
                self.output.push(&refused)?;
                return Ok(Some(Exit::BadToken));
            }
            self.token = None;
        }
        match frame {
            Ok(CommandFrame { id, command }) => self.execute(id, command)?,
            Err(RequestRefused {
                id,
                command,
                code,
                error,
            }) => self.refuse(id, &command, code, error)?,
        }
        Ok(None)
    }

    /// Ends what is running in good order and writes what the reader still takes. A second signal
    /// cuts it short.
    async fn wind_down(mut self, exit: Exit, signals: &mut Signals) {
        let work = async {
            if exit != Exit::Finished {
                self.runtime.cancel();
            }
            if let Some(mut stream) = self.running.take() {
                while let Some(event) = stream.next().await {
                    // Only a serialisation bug fails here, and there is nobody left to tell.
                    let _ = self.report(&event);
                }
            }
            if exit == Exit::ReaderGone {
                self.output.discard();
            }
            let _ = self.output.flush().await;
        };
        tokio::select! {
            () = work => {}
            _ = signals.next() => {}
        }
    }
}

/// The next event of the running job; never returns while there is none.
async fn next_event(running: &mut Option<EventStream>) -> Option<Event> {
    match running {
        Some(stream) => stream.next().await,
        None => std::future::pending().await,
    }
}

/// The command on a line; `None` for a blank one.
fn decode(line: Line<'_>) -> Option<Result<CommandFrame, RequestRefused>> {
    match line {
        Line::Complete(line) if line.trim_ascii().is_empty() => None,
        Line::Complete(line) => Some(CommandFrame::parse(line)),
        Line::TooLong => Some(Err(RequestRefused {
            id: None,
            command: String::new(),
            code: "line_too_long",
            error: format!(
                "line too long: the limit is {} bytes",
                zot_wire::MAX_LINE_BYTES
            ),
        })),
    }
}

/// What to answer a first line that does not show the token.
fn refusal(token: &Token, frame: &Result<CommandFrame, RequestRefused>) -> Option<Response<()>> {
    let (id, command, error) = match frame {
        Ok(CommandFrame {
            id,
            command: command @ Command::Hello { token: shown },
        }) => {
            if token.matches(shown.as_deref().unwrap_or_default()) {
                return None;
            }
            (id, command.name(), "invalid token")
        }
        Ok(CommandFrame { id, command }) => (
            id,
            command.name(),
            "auth required: send hello with token first",
        ),
        Err(refused) => (
            &refused.id,
            refused.command.as_str(),
            "auth required: send hello with token first",
        ),
    };
    Some(Response::failure(
        id.clone(),
        command,
        "unauthorized",
        error,
    ))
}
