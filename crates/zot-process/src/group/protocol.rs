//! What a process group and its supervisor say to each other, in single bytes but for the report.

/// Asks the program's group, and what has left it, to end.
pub(crate) const TERMINATE: u8 = b'T';

/// Kills everything. So does the end of the connection.
pub(crate) const KILL: u8 = b'K';

/// Reports that the last process is gone, where others were left when the program ended.
pub(crate) const GONE: u8 = b'G';

/// Reports that the program has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Report {
    /// As `wait` tells it.
    pub(crate) status: i32,
    /// Whether processes that it started are left.
    pub(crate) others: bool,
}

pub(crate) const REPORT_BYTES: usize = 5;

impl Report {
    pub(crate) fn to_bytes(self) -> [u8; REPORT_BYTES] {
        let [a, b, c, d] = self.status.to_ne_bytes();
        [a, b, c, d, u8::from(self.others)]
    }

    pub(crate) fn from_bytes([a, b, c, d, others]: [u8; REPORT_BYTES]) -> Self {
        Self {
            status: i32::from_ne_bytes([a, b, c, d]),
            others: others != 0,
        }
    }
}
