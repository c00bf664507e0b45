//! What every component reads and none changes.

use super::Info;
use crate::style::Theme;

/// A smaller screen is unreadable, so it is drawn as if it had this size.
pub(crate) const MIN_COLUMNS: usize = 10;
pub(crate) const MIN_ROWS: usize = 4;

#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) now_ms: u64,
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    pub(crate) theme: Theme,
    pub(crate) info: Info,
    /// The terminal handles only lines: answers are printed as they arrive, and the terminal
    /// echoes what the user types.
    pub(crate) is_plain: bool,
}

impl Context {
    pub(super) fn set_size(&mut self, columns: usize, rows: usize) {
        self.columns = columns.max(MIN_COLUMNS);
        self.rows = rows.max(MIN_ROWS);
    }

    /// Sets everything except how much of the context is used, which only responses report.
    pub(super) fn set_info(&mut self, info: Info) {
        let context_used = self.info.context_used;
        self.info = Info {
            context_used,
            ..info
        };
    }
}
