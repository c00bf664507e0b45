//! Raw mode, and the size of the terminal.

use std::io;
use std::sync::{Mutex, PoisonError};

use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// The settings to restore while raw mode is on.
static ORIGINAL: Mutex<Option<Termios>> = Mutex::new(None);

/// Switches raw mode on, in which keys arrive uninterpreted.
pub(super) fn make_raw() -> io::Result<()> {
    let original = tcgetattr(stdin())?;
    let mut raw = original.clone();
    raw.make_raw();
    tcsetattr(stdin(), OptionalActions::Now, &raw)?;
    let mut saved = ORIGINAL.lock().unwrap_or_else(PoisonError::into_inner);
    saved.get_or_insert(original);
    Ok(())
}

/// Switches raw mode off, if it is on.
pub(super) fn restore() {
    let mut saved = ORIGINAL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(original) = saved.take() {
        // Nothing can be restored if the terminal has closed.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &original);
    }
}

pub(super) fn is_raw() -> bool {
    let saved = ORIGINAL.lock().unwrap_or_else(PoisonError::into_inner);
    saved.is_some()
}

/// Returns the columns and rows, if the terminal reports them.
pub(super) fn size() -> Option<(usize, usize)> {
    let size = tcgetwinsize(stdout()).ok()?;
    let is_known = size.ws_col > 0 && size.ws_row > 0;
    is_known.then_some((usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// Returns the width and height of a cell in pixels, if the terminal reports them.
pub(super) fn cell() -> Option<(usize, usize)> {
    let size = tcgetwinsize(stdout()).ok()?;
    let width = size.ws_xpixel.checked_div(size.ws_col)?;
    let height = size.ws_ypixel.checked_div(size.ws_row)?;
    (width > 0 && height > 0).then_some((usize::from(width), usize::from(height)))
}
