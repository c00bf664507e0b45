//! Asks for a key in the terminal and shows it as a row of bullets.
//!
//! Dropping the prompt restores the terminal.

use std::io;

use zot_process::{EndSignal, EndSignals};

use crate::app::{Input, Key, KeyCode};
use crate::terminal::{Kind, Terminal};
use crate::text::clean;
use crate::typed_secret::TypedSecret;

/// Shown instead of each character of the key.
const BULLET: &str = "•";

/// What the user did.
#[derive(Debug)]
pub enum KeyPromptEvent {
    /// The text that was typed or pasted before enter.
    Entered(TypedSecret),
    /// The tab key, which opens the page in a browser.
    PageRequested,
    /// Esc or ctrl+c.
    Cancelled,
    /// A signal that ends the process.
    Signal(EndSignal),
    /// The terminal is gone.
    TerminalClosed,
}

/// Whether typed characters are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    Shown,
    Hidden,
}

/// The terminal while it asks for a key.
pub struct KeyPrompt {
    terminal: Terminal,
    signals: EndSignals,
    label: String,
    echo: Echo,
    text: TypedSecret,
}

impl KeyPrompt {
    /// Takes over the terminal, which must be standard input and standard output. Must be called
    /// within a tokio runtime.
    pub fn open() -> io::Result<Self> {
        Ok(Self {
            terminal: Terminal::enter(Kind::Screen)?,
            signals: EndSignals::new()?,
            label: String::new(),
            echo: Echo::Hidden,
            text: TypedSecret::default(),
        })
    }

    /// Prints a line above the prompt.
    pub fn print(&self, text: &str) -> io::Result<()> {
        self.terminal.write(b"\r\x1b[K")?;
        for line in text.lines() {
            self.terminal.write(clean(line).as_bytes())?;
            self.terminal.write(b"\r\n")?;
        }
        Ok(())
    }

    /// Asks for a key, with nothing typed yet.
    pub fn ask(&mut self, label: &str, echo: Echo) -> io::Result<()> {
        self.label = label.to_owned();
        self.echo = echo;
        self.text.clear();
        self.draw()
    }

    /// Waits for the next event. Cancel-safe: what was typed is kept.
    pub async fn next(&mut self) -> io::Result<KeyPromptEvent> {
        loop {
            let input = tokio::select! {
                biased;
                signal = self.signals.next() => return Ok(KeyPromptEvent::Signal(signal)),
                input = self.terminal.next() => input,
            };
            let event = match input {
                Some(Ok(Input::Key(key))) => self.press(&key)?,
                Some(Ok(Input::Paste(text))) => {
                    self.paste(&text)?;
                    None
                }
                Some(Ok(_)) => None,
                Some(Err(_)) | None => return Ok(KeyPromptEvent::TerminalClosed),
            };
            if let Some(event) = event {
                return Ok(event);
            }
            self.draw()?;
        }
    }

    fn press(&mut self, key: &Key) -> io::Result<Option<KeyPromptEvent>> {
        match (key.control, key.code) {
            (_, KeyCode::Escape) | (true, KeyCode::Character('c')) => {
                return Ok(Some(KeyPromptEvent::Cancelled));
            }
            (true, KeyCode::Character('d')) if self.text.is_empty() => {
                return Ok(Some(KeyPromptEvent::Cancelled));
            }
            (_, KeyCode::Enter) | (true, KeyCode::Character('j' | 'm'))
                if !self.text.is_empty() =>
            {
                self.terminal.write(b"\r\n")?;
                let entered = std::mem::take(&mut self.text);
                return Ok(Some(KeyPromptEvent::Entered(entered)));
            }
            (_, KeyCode::Tab) => return Ok(Some(KeyPromptEvent::PageRequested)),
            (_, KeyCode::Backspace) | (true, KeyCode::Character('h')) => self.text.pop(),
            (true, KeyCode::Character('u' | 'w')) => self.text.clear(),
            (false, KeyCode::Character(character)) if !key.alt => {
                self.write(std::iter::once(character))?;
            }
            _ => {}
        }
        Ok(None)
    }

    fn paste(&mut self, text: &str) -> io::Result<()> {
        match text.trim().lines().count() > 1 {
            true => self.print("A key is one line: the paste was ignored."),
            false => self.write(text.trim().chars()),
        }
    }

    fn write(&mut self, characters: impl Iterator<Item = char>) -> io::Result<()> {
        for character in characters {
            if !self.text.push(character) {
                self.text.clear();
                return self.print("That is too long for a key and was ignored.");
            }
        }
        Ok(())
    }

    fn draw(&self) -> io::Result<()> {
        let room = Terminal::size().0.saturating_sub(self.label.len() + 1);
        let shown = match self.echo {
            Echo::Hidden => BULLET.repeat(self.text.count().min(room)),
            Echo::Shown => clean(self.text.reveal()).chars().take(room).collect(),
        };
        let line = format!("\r\x1b[K{}{shown}", self.label);
        self.terminal.write(line.as_bytes())
    }
}

impl Drop for KeyPrompt {
    fn drop(&mut self) {
        // The next output begins at the left edge.
        let _ = self.terminal.write(b"\r\x1b[K");
    }
}
