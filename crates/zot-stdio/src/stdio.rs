//! Standard input and output without threads and without touching their flags.
//!
//! Setting `O_NONBLOCK` would change the terminal or pipe for everyone who shares it, so readiness
//! is asked for first: a read or a small write then does not block. What cannot be waited for (a
//! regular file, `/dev/null`) never blocks in the first place.

use std::io::{self, IsTerminal as _};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde::Serialize;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout_at;
use zot_terminal::{Filter, Layout, escape_json};
use zot_wire::{Line, LineDecoder, write_line};

use crate::executor::IdleSignal;

/// How much is read at once.
const READ_BYTES: usize = 64 * 1024;

/// The most a pipe takes without blocking once it is ready for writing (POSIX `PIPE_BUF`).
const WRITE_BYTES: usize = 4096;

/// How much output may wait for a slow reader before the writer of it has to.
///
/// Limit: no event is taken from the agent until the reader has caught up.
pub const HIGH_WATER_BYTES: usize = 1024 * 1024;

/// How much may wait before commands have to as well. Higher, so that an abort still gets through
/// when events have filled the output.
///
/// Limit: no input is read until the reader has caught up.
const RESPONSES_HIGH_WATER_BYTES: usize = 2 * HIGH_WATER_BYTES;

/// What a stream that is written to is watched for. A pipe without a reader shows an error, a socket
/// only that writing is over, which tokio counts as being writable.
const WRITING: Interest = Interest::WRITABLE.add(Interest::ERROR);

/// What tells that nobody can write to a stream any more.
#[cfg(target_os = "linux")]
const CLOSED: PollFlags = PollFlags::HUP.union(PollFlags::RDHUP);
#[cfg(not(target_os = "linux"))]
const CLOSED: PollFlags = PollFlags::HUP;

/// A standard stream that may be waited for.
enum Stream {
    Waitable(AsyncFd<BorrowedFd<'static>>),
    /// Always ready, as regular files are.
    Ready(BorrowedFd<'static>),
}

impl Stream {
    fn new(descriptor: BorrowedFd<'static>, interest: Interest) -> io::Result<Self> {
        #[expect(
            deprecated,
            reason = "the successor is unsafe because a descriptor might be closed early; the \
                      standard streams stay open"
        )]
        let waitable = AsyncFd::with_interest(descriptor, interest);
        match waitable {
            Ok(descriptor) => Ok(Self::Waitable(descriptor)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(Self::Ready(descriptor))
            }
            Err(error) => Err(error),
        }
    }

    fn descriptor(&self) -> BorrowedFd<'static> {
        match self {
            Self::Waitable(descriptor) => *descriptor.get_ref(),
            Self::Ready(descriptor) => *descriptor,
        }
    }

    /// Waits until `flags` hold, without asking the kernel before tokio has seen `interest`.
    async fn ready(&self, interest: Interest, flags: PollFlags) -> io::Result<()> {
        let Self::Waitable(descriptor) = self else {
            return Ok(());
        };
        loop {
            let mut guard = descriptor.ready(interest).await?;
            // Readiness is remembered from earlier; only the kernel knows whether it still holds.
            if is_ready(*descriptor.get_ref(), flags)? {
                return Ok(());
            }
            guard.clear_ready();
        }
    }

    /// Waits until something can be written. Asks the kernel first: [`reader_gone`](Self::reader_gone)
    /// uses up what tokio remembers.
    async fn writable(&self) -> io::Result<()> {
        let Self::Waitable(descriptor) = self else {
            return Ok(());
        };
        while !is_ready(*descriptor.get_ref(), PollFlags::OUT)? {
            descriptor.ready(WRITING).await?.clear_ready();
        }
        Ok(())
    }

    /// Waits until whoever reads has gone away.
    async fn reader_gone(&self) -> io::Error {
        if let Self::Ready(_) = self {
            return std::future::pending().await;
        }
        // Errors and hang-ups are reported without being asked for.
        match self.ready(WRITING, PollFlags::empty()).await {
            Ok(()) => io::ErrorKind::BrokenPipe.into(),
            Err(error) => error,
        }
    }
}

fn failed(operation: &str, error: Errno) -> io::Error {
    io::Error::other(format!("cannot {operation}: {}", io::Error::from(error)))
}

/// Whether there is something to read on standard input, its end included, within `patience`.
pub fn stdin_speaks_within(patience: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + patience;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        // A signal ends the wait early without an answer.
        if is_ready_within(rustix::stdio::stdin(), PollFlags::IN, left)? {
            return Ok(true);
        }
        if left.is_zero() {
            return Ok(false);
        }
    }
}

fn is_ready(descriptor: BorrowedFd<'_>, flags: PollFlags) -> io::Result<bool> {
    is_ready_within(descriptor, flags, Duration::ZERO)
}

fn is_ready_within(
    descriptor: BorrowedFd<'_>,
    flags: PollFlags,
    patience: Duration,
) -> io::Result<bool> {
    let mut descriptors = [PollFd::from_borrowed_fd(descriptor, flags)];
    let patience = Timespec {
        tv_sec: patience.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: patience.subsec_nanos().into(),
    };
    match poll(&mut descriptors, Some(&patience)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Standard input, line by line.
pub struct Input {
    stream: Stream,
    decoder: LineDecoder,
    chunk: Box<[u8]>,
    ended: bool,
}

impl Input {
    pub fn stdin() -> io::Result<Self> {
        Ok(Self {
            stream: Stream::new(rustix::stdio::stdin(), Interest::READABLE)?,
            decoder: LineDecoder::default(),
            chunk: vec![0; READ_BYTES].into_boxed_slice(),
            ended: false,
        })
    }

    /// Waits until a line can be had from [`take_line`](Self::take_line), or input has ended.
    ///
    /// Cancel-safe: what was read stays in the decoder.
    pub async fn read_more(&mut self) -> io::Result<()> {
        self.stream.ready(Interest::READABLE, PollFlags::IN).await?;
        match rustix::io::read(self.stream.descriptor(), &mut self.chunk[..]) {
            // A terminal that hung up fails where others end.
            Ok(0) | Err(Errno::IO) => self.ended = true,
            Ok(count) => self.decoder.feed(&self.chunk[..count]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(failed("read standard input", error)),
        }
        // Input that never pauses would keep the executor from looking at anything else, signals
        // included.
        tokio::task::yield_now().await;
        Ok(())
    }

    /// The next whole line that has been read; the last one may lack its terminator.
    pub fn take_line(&mut self) -> Option<Line<'_>> {
        if self.ended {
            // Lines before the last are in the decoder as well.
            if self.decoder.has_line() {
                return self.decoder.next_line();
            }
            return self.decoder.finish();
        }
        self.decoder.next_line()
    }

    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether nobody can write to it any more, although not everything was read.
    pub fn is_hung_up(&self) -> bool {
        let mut descriptors = [PollFd::from_borrowed_fd(self.stream.descriptor(), CLOSED)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut descriptors, Some(&now)).is_ok() && descriptors[0].revents().intersects(CLOSED)
    }
}

/// Standard output: lines are collected and written when the reader takes them.
pub struct Output {
    stream: Stream,
    buffer: Vec<u8>,
    written: usize,
    /// How much was written before what is in the buffer.
    written_before: u64,
    idle: IdleSignal,
    /// Since when the reader has taken nothing although there is something.
    waiting_since: Option<Instant>,
    longest_wait: Option<Duration>,
    /// What others say is filtered on its way to a terminal, and only there.
    filter: Option<Filter>,
}

/// A place in the output, to ask later whether it was written up to there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(u64);

impl Output {
    pub fn stdout(idle: IdleSignal) -> io::Result<Self> {
        let is_terminal = io::stdout().is_terminal();
        Ok(Self {
            stream: Stream::new(rustix::stdio::stdout(), WRITING)?,
            buffer: Vec::new(),
            written: 0,
            written_before: 0,
            idle,
            waiting_since: None,
            longest_wait: None,
            filter: is_terminal.then(|| Filter::new(Layout::TEXT)),
        })
    }

    /// Adds a line.
    pub fn push(&mut self, value: &impl Serialize) -> io::Result<()> {
        let before = self.buffer.len();
        write_line(&mut self.buffer, value)?;
        if self.filter.is_some() {
            let line = self.buffer.split_off(before);
            let mut shown = String::with_capacity(line.len());
            escape_json(&String::from_utf8_lossy(&line), &mut shown);
            self.buffer.extend_from_slice(shown.as_bytes());
        }
        self.idle.request();
        Ok(())
    }

    /// Adds text: as it is, but for what a terminal would obey.
    pub fn push_text(&mut self, text: &str) {
        match &mut self.filter {
            None => self.buffer.extend_from_slice(text.as_bytes()),
            Some(filter) => {
                let mut shown = String::with_capacity(text.len());
                filter.push(text, &mut shown);
                self.buffer.extend_from_slice(shown.as_bytes());
            }
        }
        self.idle.request();
    }

    /// The end of what was added so far.
    pub fn mark(&self) -> Mark {
        Mark(self.written_before + self.buffer.len() as u64)
    }

    /// Whether everything before the mark was written.
    pub fn has_written(&self, mark: Mark) -> bool {
        self.written_before + self.written as u64 >= mark.0
    }

    /// Whether the reader is so far behind that nothing more should be produced for now.
    pub fn is_full(&self) -> bool {
        self.buffer.len() - self.written > HIGH_WATER_BYTES
    }

    /// Whether the reader is so far behind that not even commands should be answered for now.
    pub fn is_overfull(&self) -> bool {
        self.buffer.len() - self.written > RESPONSES_HIGH_WATER_BYTES
    }

    pub fn is_empty(&self) -> bool {
        self.buffer.len() == self.written
    }

    /// Writes what is there once the executor is idle or the buffer is full. Returns after each
    /// round of writing, or with an error once the reader has gone away; while there is neither, it
    /// waits, so it can stand beside other work.
    ///
    /// Cancel-safe: each write is accounted for before the next wait.
    pub async fn drive(&mut self) -> io::Result<()> {
        if !self.is_full() {
            tokio::select! {
                () = self.idle.wait() => {}
                error = self.stream.reader_gone() => return Err(error),
            }
        }
        self.flush().await
    }

    /// Writes what the reader takes without waiting. What fails shows again when the rest is written.
    pub fn write_now(&mut self) {
        let writable = is_ready_within(self.stream.descriptor(), PollFlags::OUT, Duration::ZERO);
        let waiting = self.buffer.len() - self.written;
        // More than one write takes could block.
        if waiting > 0 && waiting <= WRITE_BYTES && matches!(writable, Ok(true)) {
            let written = rustix::io::write(self.stream.descriptor(), &self.buffer[self.written..]);
            self.written += written.unwrap_or(0);
        }
    }

    /// Writes everything that is there. The error is `BrokenPipe` when the reader has gone away.
    pub async fn flush(&mut self) -> io::Result<()> {
        while !self.is_empty() {
            self.wait_for_reader().await?;
            let end = self.buffer.len().min(self.written + WRITE_BYTES);
            match rustix::io::write(self.stream.descriptor(), &self.buffer[self.written..end]) {
                Ok(count) => {
                    self.written += count;
                    self.waiting_since = None;
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(Errno::PIPE | Errno::CONNRESET) => {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                Err(error) => return Err(failed("write standard output", error)),
            }
        }
        self.written_before += self.written as u64;
        self.buffer.clear();
        self.written = 0;
        // A burst should not hold its memory for ever.
        self.buffer.shrink_to(READ_BYTES);
        Ok(())
    }

    /// Gives up on a reader that takes nothing for so long; `None` waits as long as it takes.
    pub fn limit_waiting(&mut self, limit: Option<Duration>) {
        self.longest_wait = limit;
    }

    /// Waits until something can be written. The error is `TimedOut` when the reader takes too long,
    /// counted from when it last took something, however often this is cancelled.
    async fn wait_for_reader(&mut self) -> io::Result<()> {
        let Some(limit) = self.longest_wait else {
            return self.stream.writable().await;
        };
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        match timeout_at((since + limit).into(), self.stream.writable()).await {
            Ok(writable) => writable,
            Err(_) => {
                let seconds = limit.as_secs();
                let problem = format!(
                    "nobody has read standard output for {seconds} s since standard input ended"
                );
                Err(io::Error::new(io::ErrorKind::TimedOut, problem))
            }
        }
    }

    /// Forgets what was not written, because nobody will read it.
    pub fn discard(&mut self) {
        self.written_before += self.written as u64;
        self.buffer.clear();
        self.written = 0;
    }
}
