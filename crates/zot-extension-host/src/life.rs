//! One life of an extension's process: from its start to its end, whoever brings that about.

mod channel;

use std::future::pending;
use std::process::ExitStatus;

use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use zot_extension_contract::{Process, READY_SILENCE, SHUTDOWN_TIME, TERMINATION_TIME};
use zot_process::ProcessGroup;
use zot_wire::LineDecoder;
use zot_wire::extension::HostFrame;

use crate::extension::{Extension, Owes, Received};
use crate::limits::{
    EARLY_FLOOD_TIME, FLOOD_TIME, FRAME_BYTES_PER_SECOND, LATE_START_TIME, LEAVE_TIME,
    LOG_BYTES_PER_SECOND, READY_TIME,
};
use crate::outbox::OutboxEnd;
use crate::throttle::Throttle;

use channel::Channel;

const SURVIVORS: &str = "it left processes behind, which were ended";

/// How much is still read after the process has exited: what it said last is usually an answer.
const LAST_WORDS_BYTES: usize = 1024 * 1024;

/// How a life came to its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LifeEnd {
    /// The host asked for it.
    Stopped,
    /// It never said hello, or never what it has to say before it is ready.
    NeverStarted(String),
    /// It ended by itself, in good order.
    Left,
    Crashed(String),
}

impl LifeEnd {
    /// What whoever waits for an answer is told.
    fn reason(&self) -> &str {
        match self {
            Self::Stopped => "the extension was stopped",
            Self::Left => "the extension has exited",
            Self::NeverStarted(reason) | Self::Crashed(reason) => reason,
        }
    }
}

/// Runs the extension until it ends or `stop` fires. Nothing of its process group is left then.
pub(crate) async fn live(extension: &Extension, stop: &CancellationToken) -> LifeEnd {
    let Process {
        group,
        stdin,
        stdout,
        stderr,
        shortfalls,
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
        stage: Stage::Silent,
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
    let turn = life.run(&group, stop).await;
    life.end(turn, group).await
}

/// How far the handshake has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Silent,
    Greeted,
    Ready,
}

/// What happened that ends a life.
enum Turn {
    ToldToStop,
    Exited,
    /// It cannot be left running.
    Misbehaved(String),
    /// It has taken too long to start.
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
    /// It was told to stop while it was starting, and may come to its `ready` until then.
    stopping: Option<Instant>,
    /// It closed its output, and has to have exited by then.
    leaving: Option<Instant>,
}

impl Life<'_> {
    async fn run(&mut self, group: &ProcessGroup, stop: &CancellationToken) -> Turn {
        loop {
            tokio::select! {
                // A flood is always ready to be read, so it comes last.
                biased;
                () = stop.cancelled(), if self.stopping.is_none() => {
                    // Who is sent away before it was greeted cannot know what happens.
                    self.stopping = Some(Instant::now() + LATE_START_TIME);
                }
                () = group.exited() => return Turn::Exited,
                () = until(self.next_deadline()) => {
                    if let Some(turn) = self.keep_time() {
                        return turn;
                    }
                }
                end = self.extension.outbox.drive() => match end {
                    OutboxEnd::Stalled => {
                        return Turn::Misbehaved("it does not read its input".to_owned());
                    }
                    OutboxEnd::Closed(error) => {
                        self.extension.log(&format!("it closed its input: {error}"));
                        self.extension.outbox.close();
                    }
                },
                count = self.errors.read() => self.take_errors(count),
                count = self.output.read() => {
                    if let Some(turn) = self.take_output(count) {
                        return turn;
                    }
                }
            }
            if self.stopping.is_some() && self.stage == Stage::Ready {
                return Turn::ToldToStop;
            }
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let handshake = match self.stage {
            Stage::Silent => Some(self.start_deadline()),
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

    /// When it is taken as ready without having said so, or given up.
    fn ready_deadline(&self) -> Instant {
        let patience = self.greeted + READY_TIME;
        match self.extension.owes() {
            Owes::Nothing => patience.min(self.last_frame + READY_SILENCE),
            Owes::Anything => patience,
            Owes::Subscription | Owes::Interception => self.start_deadline().max(patience),
        }
    }

    fn keep_time(&mut self) -> Option<Turn> {
        let now = Instant::now();
        self.output.unpause(now);
        self.errors.unpause(now);
        if self.stopping.is_some_and(|until| until <= now) {
            return Some(Turn::ToldToStop);
        }
        if self.leaving.is_some_and(|until| until <= now) {
            return Some(Turn::Misbehaved("it closed its output".to_owned()));
        }
        match self.stage {
            Stage::Silent if now >= self.start_deadline() => Some(Turn::Late(format!(
                "no hello within {:?}",
                self.extension.limits.start_time
            ))),
            Stage::Greeted if now >= self.ready_deadline() => {
                if self.extension.owes() == Owes::Interception {
                    return Some(Turn::Late(format!(
                        "it said hello, but within {:?} neither ready nor what it intercepts",
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

    fn take_errors(&mut self, count: Option<usize>) {
        if let Some(count) = count {
            self.extension.log_output(self.errors.bytes(count));
            self.errors.paused_until = self.log_bytes.take(count, Instant::now());
        }
    }

    fn take_output(&mut self, count: Option<usize>) -> Option<Turn> {
        let Some(count) = count else {
            self.leaving = Some(Instant::now() + LEAVE_TIME);
            return None;
        };
        let lines = self.take_lines(count);
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
            Stage::Silent => EARLY_FLOOD_TIME,
            Stage::Greeted | Stage::Ready => FLOOD_TIME,
        };
        (flooding > patience).then(|| {
            Turn::Misbehaved(format!(
                "it flooded its output for {} seconds",
                flooding.as_secs()
            ))
        })
    }

    /// Takes the lines in the `count` bytes that were read last, and counts them.
    fn take_lines(&mut self, count: usize) -> usize {
        self.decoder.feed(self.output.bytes(count));
        let mut lines = 0;
        let mut is_ready = false;
        while let Some(line) = self.decoder.next_line() {
            lines += 1;
            match self.extension.receive(line) {
                Received::Greeting => {
                    self.stage = Stage::Greeted;
                    self.greeted = Instant::now();
                }
                Received::Ready => is_ready = true,
                Received::Frame | Received::Noise => {}
            }
        }
        if lines > 0 {
            self.last_frame = Instant::now();
        }
        // Also one that is gone by now: whether it is heard first or its end is noticed first is
        // chance, and its tools are to be known as unavailable either way.
        if is_ready && self.stage == Stage::Greeted {
            self.become_ready();
        }
        lines
    }

    async fn end(mut self, turn: Turn, group: ProcessGroup) -> LifeEnd {
        let extension = self.extension;
        let end = match turn {
            Turn::ToldToStop => {
                self.shut_down(group).await;
                LifeEnd::Stopped
            }
            Turn::Exited => {
                self.hear_last_words();
                // Who waits for it is told now, not when the last of its children is gone.
                let end = self.judge(group.status());
                extension.disconnect(end.reason());
                if group.close().await.had_survivors {
                    extension.log(SURVIVORS);
                }
                end
            }
            Turn::Misbehaved(reason) => {
                extension.log(&format!("{reason}; it is ended"));
                extension.disconnect(&reason);
                self.terminate(group).await;
                match self.stage {
                    Stage::Silent => LifeEnd::NeverStarted(reason),
                    Stage::Greeted | Stage::Ready => LifeEnd::Crashed(reason),
                }
            }
            Turn::Late(reason) => {
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

    fn judge(&self, status: Option<ExitStatus>) -> LifeEnd {
        let told = match status {
            Some(status) => status.to_string(),
            None => "unknown status".to_owned(),
        };
        self.extension.log(&format!("it exited: {told}"));
        match (self.stage, status) {
            (Stage::Silent, _) => {
                let name = self.extension.name();
                LifeEnd::NeverStarted(format!(
                    "extension exited before hello: {told} (see: zot ext logs {name})"
                ))
            }
            (Stage::Greeted, Some(status)) if status.success() => {
                LifeEnd::NeverStarted("extension exited after hello, before ready".to_owned())
            }
            // One that is to be asked has no reason to leave.
            (Stage::Ready, Some(status))
                if status.success() && !self.extension.is_interceptor() =>
            {
                LifeEnd::Left
            }
            (_, Some(status)) if status.success() => LifeEnd::Crashed(format!(
                "the extension exited, although it intercepts ({told})"
            )),
            _ => LifeEnd::Crashed(format!("the extension crashed ({told})")),
        }
    }

    /// Takes what the process wrote before it exited, without waiting for more.
    fn hear_last_words(&mut self) {
        let mut heard = 0;
        while heard < LAST_WORDS_BYTES
            && let Some(count) = self.output.read_now()
        {
            heard += count;
            self.take_lines(count);
        }
        self.hear_last_errors();
    }

    fn hear_last_errors(&mut self) {
        let mut heard = 0;
        while heard < LAST_WORDS_BYTES
            && let Some(count) = self.errors.read_now()
        {
            heard += count;
            self.extension.log_output(self.errors.bytes(count));
        }
    }

    /// Asks it to go, waits, and sees to it.
    async fn shut_down(&mut self, group: ProcessGroup) {
        if self.stage == Stage::Silent {
            self.extension.log("it has not said hello and is ended");
            return self.terminate(group).await;
        }
        let extension = self.extension;
        let asked = extension.send(&HostFrame::Shutdown);
        let leaving = async {
            if asked.is_ok() {
                extension.outbox.flushed().await;
            }
            // Whoever does not know `shutdown` knows the end of its input.
            extension.outbox.close();
            group.exited().await;
        };
        let drained = self.drain();
        let left = tokio::select! {
            left = timeout(SHUTDOWN_TIME, leaving) => left.is_ok(),
            never = drained => match never {},
        };
        if left {
            self.hear_last_words();
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
        self.hear_last_errors();
    }

    /// Reads what an ending process says, so that it does not wait for us, and heeds the beginning.
    async fn drain(&mut self) -> std::convert::Infallible {
        self.output.paused_until = None;
        self.errors.paused_until = None;
        let mut heeded = 0;
        loop {
            tokio::select! {
                count = self.output.read() => {
                    if let Some(count) = count && heeded < LAST_WORDS_BYTES {
                        heeded += count;
                        self.take_lines(count);
                    }
                }
                count = self.errors.read() => {
                    if let Some(count) = count && heeded < LAST_WORDS_BYTES {
                        heeded += count;
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
