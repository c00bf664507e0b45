//! The life of an extension's process, from its start to its end.

use std::future::pending;
use std::process::ExitStatus;

use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use zot_extension_contract::{
    Process, ProcessSandbox, READY_SILENCE, SHUTDOWN_TIME, TERMINATION_TIME,
};
use zot_process::ProcessGroup;
use zot_process::streams::{Channel, OutboxEnd, Throttle};
use zot_wire::LineDecoder;
use zot_wire::extension::HostFrame;

use crate::extension::{Extension, Missing, Received};
use crate::limits::{
    EARLY_FLOOD_TIME, FLOOD_TIME, FRAME_BYTES_PER_SECOND, LATE_START_TIME, LEAVE_TIME,
    LOG_BYTES_PER_SECOND, READY_TIME,
};

const SURVIVORS: &str = "it left processes behind, which were ended";

/// How much is still read after the process has exited: its last output is usually a response.
const FINAL_OUTPUT_BYTES: usize = 1024 * 1024;

/// How the life of a process ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LifeEnd {
    /// The host stopped it.
    Stopped,
    /// It never sent `hello`, or never registered what it must before it is ready.
    NeverStarted(String),
    /// It exited normally.
    Left,
    Crashed(String),
}

impl LifeEnd {
    /// Returns the error for pending requests.
    fn reason(&self) -> &str {
        match self {
            Self::Stopped => "the extension was stopped",
            Self::Left => "the extension has exited",
            Self::NeverStarted(reason) | Self::Crashed(reason) => reason,
        }
    }
}

/// Runs the extension until it ends or `stop` fires. Its whole process group has ended then.
pub(crate) async fn live(extension: &Extension, stop: &CancellationToken) -> LifeEnd {
    let Process {
        group,
        stdin,
        stdout,
        stderr,
        shortfalls,
        sandbox,
    } = match extension.launch().await {
        Ok(process) => process,
        Err(error) => {
            extension.log(&error.to_string());
            return LifeEnd::NeverStarted(error.to_string());
        }
    };
    for shortfall in &shortfalls {
        extension.log_once(shortfall);
    }
    extension.outbox.open(stdin);
    let now = Instant::now();
    let mut life = Life {
        extension,
        started: now,
        stage: Stage::AwaitingHello,
        greeted: now,
        last_frame: now,
        decoder: LineDecoder::with_limit(extension.limits.frame_bytes),
        frames: Throttle::new(extension.limits.frames_per_second, now),
        bytes: Throttle::new(FRAME_BYTES_PER_SECOND, now),
        log_bytes: Throttle::new(LOG_BYTES_PER_SECOND, now),
        output: Channel::new(stdout),
        errors: Channel::new(stderr),
        stopping: None,
        leaving: None,
    };
    let cause = life.run(&group, &sandbox, stop).await;
    let end = life.end(cause, group).await;
    extension.report(&sandbox.remarks());
    end
}

/// The progress of the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    AwaitingHello,
    Greeted,
    Ready,
}

/// Why a process has to end, or has ended.
enum EndCause {
    StopRequested,
    Exited,
    /// It cannot be left running.
    Misbehaved(String),
    /// It took too long to start.
    Late(String),
}

struct Life<'a> {
    extension: &'a Extension,
    started: Instant,
    stage: Stage,
    greeted: Instant,
    last_frame: Instant,
    decoder: LineDecoder,
    frames: Throttle,
    bytes: Throttle,
    log_bytes: Throttle,
    output: Channel,
    errors: Channel,
    /// It was asked to stop while starting, and has until then to send `ready`.
    stopping: Option<Instant>,
    /// It closed its output, and has until then to exit.
    leaving: Option<Instant>,
}

impl Life<'_> {
    async fn run(
        &mut self,
        group: &ProcessGroup,
        sandbox: &ProcessSandbox,
        stop: &CancellationToken,
    ) -> EndCause {
        loop {
            tokio::select! {
                // Flooded output is always ready to be read, so it comes last.
                biased;
                () = stop.cancelled(), if self.stopping.is_none() => {
                    // An extension stopped before `hello_ack` would not understand `shutdown`.
                    self.stopping = Some(Instant::now() + LATE_START_TIME);
                }
                () = group.exited() => return EndCause::Exited,
                () = until(self.next_deadline()) => {
                    if let Some(cause) = self.check_deadlines() {
                        return cause;
                    }
                }
                remarks = sandbox.noticed() => self.extension.report(&remarks),
                end = self.extension.outbox.drive() => match end {
                    OutboxEnd::Stalled => {
                        return EndCause::Misbehaved("it does not read its input".to_owned());
                    }
                    OutboxEnd::Closed(error) => {
                        self.extension.log(&format!("it closed its input: {error}"));
                        self.extension.outbox.close();
                    }
                },
                count = self.errors.read() => self.handle_errors(count),
                count = self.output.read() => {
                    if let Some(cause) = self.handle_output(count) {
                        return cause;
                    }
                }
            }
            if self.stopping.is_some() && self.stage == Stage::Ready {
                return EndCause::StopRequested;
            }
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let handshake = match self.stage {
            Stage::AwaitingHello => Some(self.start_deadline()),
            Stage::Greeted => Some(self.ready_deadline()),
            Stage::Ready => None,
        };
        let pauses = [self.output.paused_until, self.errors.paused_until];
        pauses
            .into_iter()
            .flatten()
            .chain(handshake)
            .chain(self.stopping)
            .chain(self.leaving)
            .min()
    }

    fn start_deadline(&self) -> Instant {
        self.started + self.extension.limits.start_time
    }

    /// Returns when it counts as ready without `ready`, or as failed.
    fn ready_deadline(&self) -> Instant {
        let patience = self.greeted + READY_TIME;
        match self.extension.missing() {
            Missing::Nothing => patience.min(self.last_frame + READY_SILENCE),
            Missing::Anything => patience,
            Missing::Subscription | Missing::Interception => self.start_deadline().max(patience),
        }
    }

    fn check_deadlines(&mut self) -> Option<EndCause> {
        let now = Instant::now();
        self.output.unpause(now);
        self.errors.unpause(now);
        if self.stopping.is_some_and(|until| until <= now) {
            return Some(EndCause::StopRequested);
        }
        if self.leaving.is_some_and(|until| until <= now) {
            return Some(EndCause::Misbehaved("it closed its output".to_owned()));
        }
        match self.stage {
            Stage::AwaitingHello if now >= self.start_deadline() => Some(EndCause::Late(format!(
                "no hello within {:?}",
                self.extension.limits.start_time
            ))),
            Stage::Greeted if now >= self.ready_deadline() => {
                if self.extension.missing() == Missing::Interception {
                    return Some(EndCause::Late(format!(
                        "it sent hello, but within {:?} neither ready nor what it intercepts",
                        self.extension.limits.start_time
                    )));
                }
                self.extension.log("no ready frame, taken as ready");
                self.become_ready();
                None
            }
            _ => None,
        }
    }

    fn become_ready(&mut self) {
        self.stage = Stage::Ready;
        self.extension.become_ready();
    }

    fn handle_errors(&mut self, count: Option<usize>) {
        if let Some(count) = count {
            self.extension.log_output(self.errors.bytes(count));
            self.errors.paused_until = self.log_bytes.take(count, Instant::now());
        }
    }

    fn handle_output(&mut self, count: Option<usize>) -> Option<EndCause> {
        let Some(count) = count else {
            self.leaving = Some(Instant::now() + LEAVE_TIME);
            return None;
        };
        let lines = self.handle_lines(count);
        let now = Instant::now();
        let frame_pause = self.frames.take(lines, now);
        let byte_pause = self.bytes.take(count, now);
        self.output.paused_until = frame_pause.max(byte_pause);
        let flooding = self
            .frames
            .pausing_for(now)
            .max(self.bytes.pausing_for(now));
        if flooding.is_zero() && self.output.paused_until.is_some() {
            self.extension
                .log("it floods its output and is slowed down");
        }
        let patience = match self.stage {
            Stage::AwaitingHello => EARLY_FLOOD_TIME,
            Stage::Greeted | Stage::Ready => FLOOD_TIME,
        };
        (flooding > patience).then(|| {
            EndCause::Misbehaved(format!(
                "it flooded its output for {} seconds",
                flooding.as_secs()
            ))
        })
    }

    /// Handles the lines in the `count` bytes that were read last, and returns their number.
    fn handle_lines(&mut self, count: usize) -> usize {
        self.decoder.feed(self.output.bytes(count));
        let mut lines = 0;
        let mut is_ready = false;
        while let Some(line) = self.decoder.next_line() {
            lines += 1;
            match self.extension.receive(line) {
                Received::Hello => {
                    self.stage = Stage::Greeted;
                    self.greeted = Instant::now();
                }
                Received::Ready => is_ready = true,
                Received::Frame | Received::Unusable => {}
            }
        }
        if lines > 0 {
            self.last_frame = Instant::now();
        }
        // Even if it has ended by now: which of the two is noticed first is chance, and its tools
        // have to be known as unavailable either way.
        if is_ready && self.stage == Stage::Greeted {
            self.become_ready();
        }
        lines
    }

    async fn end(mut self, cause: EndCause, group: ProcessGroup) -> LifeEnd {
        let extension = self.extension;
        let end = match cause {
            EndCause::StopRequested => {
                self.shut_down(group).await;
                LifeEnd::Stopped
            }
            EndCause::Exited => {
                self.read_remaining_output();
                // Pending requests fail now, not when the last of its children is gone.
                let end = self.classify_exit(group.status());
                extension.disconnect(end.reason());
                if group.close().await.had_survivors {
                    extension.log(SURVIVORS);
                }
                end
            }
            EndCause::Misbehaved(reason) => {
                extension.log(&format!("{reason}; it is ended"));
                extension.disconnect(&reason);
                self.terminate(group).await;
                match self.stage {
                    Stage::AwaitingHello => LifeEnd::NeverStarted(reason),
                    Stage::Greeted | Stage::Ready => LifeEnd::Crashed(reason),
                }
            }
            EndCause::Late(reason) => {
                extension.log(&format!("{reason}; it is ended"));
                extension.disconnect(&reason);
                self.terminate(group).await;
                LifeEnd::NeverStarted(reason)
            }
        };
        extension.disconnect(end.reason());
        if self.output.is_held().await || self.errors.is_held().await {
            extension.log(
                "a process it started holds its output and could not be ended: it belongs to another \
                 user, or has left its process group on a system that is not Linux",
            );
        }
        end
    }

    fn classify_exit(&self, status: Option<ExitStatus>) -> LifeEnd {
        let text = match status {
            Some(status) => status.to_string(),
            None => "unknown status".to_owned(),
        };
        self.extension.log(&format!("it exited: {text}"));
        match (self.stage, status) {
            (Stage::AwaitingHello, _) => {
                let name = self.extension.name();
                LifeEnd::NeverStarted(format!(
                    "extension exited before hello: {text} (see: zot ext logs {name})"
                ))
            }
            (Stage::Greeted, Some(status)) if status.success() => {
                LifeEnd::NeverStarted("extension exited after hello, before ready".to_owned())
            }
            // An interceptor has no reason to exit.
            (Stage::Ready, Some(status))
                if status.success() && !self.extension.is_interceptor() =>
            {
                LifeEnd::Left
            }
            (_, Some(status)) if status.success() => LifeEnd::Crashed(format!(
                "the extension exited, although it intercepts ({text})"
            )),
            _ => LifeEnd::Crashed(format!("the extension crashed ({text})")),
        }
    }

    /// Reads what the process wrote before it exited, without waiting for more.
    fn read_remaining_output(&mut self) {
        let mut total = 0;
        while total < FINAL_OUTPUT_BYTES
            && let Some(count) = self.output.read_now()
        {
            total += count;
            self.handle_lines(count);
        }
        self.read_remaining_errors();
    }

    fn read_remaining_errors(&mut self) {
        let mut total = 0;
        while total < FINAL_OUTPUT_BYTES
            && let Some(count) = self.errors.read_now()
        {
            total += count;
            self.extension.log_output(self.errors.bytes(count));
        }
    }

    /// Sends `shutdown`, waits, and ends the process if it is still running.
    async fn shut_down(&mut self, group: ProcessGroup) {
        if self.stage == Stage::AwaitingHello {
            self.extension.log("it has not sent hello and is ended");
            return self.terminate(group).await;
        }
        let extension = self.extension;
        let asked = extension.send(&HostFrame::Shutdown);
        let leaving = async {
            if asked.is_ok() {
                extension.outbox.flushed().await;
            }
            // An extension that does not know `shutdown` sees the end of its input.
            extension.outbox.close();
            group.exited().await;
        };
        let drained = self.drain();
        let left = tokio::select! {
            left = timeout(SHUTDOWN_TIME, leaving) => left.is_ok(),
            never = drained => match never {},
        };
        if left {
            self.read_remaining_output();
            if group.close().await.had_survivors {
                self.extension.log(SURVIVORS);
            }
        } else {
            self.extension.outbox.close();
            self.extension.log(&format!(
                "it did not exit within {}s of shutdown and is ended",
                SHUTDOWN_TIME.as_secs()
            ));
            self.terminate(group).await;
        }
    }

    async fn terminate(&mut self, group: ProcessGroup) {
        let drained = self.drain();
        tokio::select! {
            _ = group.end(TERMINATION_TIME) => {}
            never = drained => match never {},
        }
        self.read_remaining_errors();
    }

    /// Reads the output of an ending process so that it does not block, and handles the first part.
    async fn drain(&mut self) -> std::convert::Infallible {
        self.output.paused_until = None;
        self.errors.paused_until = None;
        let mut processed = 0;
        loop {
            tokio::select! {
                count = self.output.read() => {
                    if let Some(count) = count && processed < FINAL_OUTPUT_BYTES {
                        processed += count;
                        self.handle_lines(count);
                    }
                }
                count = self.errors.read() => {
                    if let Some(count) = count && processed < FINAL_OUTPUT_BYTES {
                        processed += count;
                        self.extension.log_output(self.errors.bytes(count));
                    }
                }
            }
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => pending().await,
    }
}
