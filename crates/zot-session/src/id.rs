//! Names: of sessions, of their files and directories, and digests as text.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use crate::SessionMeta;

/// The extension of session files.
pub(crate) const EXTENSION: &str = "jsonl";

/// The length of the part of a session's id in its file name.
pub(crate) const SHORT_ID: usize = 8;

/// Returns the path of a session's file below the sessions directory.
pub(crate) fn file_below_sessions(meta: &SessionMeta) -> PathBuf {
    let name = format!(
        "{}-{}.{EXTENSION}",
        meta.started.strftime("%Y%m%d-%H%M%S"),
        meta.id.get(..SHORT_ID).unwrap_or(&meta.id)
    );
    PathBuf::from(directory_name(&meta.cwd)).join(name)
}

/// Returns the directory name for a working directory: the first eight bytes of its SHA-256.
pub(crate) fn directory_name(cwd: &str) -> String {
    hex(Sha256::digest(cwd.as_bytes()).get(..8).unwrap_or_default())
}

/// Returns the id of a new session: a random UUID (version 4).
pub fn random_id() -> String {
    let mut bytes = [0_u8; 16];
    // Without randomness names are only more predictable; O_EXCL still prevents collisions.
    let _ = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let digits = hex(&bytes);
    [0..8, 8..12, 12..16, 16..20, 20..32]
        .map(|range| &digits[range])
        .join("-")
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
