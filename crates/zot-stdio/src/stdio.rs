//! Standard input and output, or pipes in their place, without threads and without touching their
//! flags.
//!
//! Setting `O_NONBLOCK` would change the terminal or pipe for every process that shares it, so
//! readiness is checked first: a read or a small write then does not block. Files that cannot be
//! polled (a regular file, `/dev/null`) never block in the first place.

use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
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

/// The interest to register for a stream that is written to. A pipe without a reader reports an
/// error; a socket only reports that writing is over, which tokio counts as being writable.
const WRITING: Interest = Interest::WRITABLE.add(Interest::ERROR);

/// Flags that mean that a stream has no writer left.
#[cfg(target_os = "linux")]
const CLOSED: PollFlags = PollFlags::HUP.union(PollFlags::RDHUP);
#[cfg(not(target_os = "linux"))]
const CLOSED: PollFlags = PollFlags::HUP;

/// A descriptor that stays open for as long as it is used.
enum Descriptor {
    /// One of the process's own.
    Standard(BorrowedFd<'static>),
    Owned(OwnedFd),
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Standard(descriptor) => *descriptor,
            Self::Owned(descriptor) => descriptor.as_fd(),
        }
    }
}

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

/// A standard stream, or one in its place.
enum Stream {
    Waitable(AsyncFd<Descriptor>),
    /// Always ready, as regular files are.
    Ready(Descriptor),
}

impl Stream {
    fn new(descriptor: Descriptor, interest: Interest) -> io::Result<Self> {
        #[expect(
            deprecated,
            reason = "the successor is unsafe because a descriptor might be closed early; this \
                      one is owned, or a standard stream, and stays open"
        )]
        let waitable = AsyncFd::try_with_interest(descriptor, interest);
        match waitable.map_err(|failed| failed.into_parts()) {
            Ok(descriptor) => Ok(Self::Waitable(descriptor)),
            Err((descriptor, error)) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(Self::Ready(descriptor))
            }
            Err((_, error)) => Err(error),
        }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Self::Waitable(descriptor) => descriptor.get_ref().as_fd(),
            Self::Ready(descriptor) => descriptor.as_fd(),
        }
    }

    /// Waits until `flags` hold, polling the kernel only after tokio has seen `interest`.
    async fn ready(&self, interest: Interest, flags: PollFlags) -> io::Result<()> {
        let Self::Waitable(descriptor) = self else {
            return Ok(());
        };
        loop {
            let mut guard = descriptor.ready(interest).await?;
            // Readiness is remembered from earlier; only the kernel knows whether it still holds.
            if is_ready(descriptor.get_ref().as_fd(), flags)? {
                return Ok(());
            }
            guard.clear_ready();
        }
    }

    /// Waits until something can be written. Polls the kernel first, because
    /// [`reader_gone`](Self::reader_gone) clears the readiness that tokio remembers.
    async fn writable(&self) -> io::Result<()> {
        let Self::Waitable(descriptor) = self else {
            return Ok(());
        };
        while !is_ready(descriptor.get_ref().as_fd(), PollFlags::OUT)? {
            descriptor.ready(WRITING).await?.clear_ready();
        }
        Ok(())
    }

    /// Waits until the reader has gone away.
    async fn reader_gone(&self) -> io::Error {
        if let Self::Ready(_) = self {
            return std::future::pending().await;
        }
        // Errors and hang-ups are always reported.
        match self.ready(WRITING, PollFlags::empty()).await {
            Ok(()) => io::ErrorKind::BrokenPipe.into(),
            Err(error) => error,
        }
    }
}

fn failed(operation: &str, error: Errno) -> io::Error {
    io::Error::other(format!("cannot {operation}: {}", io::Error::from(error)))
}

/// Returns whether standard input has data, or ends, within `patience`.
pub fn stdin_is_readable_within(patience: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + patience;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        // A signal ends the wait early without a result.
        if is_ready_within(rustix::stdio::stdin(), PollFlags::IN, left)? {
            return Ok(true);
        }
        if left.is_zero() {
            return Ok(false);
        }
    }
}

/// Returns whether this process may write to its terminal without disturbing another one: it is not a
/// background job of a shell.
pub fn is_in_foreground() -> bool {
    // Without job control there is no background.
    rustix::termios::tcgetpgrp(rustix::stdio::stderr())
        .map_or(true, |group| group == rustix::process::getpgrp())
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

/// Standard input or a pipe, line by line.
pub struct Input {
    stream: Stream,
    decoder: LineDecoder,
    chunk: Box<[u8]>,
    ended: bool,
}

impl Input {
    pub fn stdin() -> io::Result<Self> {
        Self::new(Descriptor::Standard(rustix::stdio::stdin()))
    }

    /// Reads from a pipe in place of standard input.
    pub fn pipe(descriptor: OwnedFd) -> io::Result<Self> {
        Self::new(Descriptor::Owned(descriptor))
    }

    fn new(descriptor: Descriptor) -> io::Result<Self> {
        Ok(Self {
            stream: Stream::new(descriptor, Interest::READABLE)?,
            decoder: LineDecoder::default(),
            chunk: vec![0; READ_BYTES].into_boxed_slice(),
            ended: false,
        })
    }

    /// Reads more input; [`take_line`](Self::take_line) returns the lines that are complete.
    ///
    /// Cancel-safe: what was read stays in the decoder.
    pub async fn read_more(&mut self) -> io::Result<()> {
        self.stream.ready(Interest::READABLE, PollFlags::IN).await?;
        match rustix::io::read(self.stream.descriptor(), &mut self.chunk[..]) {
            // A terminal that hung up fails instead of reporting the end of input.
            Ok(0) | Err(Errno::IO) => self.ended = true,
            Ok(count) => self.decoder.feed(&self.chunk[..count]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(failed("read standard input", error)),
        }
        // Input that never pauses would starve everything else, including signals.
        tokio::task::yield_now().await;
        Ok(())
    }

    /// Returns the next complete line; the last one may lack its terminator.
    pub fn take_line(&mut self) -> Option<Line<'_>> {
        if self.ended {
            // The decoder may still hold complete lines before the last one.
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

    /// Returns whether the writer has gone, even if not everything was read yet.
    pub fn is_hung_up(&self) -> bool {
        let mut descriptors = [PollFd::from_borrowed_fd(self.stream.descriptor(), CLOSED)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut descriptors, Some(&now)).is_ok() && descriptors[0].revents().intersects(CLOSED)
    }
}

/// Standard output or a pipe: lines are buffered and written as fast as the reader takes them.
pub struct Output {
    stream: Stream,
    buffer: Vec<u8>,
    written: usize,
    /// How many bytes were written before the start of the buffer.
    written_before: u64,
    idle: IdleSignal,
    /// Since when the reader has taken nothing although output is waiting.
    waiting_since: Option<Instant>,
    longest_wait: Option<Duration>,
    /// Filters untrusted text; only set if the output is a terminal.
    filter: Option<Filter>,
}

/// A position in the output, for [`Output::has_written`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(u64);

impl Output {
    pub fn stdout(idle: IdleSignal) -> io::Result<Self> {
        let is_terminal = io::stdout().is_terminal();
        let descriptor = Descriptor::Standard(rustix::stdio::stdout());
        let filter = is_terminal.then(|| Filter::new(Layout::TEXT));
        Self::new(descriptor, filter, idle)
    }

    /// Writes to a pipe in place of standard output.
    pub fn pipe(descriptor: OwnedFd, idle: IdleSignal) -> io::Result<Self> {
        Self::new(Descriptor::Owned(descriptor), None, idle)
    }

    fn new(descriptor: Descriptor, filter: Option<Filter>, idle: IdleSignal) -> io::Result<Self> {
        Ok(Self {
            stream: Stream::new(descriptor, WRITING)?,
            buffer: Vec::new(),
            written: 0,
            written_before: 0,
            idle,
            waiting_since: None,
            longest_wait: None,
            filter,
        })
    }

    /// Adds a JSON line.
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

    /// Adds text, without control sequences if the output is a terminal.
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

    /// Returns the current end of the output.
    pub fn mark(&self) -> Mark {
        Mark(self.written_before + self.buffer.len() as u64)
    }

    /// Returns whether everything before the mark was written.
    pub fn has_written(&self, mark: Mark) -> bool {
        self.written_before + self.written as u64 >= mark.0
    }

    /// Returns whether the reader is so far behind that nothing more should be produced for now.
    pub fn is_full(&self) -> bool {
        self.buffer.len() - self.written > HIGH_WATER_BYTES
    }

    /// Returns whether the reader is so far behind that not even commands should be answered for now.
    pub fn is_overfull(&self) -> bool {
        self.buffer.len() - self.written > RESPONSES_HIGH_WATER_BYTES
    }

    pub fn is_empty(&self) -> bool {
        self.buffer.len() == self.written
    }

    /// Writes the buffer once the executor is idle or the buffer is full. Returns after each flush,
    /// or with an error once the reader has gone away; until then it waits, so it can be a branch of
    /// a `select!`.
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

    /// Writes without waiting, if the reader can take everything. An error shows up again at the
    /// next flush.
    pub fn write_now(&mut self) {
        let writable = is_ready_within(self.stream.descriptor(), PollFlags::OUT, Duration::ZERO);
        let waiting = self.buffer.len() - self.written;
        // A larger write could block.
        if waiting > 0 && waiting <= WRITE_BYTES && matches!(writable, Ok(true)) {
            let written = rustix::io::write(self.stream.descriptor(), &self.buffer[self.written..]);
            self.written += written.unwrap_or(0);
        }
    }

    /// Writes the whole buffer. The error is `BrokenPipe` when the reader has gone away.
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
        // Release the memory of a burst.
        self.buffer.shrink_to(READ_BYTES);
        Ok(())
    }

    /// Sets how long a flush waits for a reader that takes nothing; `None` waits forever.
    pub fn limit_waiting(&mut self, limit: Option<Duration>) {
        self.longest_wait = limit;
    }

    /// Waits until something can be written. The error is `TimedOut` when the reader takes too long,
    /// counted from when it last took something, no matter how often this is cancelled.
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

    /// Drops what was not written yet.
    pub fn discard(&mut self) {
        self.written_before += self.written as u64;
        self.buffer.clear();
        self.written = 0;
    }
}
