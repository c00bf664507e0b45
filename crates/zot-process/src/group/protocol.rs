//! The protocol between a process group and its supervisor: single bytes, except for the report.

/// Asks the program's group, and processes that left it, to end.
pub(crate) const TERMINATE: u8 = b'T';

/// Kills everything. So does the end of the connection.
pub(crate) const KILL: u8 = b'K';

/// Reports that the last of the processes that outlived the program has exited.
pub(crate) const GONE: u8 = b'G';

/// Reports that the program has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Report {
    /// As returned by `wait`.
    pub(crate) status: i32,
    /// Whether processes that it started are still running.
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
