//! The terminal itself: put into the state that a chat needs, and put back whatever happens.

mod burst;
mod reply;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, Write};
use std::panic;
use std::pin::Pin;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use crossterm::event::{self, EventStream, KeyEventKind, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode, size, window_size};
use futures_core::Stream;
use tokio::time::timeout;

use crate::app::{Input, Key, KeyCode};
use burst::Burst;
use reply::{Found, Reply};

/// Pastes come as one, and keys that look alike are told apart where the terminal can.
const ENTER: &[u8] = b"\x1b[?2004h\x1b[>1u";
/// All of that undone, and the cursor and colours as they were.
const LEAVE: &[u8] = b"\x1b[<u\x1b[?2004l\x1b[?2026l\x1b[0m\x1b[?25h";

/// Events that are looked at together.
const MAX_AT_ONCE: usize = 4_096;

static IS_ENTERED: AtomicBool = AtomicBool::new(false);
static PANIC_HOOK: Once = Once::new();

/// The terminal while the chat has it. Dropping it puts the terminal back.
pub(crate) struct Terminal {
    events: Option<EventStream>,
    /// Looks for the answer to a question.
    reply: Option<Reply>,
    /// Looks for pastes that are not marked as such.
    burst: Burst,
    /// What has come and was not asked for yet.
    ready: VecDeque<Input>,
}

impl Terminal {
    pub(crate) fn enter() -> io::Result<Self> {
        PANIC_HOOK.call_once(|| {
            let previous = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                restore();
                previous(info);
            }));
        });
        let mut terminal = Self {
            events: None,
            reply: None,
            burst: Burst::default(),
            ready: VecDeque::new(),
        };
        terminal.resume()?;
        Ok(terminal)
    }

    /// Takes the terminal again after [`leave`](Self::leave).
    pub(crate) fn resume(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        IS_ENTERED.store(true, Ordering::SeqCst);
        self.events = Some(EventStream::new());
        self.write(ENTER)
    }

    /// Gives the terminal to someone else.
    pub(crate) fn leave(&mut self) {
        self.events = None;
        // What was typed after the key that asked for it was meant for the other.
        self.ready.clear();
        self.burst = Burst::default();
        restore();
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    pub(crate) fn size() -> (usize, usize) {
        let (columns, rows) = size().unwrap_or((80, 24));
        (usize::from(columns.max(10)), usize::from(rows.max(4)))
    }

    /// Width and height of a cell in pixels, if the terminal says.
    pub(crate) fn cell() -> Option<(usize, usize)> {
        let size = window_size().ok()?;
        let width = size.width.checked_div(size.columns)?;
        let height = size.height.checked_div(size.rows)?;
        (width > 0 && height > 0).then_some((usize::from(width), usize::from(height)))
    }

    /// Asks for the colour of the background. The answer, if there is one, is an input.
    pub(crate) fn ask_background(&mut self) -> io::Result<()> {
        self.reply = Some(Reply::default());
        self.write(reply::QUESTION)
    }

    /// The next thing the user does; `None` when the terminal is gone.
    pub(crate) async fn next(&mut self) -> Option<io::Result<Input>> {
        loop {
            if let Some(input) = self.ready.pop_front() {
                return Some(Ok(input));
            }
            let Some(events) = self.events.as_mut() else {
                // Someone else has the terminal.
                return std::future::pending().await;
            };
            let next = poll_fn(|context| Pin::new(&mut *events).poll_next(context));
            let mut event = match self.burst.is_open() {
                false => next.await,
                true => match timeout(burst::GAP, next).await {
                    Ok(event) => event,
                    Err(_) => {
                        self.ready.extend(self.burst.end());
                        continue;
                    }
                },
            };
            // And all that came with it.
            let mut inputs = Vec::new();
            loop {
                match event? {
                    Ok(event) => filter(&mut self.reply, event, &mut inputs),
                    Err(error) => return Some(Err(error)),
                }
                let next = poll_fn(|context| {
                    Poll::Ready(match Pin::new(&mut *events).poll_next(context) {
                        Poll::Ready(event) => Some(event),
                        Poll::Pending => None,
                    })
                });
                match next.await {
                    Some(next) if inputs.len() < MAX_AT_ONCE => event = next,
                    Some(Some(Ok(next))) => {
                        filter(&mut self.reply, next, &mut inputs);
                        break;
                    }
                    _ => break,
                }
            }
            self.ready.extend(self.burst.take(inputs));
        }
    }
}

/// What an event is to the chat; the answer to a question is taken out.
fn filter(reply: &mut Option<Reply>, event: event::Event, inputs: &mut Vec<Input>) {
    let Some(input) = input(event) else { return };
    let (Input::Key(key), Some(waiting)) = (&input, &mut *reply) else {
        inputs.push(input);
        return;
    };
    match waiting.take(*key) {
        Found::More => {}
        Found::Background { is_light } => {
            *reply = None;
            inputs.push(Input::Background { is_light });
        }
        Found::Keys(keys) => inputs.extend(keys.into_iter().map(Input::Key)),
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.leave();
    }
}

fn restore() {
    if IS_ENTERED.swap(false, Ordering::SeqCst) {
        // When the terminal is gone there is nothing to put back.
        let mut out = io::stdout();
        let _ = out.write_all(LEAVE).and_then(|()| out.flush());
        let _ = disable_raw_mode();
    }
}

fn input(event: event::Event) -> Option<Input> {
    Some(match event {
        event::Event::Key(key) if key.kind != KeyEventKind::Release => Input::Key(press(key)?),
        event::Event::Paste(text) => Input::Paste(text),
        event::Event::Resize(columns, rows) => Input::Resized {
            columns: usize::from(columns),
            rows: usize::from(rows),
        },
        _ => return None,
    })
}

fn press(key: event::KeyEvent) -> Option<Key> {
    let code = match key.code {
        event::KeyCode::Char(character) => KeyCode::Character(character),
        event::KeyCode::Enter => KeyCode::Enter,
        event::KeyCode::Tab | event::KeyCode::BackTab => KeyCode::Tab,
        event::KeyCode::Backspace => KeyCode::Backspace,
        event::KeyCode::Delete => KeyCode::Delete,
        event::KeyCode::Esc => KeyCode::Escape,
        event::KeyCode::Left => KeyCode::Left,
        event::KeyCode::Right => KeyCode::Right,
        event::KeyCode::Up => KeyCode::Up,
        event::KeyCode::Down => KeyCode::Down,
        event::KeyCode::Home => KeyCode::Home,
        event::KeyCode::End => KeyCode::End,
        event::KeyCode::PageUp => KeyCode::PageUp,
        event::KeyCode::PageDown => KeyCode::PageDown,
        _ => return None,
    };
    Some(Key {
        code,
        control: key.modifiers.contains(KeyModifiers::CONTROL),
        alt: key.modifiers.contains(KeyModifiers::ALT),
        shift: key.modifiers.contains(KeyModifiers::SHIFT),
    })
}
