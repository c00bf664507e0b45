//! Another program has the terminal for a while: an editor, zot itself, the shell.

use std::io;
use std::pin::Pin;

use rustix::process::{Signal, kill_current_process_group};

use super::Chat;
use super::resizing::Resized;
use crate::app::Input;
use crate::terminal::Terminal;

/// Ends with an input.
pub(super) type Guest = Pin<Box<dyn Future<Output = Input>>>;

impl Chat {
    /// Gives the terminal to `guest` until that ends.
    pub(super) fn give_away(
        &mut self,
        guest: impl Future<Output = Input> + 'static,
    ) -> io::Result<()> {
        self.set_aside()?;
        self.guest = Some(Box::pin(guest));
        Ok(())
    }

    /// Stops here until the shell continues us.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        self.set_aside()?;
        kill_current_process_group(Signal::TSTP)?;
        self.take_back()
    }

    fn set_aside(&mut self) -> io::Result<()> {
        let bytes = self.renderer.clear();
        self.terminal.write(bytes.as_bytes())?;
        self.terminal.leave();
        Ok(())
    }

    pub(super) fn take_back(&mut self) -> io::Result<()> {
        self.terminal.resume()?;
        let size = Terminal::size();
        if size != self.app.size() {
            self.resized = Some(Resized::settled(size));
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
