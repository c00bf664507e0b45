//! Lends the terminal to another program: an editor or the shell.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use rustix::process::{Signal, kill_current_process_group};

use super::Chat;
use super::resizing::Resized;
use crate::app::Input;
use crate::terminal::Terminal;

/// How long after another program's end a signal may still be meant for it.
const GUEST_LEAVES: Duration = Duration::from_millis(100);

/// Ends with an input.
pub(super) type Guest = Pin<Box<dyn Future<Output = Input>>>;

impl Chat {
    /// Lends the terminal to `guest` until it ends.
    pub(super) fn lend_terminal(
        &mut self,
        guest: impl Future<Output = Input> + 'static,
    ) -> io::Result<()> {
        self.set_aside()?;
        self.tasks.guest = Some(Box::pin(guest));
        Ok(())
    }

    /// Stops the process until the shell continues it.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        self.set_aside()?;
        kill_current_process_group(Signal::TSTP)?;
        self.take_back()
    }

    fn set_aside(&mut self) -> io::Result<()> {
        if self.plain.is_none() {
            let bytes = self.screen.renderer.clear();
            self.terminal.write(bytes.as_bytes())?;
        }
        self.terminal.leave();
        Ok(())
    }

    /// Whether ctrl+c was meant for a program that has, or just had, the terminal. Its end may be known
    /// before the signal that ended it.
    pub(super) fn is_guests_interrupt(&self) -> bool {
        let just_left = self
            .tasks
            .guest_left
            .is_some_and(|when| when.elapsed() < GUEST_LEAVES);
        self.tasks.guest.is_some() || just_left
    }

    pub(super) fn take_back(&mut self) -> io::Result<()> {
        self.terminal.resume()?;
        let size = Terminal::size();
        if size != self.app.size() {
            self.screen.resized = Some(Resized::settled(size));
        }
        Ok(())
    }
}

pub(super) async fn next_guest(guest: &mut Option<Guest>) -> Input {
    match guest {
        Some(guest) => guest.await,
        None => std::future::pending().await,
    }
}
