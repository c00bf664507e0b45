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
const GUEST_GRACE: Duration = Duration::from_millis(100);

/// A program that controls the terminal, and the input it results in.
pub(super) type Guest = Pin<Box<dyn Future<Output = Input>>>;

impl Chat {
    /// Lends the terminal to `guest` until it ends.
    pub(super) fn lend_terminal(
        &mut self,
        guest: impl Future<Output = Input> + 'static,
    ) -> io::Result<()> {
        self.hand_over()?;
        self.tasks.guest = Some(Box::pin(guest));
        Ok(())
    }

    /// Stops the process until the shell continues it.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        self.hand_over()?;
        kill_current_process_group(Signal::TSTP)?;
        self.regain_terminal()
    }

    fn hand_over(&mut self) -> io::Result<()> {
        if self.plain.is_none() {
            let bytes = self.screen.renderer.clear();
            self.terminal.write(bytes.as_bytes())?;
        }
        self.terminal.leave();
        Ok(())
    }

    /// Returns whether ctrl+c was meant for a program that controls, or just controlled, the terminal:
    /// its end may be known before the signal that ended it.
    pub(super) fn is_interrupt_for_guest(&self) -> bool {
        let just_ended = self
            .tasks
            .guest_ended
            .is_some_and(|when| when.elapsed() < GUEST_GRACE);
        self.tasks.guest.is_some() || just_ended
    }

    pub(super) fn regain_terminal(&mut self) -> io::Result<()> {
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
