//! Raw mode, and how large the terminal is.

use std::io;
use std::sync::{Mutex, PoisonError};

use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// The settings to restore while raw mode is on.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Delivers keys as they are typed, uninterpreted.
pub(super) fn make_raw() -> io::Result<()> {
    let before = tcgetattr(stdin())?;
    let mut raw = before.clone();
    raw.make_raw();
    tcsetattr(stdin(), OptionalActions::Now, &raw)?;
    let mut kept = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    kept.get_or_insert(before);
    Ok(())
}

/// Ends raw mode, if it is on.
pub(super) fn put_back() {
    let mut kept = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(before) = kept.take() {
        // Nothing can be restored when the terminal is gone.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
    }
}

pub(super) fn is_raw() -> bool {
    let kept = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    kept.is_some()
}

/// Columns and rows, if it says.
pub(super) fn size() -> Option<(usize, usize)> {
    let size = tcgetwinsize(stdout()).ok()?;
    let is_known = size.ws_col > 0 && size.ws_row > 0;
    is_known.then_some((usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// Width and height of a cell in pixels, if it says.
pub(super) fn cell() -> Option<(usize, usize)> {
    let size = tcgetwinsize(stdout()).ok()?;
    let width = size.ws_xpixel.checked_div(size.ws_col)?;
    let height = size.ws_ypixel.checked_div(size.ws_row)?;
    (width > 0 && height > 0).then_some((usize::from(width), usize::from(height)))
}
