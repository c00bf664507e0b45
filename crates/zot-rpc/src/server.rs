//! Responds to commands and forwards events, in one loop that owns everything.

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
use zot_wire::rpc::{
    Command, CommandFrame, Event, McpServer, RejectedLine, RequestId, StartedData,
};

use crate::event_filter::EventFilter;
use crate::queue::{Job, JobQueue, JobWork};
use crate::token::{Token, decode};
use zot_stdio::signals::{EndSignal, FLUSH_TIME, SIGNAL_GRACE};
use zot_stdio::{Input, Mark, Output};

use crate::connection::{Connection, Ending};

use confirming::Confirming;
use replies::{Replies, Reply};

/// How long a reader may stall once standard input has ended.
///
/// Limit: once its input is closed, `zot rpc` exits if its output is not read for this long.
pub const UNREAD_TIME: Duration = Duration::from_secs(30);

/// How often to check whether standard input was closed while it is not being read.
///
/// Limit: a closed input is noticed after at most this long while commands wait.
const HANG_UP_INTERVAL: Duration = Duration::from_secs(1);

/// How long a tool call waits for confirmation by a client that may not support confirmations: long
/// enough for a user whose client does support them, but has not announced it.
///
/// Limit: the call is refused if the client has not announced that it confirms calls.
pub const UNANNOUNCED_CONFIRM_TIMEOUT: Duration = Duration::from_secs(60);

/// Options of the server.
#[derive(Default)]
pub struct ServeOptions {
    /// When set, the first line must be a `hello` with this token.
    pub token: Option<String>,
    /// How long a call waits for confirmation while the client has not announced that it gives
    /// confirmations; `None` for as long as with any other client.
    pub unannounced_confirm_time: Option<Duration>,
}

/// Why the server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The input ended, or an end was asked for, and all work is done.
    Finished,
    /// The first line did not contain the token.
    BadToken,
    /// The client closed standard output.
    ReaderGone,
    Signalled(EndSignal),
    /// The program that runs the server [stopped](crate::Stop::now) it.
    Stopped,
}

/// Serves one client until it is done, or an end is asked for.
pub async fn serve(
    runtime: Runtime,
    connection: Connection,
    options: ServeOptions,
) -> io::Result<Exit> {
    let Connection {
        mut input,
        output,
        mut ending,
    } = connection;
    let confirming = Confirming::new(&runtime, options.unannounced_confirm_time);
    let mut server = Server {
        runtime: Arc::new(runtime),
        confirming,
        token: options.token.as_deref().map(Token::new),
        output,
        queue: JobQueue::default(),
        running: None,
        is_aborted: false,
        filter: EventFilter::default(),
        replies: Replies::default(),
        background: JoinSet::new(),
        has_worked: false,
        is_unfinished: false,
        reported_end: None,
    };
    let exit = match server.run(&mut input, &mut ending).await {
        Ok(exit) => exit,
        Err(error) => {
            // Running work must end in good order, whatever failed.
            server.wind_down(Exit::ReaderGone, &mut ending).await?;
            return Err(error);
        }
    };
    server.wind_down(exit, &mut ending).await
}

struct Server {
    runtime: Arc<Runtime>,
    /// `None` once the client has sent it.
    token: Option<Token>,
    confirming: Confirming,
    output: Output,
    queue: JobQueue,
    running: Option<EventStream>,
    /// Whether the running job was aborted.
    is_aborted: bool,
    /// The events the client subscribed to.
    filter: EventFilter,
    /// Commands whose responses are still to come.
    replies: Replies,
    /// Background work, abandoned when dropped.
    background: JoinSet<()>,
    /// Whether a prompt has ended.
    has_worked: bool,
    /// Whether work has started and its end has not been reported.
    is_unfinished: bool,
    /// The position in the output where the end of the last work was reported.
    reported_end: Option<Mark>,
}

/// What woke the loop.
enum Wakeup {
    Input(io::Result<()>),
    Event(Option<AgentEvent>),
    Notice(ExtensionNotice),
    McpState(McpServer),
    Reply(Box<Reply>),
    Written(io::Result<()>),
    Exit(Exit),
}

impl Server {
    async fn run(&mut self, input: &mut Input, ending: &mut Ending) -> io::Result<Exit> {
        loop {
            while !self.output.is_overfull()
                && let Some(line) = input.take_line()
            {
                let frame = decode(&line);
                if let Some(exit) = self.handle(frame)? {
                    return Ok(exit);
                }
            }
            // What has not begun goes to the next server: without a response, its client sends it there.
            if !ending.is_finishing() {
                self.start_next()?;
            }
            if input.has_ended() {
                if self.running.is_none() && self.replies.is_empty() {
                    return Ok(Exit::Finished);
                }
                self.runtime.refuse_confirmations();
                self.runtime.decline_questions();
            }
            if ending.is_finishing() && self.is_idle() {
                return Ok(Exit::Finished);
            }
            match self.next_wakeup(input, ending).await {
                Wakeup::Input(result) => result?,
                Wakeup::Event(Some(event)) => self.report(event)?,
                Wakeup::Event(None) => {
                    self.running = None;
                    self.work_ended();
                    self.after_work();
                }
                Wakeup::Notice(notice) => self.forward(notice)?,
                Wakeup::McpState(server) => self.send(Event::McpState(server))?,
                Wakeup::Reply(reply) => self.finish(*reply)?,
                Wakeup::Written(Ok(())) => {}
                Wakeup::Written(Err(error)) => {
                    let exit = self.reader_gone(error)?;
                    let has_more = exit == Exit::Finished && has_more_work(input).await?;
                    return Ok(if has_more { Exit::ReaderGone } else { exit });
                }
                Wakeup::Exit(exit) => return Ok(exit),
            }
        }
    }

    /// Waits for the next thing to do. When the reader falls behind, first events and then input are
    /// paused, so that the pending output stays bounded. An aborted job is not paused: it has little
    /// output left, and its processes must end even if nobody reads.
    ///
    /// Once standard input has ended, the reader may be gone for good, so the wait for it is limited.
    /// While input is paused, its end is checked for periodically.
    async fn next_wakeup(&mut self, input: &mut Input, ending: &mut Ending) -> Wakeup {
        let is_overfull = self.output.is_overfull();
        let is_closed = input.has_ended() || is_overfull && input.is_hung_up();
        self.output.limit_waiting(is_closed.then_some(UNREAD_TIME));
        let takes_input = !input.has_ended() && !is_overfull;
        let takes_events = self.is_aborted || !self.output.is_full();
        tokio::select! {
            exit = ending.next() => exit.map_or(Wakeup::Written(Ok(())), Wakeup::Exit),
            result = input.read_more(), if takes_input => Wakeup::Input(result),
            event = next_event(&mut self.running), if takes_events => Wakeup::Event(event),
            notice = self.runtime.next_notice(), if takes_events => Wakeup::Notice(notice),
            server = self.runtime.next_mcp_change(), if takes_events => Wakeup::McpState(server),
            reply = self.replies.next() => Wakeup::Reply(Box::new(reply)),
            result = self.output.drive() => Wakeup::Written(result),
            Some(_) = self.background.join_next() => Wakeup::Written(Ok(())),
            () = sleep(HANG_UP_INTERVAL), if is_overfull && !is_closed => Wakeup::Written(Ok(())),
        }
    }

    /// Refreshes the models after the first prompt, so that it does not delay the start.
    fn after_work(&mut self) {
        if !std::mem::replace(&mut self.has_worked, true)
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
        // Output is written when the executor is idle, and preparing the next model call comes first.
        if is_result {
            self.output.write_now();
        }
        Ok(())
    }

    /// Writes an event if the client subscribed to it.
    fn send(&mut self, mut event: Event) -> io::Result<()> {
        if let Event::ToolConfirm { id, hint, .. } = &mut event {
            *hint = self.confirming.hint(id, &self.runtime);
        }
        match self.filter.admit(event) {
            Some(event) => self.output.push(&event),
            None => Ok(()),
        }
    }

    /// Returns whether every command so far was answered, except those in the queue, and nothing runs.
    fn is_idle(&self) -> bool {
        self.running.is_none() && self.replies.is_empty()
    }

    fn work_ended(&mut self) {
        if std::mem::take(&mut self.is_unfinished) {
            self.reported_end = Some(self.output.mark());
        }
    }

    /// Returns how to exit after `error`. A closed pipe is a normal end if the end of all work was
    /// written before; other errors, such as a full disk, are failures.
    fn reader_gone(&self, error: io::Error) -> io::Result<Exit> {
        if error.kind() != io::ErrorKind::BrokenPipe {
            return Err(error);
        }
        let is_done = !self.is_unfinished && self.queue.is_empty();
        let is_reported = self
            .reported_end
            .is_some_and(|end| self.output.has_written(end));
        Ok(match is_done && is_reported {
            true => Exit::Finished,
            false => Exit::ReaderGone,
        })
    }

    fn forward(&mut self, notice: ExtensionNotice) -> io::Result<()> {
        if let ExtensionNotice::Problem(problem) = &notice {
            // If standard error is closed, there is nowhere else to report it.
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
                // Not when it was queued: earlier work may have changed the files.
                let started = match mentions {
                    true => {
                        let message = self.runtime.with_mentions(text, images);
                        self.runtime.prompt_mentioning(message, budget)
                    }
                    false => self.runtime.prompt_within(&text, images, budget),
                };
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
                self.is_unfinished = true;
                self.is_aborted = false;
                self.succeed(id, command, data)
            }
            Err(busy) => self.refuse(id, command, "busy", busy.to_string()),
        }
    }

    fn handle(
        &mut self,
        frame: Option<Result<CommandFrame, RejectedLine>>,
    ) -> io::Result<Option<Exit>> {
        let Some(frame) = frame else {
            return Ok(None);
        };
        if let Some(token) = &self.token {
            if let Some(response) = token.refusal(&frame) {
                self.output.push(&response)?;
                return Ok(Some(Exit::BadToken));
            }
            self.token = None;
        }
        match frame {
            Ok(CommandFrame { id, command }) => self.execute(id, command)?,
            Err(RejectedLine {
                id,
                command,
                code,
                error,
            }) => self.refuse(id, &command, code, error)?,
        }
        Ok(None)
    }

    /// Ends running work in good order and writes what the reader still accepts, unless a signal
    /// arrives first.
    async fn wind_down(mut self, exit: Exit, ending: &mut Ending) -> io::Result<Exit> {
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
                self.read_to_end(exit).await;
                self.close_extensions().await;
            };
            let _ = timeout(SIGNAL_GRACE, ending).await;
            if exit != Exit::ReaderGone {
                // The exit code reports the reason, even if the output cannot be written.
                let _ = timeout(FLUSH_TIME, self.output.flush()).await;
            }
            Ok(exit)
        };
        tokio::select! {
            exit = work => exit,
            // The first signal is the reason for the exit.
            later = ending.stopped() => Ok(match exit {
                Exit::Signalled(_) => exit,
                _ => later,
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
                // A failure is reported when the rest is flushed.
                written = self.output.drive(), if is_read => {
                    is_read = written.is_ok();
                    continue;
                }
            };
            let _ = self.forward(notice);
        }
        while let Some(notice) = runtime.take_notice() {
            let _ = self.forward(notice);
        }
    }

    /// Forwards the remaining events of the running job.
    async fn read_to_end(&mut self, exit: Exit) {
        if let Some(mut stream) = self.running.take() {
            while let Some(event) = stream.next().await {
                // Only a bug in serialisation can fail here, and the server ends anyway.
                if exit == Exit::Stopped && matches!(event, AgentEvent::Done) {
                    let _ = self.send(stopped_by_worker());
                }
                let _ = self.report(event);
            }
        }
    }
}

/// Returns the event by which a client knows that its prompt was not finished, although it did not abort
/// it.
fn stopped_by_worker() -> Event {
    Event::Error {
        message: "the worker was stopped before the prompt was done; what it recorded is kept"
            .to_owned(),
        code: Some("worker_lost".to_owned()),
        retry_after_ms: None,
        provider: None,
        alternatives: Vec::new(),
    }
}

/// Returns whether the input holds commands that start work, whose output the client will miss.
async fn has_more_work(input: &mut Input) -> io::Result<bool> {
    loop {
        while let Some(line) = input.take_line() {
            let is_work = |frame: &CommandFrame| {
                matches!(
                    frame.command,
                    Command::Prompt(_) | Command::Compact | Command::InvokeCommand { .. }
                )
            };
            if decode(&line).is_some_and(|frame| frame.as_ref().is_ok_and(is_work)) {
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

/// Waits for the next event of the running job, forever if none runs.
async fn next_event(running: &mut Option<EventStream>) -> Option<AgentEvent> {
    match running {
        Some(stream) => stream.next().await,
        None => std::future::pending().await,
    }
}
