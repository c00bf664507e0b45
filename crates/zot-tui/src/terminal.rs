//! Sets the terminal up for the chat, and restores it whatever happens.

mod decoder;
mod mode;
mod reader;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io::{self, Write};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::app::{Input, MIN_COLUMNS, MIN_ROWS};
use decoder::{Decoded, Decoder};
use reader::Reader;

/// Enables bracketed paste, and kitty's keyboard protocol if the terminal has it.
const ENTER: &[u8] = b"\x1b[?2004h\x1b[>1u";
/// Undoes all of that, and resets the cursor and the colours.
const LEAVE: &[u8] = b"\x1b[<u\x1b[?2004l\x1b[?2026l\x1b[0m\x1b[?25h";

/// How long an escape waits for the rest of a sequence before it counts as the key.
///
/// Limit: an escape that nothing follows counts as the key.
const ESCAPE_TIME: Duration = Duration::from_millis(25);

/// The same while a reply is expected, which may arrive in pieces over a slow line.
///
/// Limit: while the terminal owes a reply, an escape that nothing follows counts as the key.
const REPLY_ESCAPE_TIME: Duration = Duration::from_millis(250);

/// How long replies are expected.
const REPLY_TIME: Duration = Duration::from_secs(5);

/// How long to wait for a reply before another program controls the terminal.
const LAST_REPLY_TIME: Duration = Duration::from_millis(100);

/// The alternate screen.
const ENTER_FULLSCREEN: &[u8] = b"\x1b[?1049h";
const LEAVE_FULLSCREEN: &[u8] = b"\x1b[?1049l";

/// Whether the alternate screen is shown.
static IS_FULLSCREEN: AtomicBool = AtomicBool::new(false);

static PANIC_HOOK: Once = Once::new();
/// The message of a panic that restored the terminal.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// What the terminal is capable of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It moves the cursor and reports every key.
    Screen,
    /// It handles only lines: `TERM` is `dumb` or not set.
    Lines,
}

impl Kind {
    pub(crate) fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        match variable("TERM").as_deref() {
            None | Some("" | "dumb" | "unknown") => Self::Lines,
            Some(_) => Self::Screen,
        }
    }
}

/// A query to the terminal, whose reply may arrive between any keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TerminalQuery {
    /// The background colour.
    Background,
    /// The size of a cell in pixels.
    Cell,
    /// The terminal's attributes.
    Attributes,
    /// The position of the cursor.
    Cursor,
}

impl TerminalQuery {
    fn sequence(self) -> &'static [u8] {
        match self {
            Self::Background => b"\x1b]11;?\x07",
            Self::Cell => b"\x1b[16t",
            Self::Attributes => b"\x1b[c",
            Self::Cursor => b"\x1b[6n",
        }
    }
}

/// What the terminal has reported about images.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// Whether it draws sixels; `None` until it has replied.
    pub(crate) sixel: Option<bool>,
    /// Width and height of a cell in pixels.
    pub(crate) cell: Option<(usize, usize)>,
}

/// The terminal while the chat controls it. Dropping it restores the terminal.
pub(crate) struct Terminal {
    reader: Option<Reader>,
    resized: Signal,
    /// The beginning of the next line, in a terminal that handles only lines.
    line: Option<Vec<u8>>,
    decoder: Decoder,
    /// Decoded input that has not been returned.
    ready: VecDeque<Input>,
    /// Until when more input may complete the last bytes.
    undecided_until: Option<Instant>,
    /// Until when replies may arrive.
    replies_due: Option<Instant>,
    capabilities: watch::Sender<Capabilities>,
    /// Queries for the position of the cursor without a reply.
    cursor_queries: usize,
}

impl Terminal {
    pub(crate) fn enter(kind: Kind) -> io::Result<Self> {
        PANIC_HOOK.call_once(|| {
            let previous = panic::take_hook();
            // Jobs may panic on other threads, and the chat continues.
            let own = thread::current().id();
            panic::set_hook(Box::new(move |info| {
                if thread::current().id() == own {
                    if restore() {
                        let mut message = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
                        *message = Some(info.to_string());
                    }
                    previous(info);
                }
            }));
        });
        let mut terminal = Self {
            reader: None,
            resized: signal(SignalKind::window_change())?,
            line: (kind == Kind::Lines).then(Vec::new),
            decoder: Decoder::default(),
            ready: VecDeque::new(),
            undecided_until: None,
            replies_due: None,
            capabilities: watch::Sender::new(Capabilities::default()),
            cursor_queries: 0,
        };
        terminal.resume()?;
        Ok(terminal)
    }

    /// Takes over the terminal again after [`leave`](Self::leave).
    pub(crate) fn resume(&mut self) -> io::Result<()> {
        if self.line.is_some() {
            self.reader = Some(Reader::new()?);
            return Ok(());
        }
        mode::make_raw()?;
        self.reader = Some(Reader::new()?);
        self.write(ENTER)
    }

    /// Takes over the terminal again after a caught panic of a tool or a job, and returns its
    /// message.
    pub(crate) fn regain(&mut self) -> io::Result<Option<String>> {
        if self.reader.is_none() || self.line.is_some() || mode::is_raw() {
            return Ok(None);
        }
        mode::make_raw()?;
        self.write(ENTER)?;
        let message = PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(Some(message.unwrap_or_default()))
    }

    /// Restores the terminal for another program.
    pub(crate) fn leave(&mut self) {
        if self.reader.take().is_some() {
            self.await_replies();
        }
        // Input typed since then is for the other program.
        self.ready.clear();
        restore();
    }

    /// Waits for expected replies, which the next program would take for typed text.
    fn await_replies(&mut self) {
        let last = Instant::now() + LAST_REPLY_TIME;
        while self.replies_due.is_some_and(|until| Instant::now() < until) {
            let remaining = last.saturating_duration_since(Instant::now());
            match reader::read_within(remaining) {
                Ok(Some(bytes)) if !bytes.is_empty() => self.decoder.push(&bytes),
                _ => return,
            }
            // Keys that arrive with them are dropped.
            while let Some(decoded) = self.decoder.next() {
                self.input(decoded);
            }
        }
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    /// Shows the alternate screen.
    pub(crate) fn enter_fullscreen(&self) -> io::Result<()> {
        IS_FULLSCREEN.store(true, Ordering::Relaxed);
        self.write(ENTER_FULLSCREEN)
    }

    /// Shows the main screen again, with the cursor where it was.
    pub(crate) fn leave_fullscreen(&self) -> io::Result<()> {
        IS_FULLSCREEN.store(false, Ordering::Relaxed);
        self.write(LEAVE_FULLSCREEN)
    }

    pub(crate) fn size() -> (usize, usize) {
        let (columns, rows) = mode::size().unwrap_or((80, 24));
        (columns.max(MIN_COLUMNS), rows.max(MIN_ROWS))
    }

    /// Returns the width and height of a cell in pixels, if the terminal reports them.
    pub(crate) fn cell() -> Option<(usize, usize)> {
        mode::cell()
    }

    /// Sends queries without waiting. The background arrives as an input, the rest as
    /// [`capabilities`](Self::capabilities). Every terminal reports its attributes, so they are
    /// queried last: no other reply follows theirs.
    pub(crate) fn query(&mut self, queries: &[TerminalQuery]) -> io::Result<()> {
        let sequences = queries.iter().map(|query| query.sequence());
        let bytes: Vec<u8> = sequences.flatten().copied().collect();
        if bytes.is_empty() {
            return Ok(());
        }
        self.replies_due = Some(Instant::now() + REPLY_TIME);
        self.write(&bytes)
    }

    /// Queries the position of the cursor; [`Input::Cursor`] is the reply to the last such query.
    pub(crate) fn query_cursor(&mut self) -> io::Result<()> {
        self.cursor_queries += 1;
        self.query(&[TerminalQuery::Cursor])
    }

    /// Stops waiting for the position of the cursor.
    pub(crate) fn forget_cursor_queries(&mut self) {
        self.cursor_queries = 0;
    }

    pub(crate) fn capabilities(&self) -> watch::Receiver<Capabilities> {
        self.capabilities.subscribe()
    }

    /// Waits for the next input; `None` if the terminal has closed.
    pub(crate) async fn next(&mut self) -> Option<io::Result<Input>> {
        loop {
            while let Some(decoded) = self.decoder.next() {
                let input = self.input(decoded);
                self.ready.extend(input);
            }
            if let Some(input) = self.ready.pop_front() {
                return Some(Ok(input));
            }
            let undecided = async {
                match self.undecided_until {
                    Some(until) => sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            let Some(reader) = self.reader.as_ref() else {
                // Another program controls the terminal.
                return std::future::pending().await;
            };
            // Both branches are cancel-safe.
            tokio::select! {
                biased;
                bytes = reader.read() => match bytes {
                    Ok(bytes) if bytes.is_empty() => return None,
                    Ok(bytes) => self.push(&bytes),
                    Err(error) => return Some(Err(error)),
                },
                _ = self.resized.recv() => {
                    let (columns, rows) = Self::size();
                    return Some(Ok(Input::Resized { columns, rows }));
                }
                () = undecided => {
                    self.undecided_until = None;
                    if let Some(input) = self.decoder.finish().and_then(|decoded| self.input(decoded)) {
                        self.set_deadline();
                        return Some(Ok(input));
                    }
                }
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        if let Some(line) = &mut self.line {
            line.extend_from_slice(bytes);
            while let Some(end) = line.iter().position(|byte| *byte == b'\n') {
                let whole: Vec<u8> = line.drain(..=end).collect();
                let text = String::from_utf8_lossy(&whole);
                let text = text.trim_end_matches(['\n', '\r']).to_owned();
                self.ready.push_back(Input::Line(text));
            }
            return;
        }
        self.decoder.push(bytes);
        self.set_deadline();
    }

    fn set_deadline(&mut self) {
        let now = Instant::now();
        let wait = match self.replies_due {
            Some(until) if now < until => REPLY_ESCAPE_TIME,
            _ => ESCAPE_TIME,
        };
        let is_undecided = self.decoder.is_undecided();
        self.undecided_until = is_undecided.then(|| now + wait);
    }

    fn input(&mut self, decoded: Decoded) -> Option<Input> {
        match decoded {
            Decoded::Key(key) => return Some(Input::Key(key)),
            Decoded::Paste(text) => return Some(Input::Paste(text)),
            Decoded::Background { is_light } => return Some(Input::Background { is_light }),
            Decoded::Cell(width, height) => {
                self.capabilities
                    .send_modify(|capabilities| capabilities.cell = Some((width, height)));
            }
            Decoded::Cursor { key, .. } if self.cursor_queries == 0 => {
                return key.map(Input::Key);
            }
            Decoded::Cursor { row, column, .. } => {
                self.cursor_queries -= 1;
                let (row, column) = (row.saturating_sub(1), column.saturating_sub(1));
                // Replies to earlier queries are out of date.
                return (self.cursor_queries == 0).then_some(Input::Cursor { row, column });
            }
            Decoded::Attributes { sixel } => {
                self.replies_due = None;
                self.capabilities
                    .send_modify(|capabilities| capabilities.sixel = Some(sixel));
            }
        }
        None
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Restores the terminal and returns whether that was necessary.
fn restore() -> bool {
    let was_raw = mode::is_raw();
    if was_raw {
        // If the terminal has closed, there is nothing to restore.
        let mut out = io::stdout();
        if IS_FULLSCREEN.swap(false, Ordering::Relaxed) {
            let _ = out.write_all(LEAVE_FULLSCREEN);
        }
        let _ = out.write_all(LEAVE).and_then(|()| out.flush());
        mode::restore();
    }
    was_raw
}
