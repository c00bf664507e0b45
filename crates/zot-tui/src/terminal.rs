//! The terminal itself: set up for the chat, and restored whatever happens.

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

/// Bracketed paste, and kitty's keyboard protocol where the terminal has it.
const ENTER: &[u8] = b"\x1b[?2004h\x1b[>1u";
/// Undoes all of that, and resets the cursor and the colours.
const LEAVE: &[u8] = b"\x1b[<u\x1b[?2004l\x1b[?2026l\x1b[0m\x1b[?25h";

/// How long an escape waits for the rest of a sequence before it is the key.
///
/// Limit: an escape that nothing follows was the key.
const ESCAPE_TIME: Duration = Duration::from_millis(25);

/// The same while an answer is expected, which may come in pieces over a slow line.
///
/// Limit: an escape that nothing follows was the key, while the terminal owes a response.
const ANSWER_ESCAPE_TIME: Duration = Duration::from_millis(250);

/// How long answers are expected.
const ANSWERS_TIME: Duration = Duration::from_secs(5);

/// How long an expected answer is waited for before another program gets the terminal.
const LAST_ANSWER_TIME: Duration = Duration::from_millis(100);

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
    /// It handles nothing but lines: `TERM` is `dumb`, or not set.
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

/// A question to the terminal, which is answered between the keys at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// The colour of its background.
    Background,
    /// The size of a cell in pixels.
    Cell,
    /// Its attributes.
    Attributes,
    /// The position of the cursor.
    Cursor,
}

impl Question {
    fn sequence(self) -> &'static [u8] {
        match self {
            Self::Background => b"\x1b]11;?\x07",
            Self::Cell => b"\x1b[16t",
            Self::Attributes => b"\x1b[c",
            Self::Cursor => b"\x1b[6n",
        }
    }
}

/// What the terminal has answered about images.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Answers {
    /// Whether it draws sixels; `None` until it has answered.
    pub(crate) sixel: Option<bool>,
    /// Width and height of a cell in pixels.
    pub(crate) cell: Option<(usize, usize)>,
}

/// The terminal while the chat has it. Dropping it restores the terminal.
pub(crate) struct Terminal {
    reader: Option<Reader>,
    resized: Signal,
    /// In a terminal that handles nothing but lines: the beginning of the next one.
    line: Option<Vec<u8>>,
    decoder: Decoder,
    /// Decoded input that has not been taken.
    ready: VecDeque<Input>,
    /// Until when more input may complete what has come.
    undecided_until: Option<Instant>,
    /// Until when answers may come.
    answers_due: Option<Instant>,
    answers: watch::Sender<Answers>,
    /// Unanswered questions for the position of the cursor.
    cursor_questions: usize,
}

impl Terminal {
    pub(crate) fn enter(kind: Kind) -> io::Result<Self> {
        PANIC_HOOK.call_once(|| {
            let previous = panic::take_hook();
            // A panic on another thread is a job's, and the chat continues.
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
            answers_due: None,
            answers: watch::Sender::new(Answers::default()),
            cursor_questions: 0,
        };
        terminal.resume()?;
        Ok(terminal)
    }

    /// Takes the terminal again after [`leave`](Self::leave).
    pub(crate) fn resume(&mut self) -> io::Result<()> {
        if self.line.is_some() {
            self.reader = Some(Reader::new()?);
            return Ok(());
        }
        mode::make_raw()?;
        self.reader = Some(Reader::new()?);
        self.write(ENTER)
    }

    /// Takes the terminal again after a caught panic of a tool or a job, and returns its
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
            self.await_answers();
        }
        // Input typed since then is meant for the other program.
        self.ready.clear();
        restore();
    }

    /// Waits for expected answers: the next program would take them for typed text.
    fn await_answers(&mut self) {
        let last = Instant::now() + LAST_ANSWER_TIME;
        while self.answers_due.is_some_and(|until| Instant::now() < until) {
            let patience = last.saturating_duration_since(Instant::now());
            match reader::read_within(patience) {
                Ok(Some(bytes)) if !bytes.is_empty() => self.decoder.push(&bytes),
                _ => return,
            }
            // Keys that come with it are dropped.
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

    /// Width and height of a cell in pixels, if the terminal says.
    pub(crate) fn cell() -> Option<(usize, usize)> {
        mode::cell()
    }

    /// Asks without waiting. The background becomes an input, the rest is among the
    /// [`answers`](Self::answers). Every terminal answers about its attributes, so they are asked for
    /// last: what has no answer by then gets none.
    pub(crate) fn ask(&mut self, questions: &[Question]) -> io::Result<()> {
        let sequences = questions.iter().map(|question| question.sequence());
        let bytes: Vec<u8> = sequences.flatten().copied().collect();
        if bytes.is_empty() {
            return Ok(());
        }
        self.answers_due = Some(Instant::now() + ANSWERS_TIME);
        self.write(&bytes)
    }

    /// Asks for the position of the cursor; [`Input::Cursor`] answers the last such question.
    pub(crate) fn ask_cursor(&mut self) -> io::Result<()> {
        self.cursor_questions += 1;
        self.ask(&[Question::Cursor])
    }

    /// Stops waiting for the position of the cursor.
    pub(crate) fn give_up_cursor(&mut self) {
        self.cursor_questions = 0;
    }

    pub(crate) fn answers(&self) -> watch::Receiver<Answers> {
        self.answers.subscribe()
    }

    /// Waits for the next input; `None` when the terminal is gone.
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
                // Another program has the terminal.
                return std::future::pending().await;
            };
            // Both branches are cancel-safe.
            tokio::select! {
                biased;
                bytes = reader.read() => match bytes {
                    Ok(bytes) if bytes.is_empty() => return None,
                    Ok(bytes) => self.take(&bytes),
                    Err(error) => return Some(Err(error)),
                },
                _ = self.resized.recv() => {
                    let (columns, rows) = Self::size();
                    return Some(Ok(Input::Resized { columns, rows }));
                }
                () = undecided => {
                    self.undecided_until = None;
                    if let Some(input) = self.decoder.give_up().and_then(|decoded| self.input(decoded)) {
                        self.set_patience();
                        return Some(Ok(input));
                    }
                }
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
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
        self.set_patience();
    }

    fn set_patience(&mut self) {
        let now = Instant::now();
        let patience = match self.answers_due {
            Some(until) if now < until => ANSWER_ESCAPE_TIME,
            _ => ESCAPE_TIME,
        };
        let is_undecided = self.decoder.is_undecided();
        self.undecided_until = is_undecided.then(|| now + patience);
    }

    fn input(&mut self, decoded: Decoded) -> Option<Input> {
        match decoded {
            Decoded::Key(key) => return Some(Input::Key(key)),
            Decoded::Paste(text) => return Some(Input::Paste(text)),
            Decoded::Background { is_light } => return Some(Input::Background { is_light }),
            Decoded::Cell(width, height) => {
                self.answers
                    .send_modify(|answers| answers.cell = Some((width, height)));
            }
            Decoded::Cursor { key, .. } if self.cursor_questions == 0 => {
                return key.map(Input::Key);
            }
            Decoded::Cursor { row, column, .. } => {
                self.cursor_questions -= 1;
                let (row, column) = (row.saturating_sub(1), column.saturating_sub(1));
                // Answers to earlier questions are out of date.
                return (self.cursor_questions == 0).then_some(Input::Cursor { row, column });
            }
            Decoded::Attributes { sixel } => {
                self.answers_due = None;
                self.answers
                    .send_modify(|answers| answers.sixel = Some(sixel));
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

/// Returns whether there was something to restore.
fn restore() -> bool {
    let was_raw = mode::is_raw();
    if was_raw {
        // When the terminal is gone there is nothing to put back.
        let mut out = io::stdout();
        if IS_FULLSCREEN.swap(false, Ordering::Relaxed) {
            let _ = out.write_all(LEAVE_FULLSCREEN);
        }
        let _ = out.write_all(LEAVE).and_then(|()| out.flush());
        mode::put_back();
    }
    was_raw
}
