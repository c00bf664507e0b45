//! The life of a server's process: its output is read until it ends, or is ended.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use zot_extension_contract::{Level, Process, ProcessSandbox, SandboxRemark};
use zot_process::ProcessGroup;
use zot_process::streams::{Channel, OutboxEnd, Throttle};
use zot_wire::{Line, LineDecoder};

use super::Shared;
use crate::json_rpc::{
    INTERNAL_ERROR, Incoming, RequestId, RpcError, decode_batch, encode_response,
};
use crate::log::ServerLog;
use crate::transport::CallError;

/// The longest message of a server.
///
/// Limit: the line is skipped; the call whose answer it was fails.
const MAX_MCP_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Limit: the server is read more slowly.
const MCP_LINES_PER_SECOND: u32 = 5_000;
/// Limit: the server is read more slowly.
const MCP_BYTES_PER_SECOND: u32 = 64 * 1024 * 1024;
/// Limit: standard error of a server is read more slowly.
const MCP_LOG_BYTES_PER_SECOND: u32 = 256 * 1024;

/// How long a server may exceed the rate limits.
///
/// Limit: a server that floods its output for this long is terminated.
const MCP_FLOOD_TIME: Duration = Duration::from_secs(10);

/// How long a server may take to exit once its input is closed.
///
/// Limit: the server is sent SIGTERM.
const MCP_LEAVE_TIME: Duration = Duration::from_secs(2);

/// How long a server may take to exit after SIGTERM.
///
/// Limit: the server and everything it started is killed.
const MCP_TERMINATION_TIME: Duration = Duration::from_secs(1);

/// How long a server may run on after closing its output: an exiting process closes its output first.
///
/// Limit: a server that closed its output is terminated.
const MCP_OUTPUT_CLOSED_TIME: Duration = Duration::from_secs(1);

/// How much is still read after the process has exited: its last output is usually a response.
///
/// Limit: the rest of the output is lost.
const MCP_FINAL_OUTPUT_BYTES: usize = 1024 * 1024;

/// Requests of a server that are being answered.
///
/// Limit: a further request is refused.
const MAX_PROGRAM_REQUESTS: usize = 32;

/// How much of the end of its standard error explains the end of a server.
///
/// Limit: the explanation is cut; the log has all of it.
const MAX_LAST_WORDS_BYTES: usize = 300;

type Answer = (RequestId, Result<Box<RawValue>, RpcError>);

pub(super) struct Life {
    shared: Arc<Shared>,
    group: Option<ProcessGroup>,
    /// Dropped after the program.
    sandbox: Arc<ProcessSandbox>,
    decoder: LineDecoder,
    lines: Throttle,
    bytes: Throttle,
    log_bytes: Throttle,
    output: Channel,
    errors: Channel,
    answers: JoinSet<Answer>,
    /// The end of what it wrote to its standard error.
    last_words: Vec<u8>,
    /// Whether it has ever written a line to its output.
    has_spoken: bool,
    /// It closed its output, and has until then to exit.
    leaving: Option<Instant>,
}

enum EndCause {
    Stopped,
    Exited,
    Misbehaved(String),
}

impl Life {
    pub(super) fn begin(shared: Arc<Shared>, process: Process) -> Self {
        let now = Instant::now();
        shared.outbox.open(process.stdin);
        Self {
            shared,
            group: Some(process.group),
            sandbox: Arc::new(process.sandbox),
            decoder: LineDecoder::with_limit(MAX_MCP_LINE_BYTES),
            lines: Throttle::new(MCP_LINES_PER_SECOND, now),
            bytes: Throttle::new(MCP_BYTES_PER_SECOND, now),
            log_bytes: Throttle::new(MCP_LOG_BYTES_PER_SECOND, now),
            output: Channel::new(process.stdout),
            errors: Channel::new(process.stderr),
            answers: JoinSet::new(),
            last_words: Vec::new(),
            has_spoken: false,
            leaving: None,
        }
    }

    pub(super) async fn run(mut self, stop: CancellationToken) {
        let Some(group) = self.group.take() else {
            return;
        };
        let cause = self.read(&group, &stop).await;
        // Nobody waits for the answers any more.
        self.answers.abort_all();
        match cause {
            EndCause::Stopped => {
                self.finish("the server was stopped");
                self.shut_down(group).await;
            }
            EndCause::Exited => {
                self.read_remaining_output();
                let reason = self.describe_exit(&group);
                self.shared.log.note(&reason);
                self.finish(&reason);
                self.shared.outbox.close();
                if group.close().await.had_survivors {
                    self.shared
                        .log
                        .note("it left processes behind, which were ended");
                }
            }
            EndCause::Misbehaved(reason) => {
                self.shared.log.note(&format!("{reason}; it is ended"));
                self.finish(&reason);
                self.shared.outbox.close();
                group.end(MCP_TERMINATION_TIME).await;
            }
        }
        report(&self.shared.log, &self.sandbox.remarks());
    }

    async fn read(&mut self, group: &ProcessGroup, stop: &CancellationToken) -> EndCause {
        let (shared, sandbox) = (Arc::clone(&self.shared), Arc::clone(&self.sandbox));
        loop {
            tokio::select! {
                // Flooded output is always ready to be read, so it comes last.
                biased;
                () = stop.cancelled() => return EndCause::Stopped,
                () = group.exited() => return EndCause::Exited,
                () = until(self.next_deadline()) => {
                    let now = Instant::now();
                    self.output.unpause(now);
                    self.errors.unpause(now);
                    if self.leaving.is_some_and(|until| until <= now) {
                        return EndCause::Misbehaved("it closed its output".to_owned());
                    }
                }
                remarks = sandbox.noticed() => report(&shared.log, &remarks),
                end = shared.outbox.drive() => match end {
                    OutboxEnd::Stalled => {
                        return EndCause::Misbehaved("it does not read its input".to_owned());
                    }
                    OutboxEnd::Closed(error) => {
                        shared.log.note(&format!("it closed its input: {error}"));
                        shared.outbox.close();
                    }
                },
                Some(answered) = self.answers.join_next(), if !self.answers.is_empty() => {
                    if let Ok((id, result)) = answered {
                        self.respond(&id, &result);
                    }
                }
                count = self.errors.read() => {
                    if let Some(count) = count {
                        self.handle_errors(count);
                    }
                }
                count = self.output.read() => {
                    if let Some(cause) = self.handle_output(count) {
                        return cause;
                    }
                }
            }
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let pauses = [self.output.paused_until, self.errors.paused_until];
        pauses.into_iter().flatten().chain(self.leaving).min()
    }

    fn handle_errors(&mut self, count: usize) {
        let bytes = self.errors.bytes(count);
        self.shared.log.append(bytes);
        self.last_words.extend_from_slice(bytes);
        let excess = self.last_words.len().saturating_sub(MAX_LAST_WORDS_BYTES);
        self.last_words.drain(..excess);
        self.errors.paused_until = self.log_bytes.take(count, Instant::now());
    }

    fn handle_output(&mut self, count: Option<usize>) -> Option<EndCause> {
        let Some(count) = count else {
            if !self.output.is_open {
                self.leaving = Some(Instant::now() + MCP_OUTPUT_CLOSED_TIME);
            }
            return None;
        };
        let lines = self.handle_lines(count);
        let now = Instant::now();
        let line_pause = self.lines.take(lines, now);
        let byte_pause = self.bytes.take(count, now);
        self.output.paused_until = line_pause.max(byte_pause);
        let flooding = self.lines.pausing_for(now).max(self.bytes.pausing_for(now));
        if flooding.is_zero() && self.output.paused_until.is_some() {
            self.shared
                .log
                .remark("it floods its output and is slowed down");
        }
        (flooding > MCP_FLOOD_TIME).then(|| {
            let seconds = flooding.as_secs();
            EndCause::Misbehaved(format!("it flooded its output for {seconds} seconds"))
        })
    }

    fn handle_lines(&mut self, count: usize) -> usize {
        let Self {
            shared,
            decoder,
            output,
            answers,
            ..
        } = self;
        decoder.feed(output.bytes(count));
        let mut lines = 0;
        while let Some(line) = decoder.next_line() {
            lines += 1;
            match line {
                Line::Complete(line) => receive(shared, answers, line.trim_ascii()),
                Line::TooLong => {
                    let reason = format!("a message longer than {MAX_MCP_LINE_BYTES} bytes");
                    shared.log.remark(&format!("{reason} was skipped"));
                    let error = CallError::Invalid(format!("the server sent {reason}"));
                    shared.pending.fail_the_only_one(error);
                }
            }
        }
        self.has_spoken |= lines > 0;
        lines
    }

    fn respond(&self, id: &RequestId, result: &Result<Box<RawValue>, RpcError>) {
        respond(&self.shared, id, result.as_deref());
    }

    fn describe_exit(&self, group: &ProcessGroup) -> String {
        let status = match group.status() {
            Some(status) => status.to_string(),
            None => "unknown status".to_owned(),
        };
        let words = String::from_utf8_lossy(&self.last_words);
        let last = words.lines().rev().find(|line| !line.trim().is_empty());
        let mut reason = format!("it exited ({status})");
        if let Some(last) = last {
            reason.push_str(&format!(": {}", last.trim()));
        }
        let level = self.sandbox.level();
        let failed = group.status().is_none_or(|status| !status.success());
        // It may not have found its own files.
        if level != Level::Off && failed && !self.has_spoken {
            reason.push_str(&format!(
                "; it is confined (sandbox {level}), and permissions.fs_read can show it files"
            ));
        }
        reason
    }

    /// Reads what the process wrote before it exited, without waiting for more.
    fn read_remaining_output(&mut self) {
        let mut total = 0;
        while total < MCP_FINAL_OUTPUT_BYTES
            && let Some(count) = self.output.read_now()
        {
            total += count;
            self.handle_lines(count);
        }
        while total < MCP_FINAL_OUTPUT_BYTES
            && let Some(count) = self.errors.read_now()
        {
            total += count;
            self.handle_errors(count);
        }
    }

    /// Fails what waits, and what will be asked.
    fn finish(&self, reason: &str) {
        self.shared.end.send_replace(Some(reason.to_owned()));
        self.shared.pending.fail_all(reason);
    }

    /// Closes its input, which means the end to every server; those that do not obey are killed.
    async fn shut_down(&mut self, group: ProcessGroup) {
        let shared = Arc::clone(&self.shared);
        let leaving = async {
            shared.outbox.flushed().await;
            shared.outbox.close();
            group.exited().await;
        };
        let has_left = tokio::select! {
            left = timeout(MCP_LEAVE_TIME, leaving) => left.is_ok(),
            never = self.drain() => match never {},
        };
        if has_left {
            group.close().await;
        } else {
            shared.outbox.close();
            shared
                .log
                .note("it goes on although its input is closed; it is ended");
            group.end(MCP_TERMINATION_TIME).await;
        }
    }

    /// Reads and forgets its output, so that it is not stuck writing. Its errors are still logged.
    async fn drain(&mut self) -> std::convert::Infallible {
        self.output.paused_until = None;
        self.errors.paused_until = None;
        loop {
            tokio::select! {
                Some(count) = self.errors.read() => self.handle_errors(count),
                Some(_) = self.output.read() => {}
                else => std::future::pending::<()>().await,
            }
            self.errors.paused_until = None;
        }
    }
}

impl Drop for Life {
    /// Without its executor it ends before it could say so, and nobody must wait for it.
    fn drop(&mut self) {
        if self.shared.end.borrow().is_none() {
            self.finish("the program that uses the server is ending");
        }
    }
}

/// Logs what the sandbox of a server noticed; what concerns the user is told to them, too.
fn report(log: &ServerLog, remarks: &[SandboxRemark]) {
    for remark in remarks {
        match remark.concerns_user {
            true => log.warn(&remark.text),
            false => log.note(&remark.text),
        }
    }
}

fn receive(shared: &Arc<Shared>, answers: &mut JoinSet<Answer>, line: &[u8]) {
    if line.is_empty() {
        return;
    }
    for message in decode_batch(line) {
        let message = match message {
            Ok(message) => message,
            Err(error) => {
                let text = String::from_utf8_lossy(&line[..line.len().min(MAX_LAST_WORDS_BYTES)]);
                shared
                    .log
                    .remark(&format!("stray line on its output ({error}): {text}"));
                continue;
            }
        };
        match message {
            Incoming::Response { id, result } => {
                if !shared.pending.resolve(&id, result.map_err(Into::into)) {
                    shared
                        .log
                        .remark(&format!("no request waits for {id:?} (any more)"));
                }
            }
            Incoming::Refusal(error) => {
                let note = format!("an error that names no request: {error}");
                if !shared.pending.fail_the_only_one(error.into()) {
                    shared.log.remark(&note);
                }
            }
            Incoming::Notification { method, params } => {
                shared.inbox.notification(&method, params.as_deref());
            }
            Incoming::Request { id, method, params } => {
                if answers.len() >= MAX_PROGRAM_REQUESTS {
                    let refusal = RpcError {
                        code: INTERNAL_ERROR,
                        message: "too many requests at once".to_owned(),
                        data: None,
                    };
                    respond(shared, &id, Err(&refusal));
                    continue;
                }
                let inbox = Arc::clone(&shared.inbox);
                answers.spawn(async move {
                    let result = inbox.request(&method, params.as_deref()).await;
                    (id, result)
                });
            }
        }
    }
}

fn respond(shared: &Shared, id: &RequestId, result: Result<&RawValue, &RpcError>) {
    let sent = encode_response(id, result)
        .map_err(|error| error.to_string())
        .and_then(|line| shared.send(line));
    if let Err(error) = sent {
        shared
            .log
            .remark(&format!("the response to {id:?} was not sent: {error}"));
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
