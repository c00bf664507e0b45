//! Answers commands and forwards events, in one loop that owns everything.

mod commands;
mod confirming;
mod prompting;
mod refusal;
mod replies;
mod responding;

use std::io::{self, Write as _};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use zot_sdk::{AgentEvent, Busy, EventStream, ExtensionNotice, Runtime, wire};
use zot_wire::Line;
use zot_wire::rpc::{
    Command, CommandFrame, Event, RequestId, RequestRefused, Response, StartedData,
};

use crate::event_filter::EventFilter;
use crate::queue::{Job, JobQueue, JobWork};
use crate::token::Token;
use zot_stdio::executor::IdleSignal;
use zot_stdio::signals::{EndSignal, EndSignals, FLUSH_TIME, SIGNAL_GRACE};
use zot_stdio::{Input, Mark, Output};

use confirming::Confirming;
use replies::{Replies, Reply};

/// How long a reader may stall once standard input has ended.
///
/// Limit: with its input closed, `zot rpc` exits when nobody reads its output.
const UNREAD_TIME: Duration = Duration::from_secs(30);

/// How often to check whether standard input has ended while it is not read.
///
/// Limit: a closed input is noticed this late while commands wait.
const HANG_UP_INTERVAL: Duration = Duration::from_secs(1);

/// Options of the server.
#[derive(Default)]
pub struct ServeOptions {
    /// When set, the first line must be a `hello` with this token.
    pub token: Option<String>,
    /// How long a call waits for the confirmation of a client that has not announced that it gives
    /// any; when not set, as long as for any other client.
    pub unannounced_confirm_time: Option<Duration>,
}

/// Why the server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Standard input ended and all work is done.
    Finished,
    /// The first line did not contain the token.
    BadToken,
    /// Nobody reads standard output any more.
    ReaderGone,
    Signalled(EndSignal),
}

/// Serves one client on standard input and output until it is done.
pub async fn serve(runtime: Runtime, options: ServeOptions, idle: IdleSignal) -> io::Result<Exit> {
    let confirming = Confirming::new(&runtime, options.unannounced_confirm_time);
    let mut server = Server {
        runtime: Arc::new(runtime),
        confirming,
        token: options.token.as_deref().map(Token::new),
        output: Output::stdout(idle)?,
        queue: JobQueue::default(),
        running: None,
        aborted: false,
        filter: EventFilter::default(),
        replies: Replies::default(),
        background: JoinSet::new(),
        worked: false,
        unfinished: false,
        told_end: None,
    };
    let mut input = Input::stdin()?;
    let mut signals = EndSignals::new()?;
    let exit = match server.run(&mut input, &mut signals).await {
        Ok(exit) => exit,
        Err(error) => {
            // Whatever failed, running work must end in good order.
            server.wind_down(Exit::ReaderGone, &mut signals).await?;
            return Err(error);
        }
    };
    server.wind_down(exit, &mut signals).await
}

struct Server {
    runtime: Arc<Runtime>,
    /// Present until the client has sent it.
    token: Option<Token>,
    confirming: Confirming,
    output: Output,
    queue: JobQueue,
    running: Option<EventStream>,
    /// The running job was told to stop.
    aborted: bool,
    /// The events the client wants.
    filter: EventFilter,
    /// Commands that are answered later.
    replies: Replies,
    /// Background work. Dropping it leaves it undone.
    background: JoinSet<()>,
    /// Whether a prompt has ended yet.
    worked: bool,
    /// Whether work has started whose end was not reported yet.
    unfinished: bool,
    /// Where in the output the end of the last work was reported.
    told_end: Option<Mark>,
}

/// What one iteration of the loop found.
enum Happening {
    Input(io::Result<()>),
    Event(Option<AgentEvent>),
    Notice(ExtensionNotice),
    Reply(Box<Reply>),
    Written(io::Result<()>),
    Exit(Exit),
}

impl Server {
    async fn run(&mut self, input: &mut Input, signals: &mut EndSignals) -> io::Result<Exit> {
        loop {
            while !self.output.is_overfull()
                && let Some(line) = input.take_line()
            {
                let frame = decode(line);
                if let Some(exit) = self.answer(frame)? {
                    return Ok(exit);
                }
            }
            self.start_next()?;
            if input.has_ended() {
                if self.running.is_none() && self.replies.is_empty() {
                    return Ok(Exit::Finished);
                }
                self.runtime.refuse_confirmations();
            }
            match self.next_happening(input, signals).await {
                Happening::Input(result) => result?,
                Happening::Event(Some(event)) => self.report(event)?,
                Happening::Event(None) => {
                    self.running = None;
                    self.work_ended();
                    self.after_work();
                }
                Happening::Notice(notice) => self.pass_on(notice)?,
                Happening::Reply(reply) => self.finish(*reply)?,
                Happening::Written(Ok(())) => {}
                Happening::Written(Err(error)) => {
                    let exit = self.reader_gone(error)?;
                    let has_more = exit == Exit::Finished && is_asked_for_more(input).await?;
                    return Ok(if has_more { Exit::ReaderGone } else { exit });
                }
                Happening::Exit(exit) => return Ok(exit),
            }
        }
    }

    /// Waits for the next thing to do. A reader that is behind stops first events, then input, so
    /// that what waits for it stays bounded. An aborted job has little output left and continues: its
    /// processes must end even if nobody reads.
    ///
    /// Once standard input has ended, the reader may be gone for good, so the wait for it is limited.
    /// While input is not read, its end is checked for now and then.
    async fn next_happening(&mut self, input: &mut Input, signals: &mut EndSignals) -> Happening {
        let is_overfull = self.output.is_overfull();
        let is_alone = input.has_ended() || is_overfull && input.is_hung_up();
        self.output.limit_waiting(is_alone.then_some(UNREAD_TIME));
        let takes_input = !input.has_ended() && !is_overfull;
        let takes_events = self.aborted || !self.output.is_full();
        tokio::select! {
            signal = signals.next() => Happening::Exit(Exit::Signalled(signal)),
            result = input.read_more(), if takes_input => Happening::Input(result),
            event = next_event(&mut self.running), if takes_events => Happening::Event(event),
            notice = self.runtime.next_notice(), if takes_events => Happening::Notice(notice),
            reply = self.replies.next() => Happening::Reply(Box::new(reply)),
            result = self.output.drive() => Happening::Written(result),
            Some(_) = self.background.join_next() => Happening::Written(Ok(())),
            () = sleep(HANG_UP_INTERVAL), if is_overfull && !is_alone => Happening::Written(Ok(())),
        }
    }

    /// Runs when idle, so that it does not delay the start.
    fn after_work(&mut self) {
        if !std::mem::replace(&mut self.worked, true)
            && let Some(refresh) = self.runtime.refresh_models()
        {
            self.background.spawn(refresh);
        }
    }

    fn report(&mut self, event: AgentEvent) -> io::Result<()> {
        let ends_work = matches!(
            event,
            AgentEvent::Done | AgentEvent::CompactionFinished { .. }
        );
        let is_result = matches!(event, AgentEvent::ToolFinished { .. });
        if let Some(event) = wire::event(event) {
            self.send(event)?;
        }
        if ends_work {
            self.work_ended();
        }
        // The next model call is prepared before there is an idle moment.
        if is_result {
            self.output.write_now();
        }
        Ok(())
    }

    /// Writes an event if the client wants it.
    fn send(&mut self, mut event: Event) -> io::Result<()> {
        if let Event::ToolConfirm { id, hint, .. } = &mut event {
            *hint = self.confirming.hint(id, &self.runtime);
        }
        match self.filter.admit(event) {
            Some(event) => self.output.push(&event),
            None => Ok(()),
        }
    }

    fn work_ended(&mut self) {
        if std::mem::take(&mut self.unfinished) {
            self.told_end = Some(self.output.mark());
        }
    }

    /// A reader that has gone away is a normal end, and no loss if the end of all work was reported
    /// before; a full disk is a failure.
    fn reader_gone(&self, error: io::Error) -> io::Result<Exit> {
        if error.kind() != io::ErrorKind::BrokenPipe {
            return Err(error);
        }
        let is_done = !self.unfinished && self.queue.is_empty();
        let is_told = self
            .told_end
            .is_some_and(|end| self.output.has_written(end));
        Ok(match is_done && is_told {
            true => Exit::Finished,
            false => Exit::ReaderGone,
        })
    }

    fn pass_on(&mut self, notice: ExtensionNotice) -> io::Result<()> {
        if let ExtensionNotice::Problem(problem) = &notice {
            // When even standard error is gone, nobody can be warned.
            let _ = writeln!(zot_terminal::stderr(), "{problem}");
        }
        match wire::notice(notice) {
            Some(event) => self.send(event),
            None => Ok(()),
        }
    }

    /// Starts the next queued job when nothing runs.
    fn start_next(&mut self) -> io::Result<()> {
        if self.running.is_some() || self.replies.is_reloading() {
            return Ok(());
        }
        let Some(Job { id, work }) = self.queue.pop() else {
            return Ok(());
        };
        match work {
            JobWork::Prompt {
                text,
                images,
                mentions,
                budget,
            } => {
                // Attached only now: earlier work may have changed the files.
                let (text, images) = match mentions {
                    true => self.runtime.with_mentions(text, images),
                    false => (text, images),
                };
                let started = self.runtime.prompt_within(&text, images, budget);
                self.begin(id, "prompt", started, StartedData { started: true })
            }
            JobWork::Compact => {
                let started = self.runtime.compact();
                self.begin(id, "compact", started, StartedData { started: true })
            }
            JobWork::Command(invoked) => {
                let text = invoked.prompt.as_deref().unwrap_or_default();
                let started = self.runtime.prompt(text, Vec::new());
                self.begin(id, "invoke_command", started, *invoked)
            }
        }
    }

    fn begin<T: Serialize>(
        &mut self,
        id: Option<RequestId>,
        command: &str,
        started: Result<EventStream, Busy>,
        data: T,
    ) -> io::Result<()> {
        match started {
            Ok(stream) => {
                self.running = Some(stream);
                self.unfinished = true;
                self.aborted = false;
                self.succeed(id, command, data)
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

    /// Ends running work in good order and writes what the reader still accepts. A signal cuts this
    /// short.
    async fn wind_down(mut self, exit: Exit, signals: &mut EndSignals) -> io::Result<Exit> {
        let work = async {
            if exit == Exit::Finished {
                self.output.limit_waiting(Some(UNREAD_TIME));
                self.close_extensions().await;
                // The reader may be slow, but must not stall.
                return match self.output.flush().await {
                    Ok(()) => Ok(exit),
                    Err(error) => self.reader_gone(error),
                };
            }
            self.runtime.cancel();
            self.replies.abandon();
            let ending = async {
                self.read_to_end().await;
                self.close_extensions().await;
            };
            let _ = timeout(SIGNAL_GRACE, ending).await;
            if exit != Exit::ReaderGone {
                // Not written in time, or not at all: the exit code says why.
                let _ = timeout(FLUSH_TIME, self.output.flush()).await;
            }
            Ok(exit)
        };
        tokio::select! {
            exit = work => exit,
            // The first signal tells best why the process ends.
            signal = signals.next() => Ok(match exit {
                Exit::Signalled(_) => exit,
                _ => Exit::Signalled(signal),
            }),
        }
    }

    /// Shuts extensions down and writes their last notices.
    async fn close_extensions(&mut self) {
        let runtime = Arc::clone(&self.runtime);
        let mut closing = pin!(runtime.close());
        let mut is_read = true;
        loop {
            let notice = tokio::select! {
                () = &mut closing => break,
                notice = runtime.next_notice() => notice,
                // A failure is reported when the rest is written.
                written = self.output.drive(), if is_read => {
                    is_read = written.is_ok();
                    continue;
                }
            };
            let _ = self.pass_on(notice);
        }
        while let Some(notice) = runtime.take_notice() {
            let _ = self.pass_on(notice);
        }
    }

    /// Forwards the remaining events of the running job.
    async fn read_to_end(&mut self) {
        if let Some(mut stream) = self.running.take() {
            while let Some(event) = stream.next().await {
                // Only a serialisation bug fails here, and nobody is left to report it to.
                let _ = self.report(event);
            }
        }
    }
}

/// Whether commands that start work are waiting whose output a client that has stopped reading will
/// miss.
async fn is_asked_for_more(input: &mut Input) -> io::Result<bool> {
    loop {
        while let Some(line) = input.take_line() {
            let is_work = |frame: &CommandFrame| {
                matches!(
                    frame.command,
                    Command::Prompt(_) | Command::Compact | Command::InvokeCommand { .. }
                )
            };
            if decode(line).is_some_and(|frame| frame.as_ref().is_ok_and(is_work)) {
                return Ok(true);
            }
        }
        if input.has_ended() {
            return Ok(false);
        }
        match timeout(Duration::ZERO, input.read_more()).await {
            Ok(read) => read?,
            Err(_) => return Ok(false),
        }
    }
}

/// Waits for the next event of the running job, for ever if none runs.
async fn next_event(running: &mut Option<EventStream>) -> Option<AgentEvent> {
    match running {
        Some(stream) => stream.next().await,
        None => std::future::pending().await,
    }
}

/// Parses the command on a line; `None` for a blank line.
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
                zot_wire::MAX_WIRE_LINE_BYTES
            ),
        })),
    }
}

/// Returns the answer to a first line without the token.
fn refusal(token: &Token, frame: &Result<CommandFrame, RequestRefused>) -> Option<Response<()>> {
    let (id, command, error) = match frame {
        Ok(CommandFrame {
            id,
            command: command @ Command::Hello { token: shown, .. },
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
