//! The revisions of the protocol, which fall into two eras.

/// The newest revision: no handshake, every request says what it needs.
pub const MODERN_VERSION: &str = "2026-07-28";

/// What we offer in a handshake.
pub const LEGACY_VERSION: &str = "2025-11-25";

/// The revisions with a handshake that we can speak.
pub const LEGACY_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// How a connection is begun and what its requests carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// `initialize` first; the server keeps a session.
    Legacy,
    /// No handshake; `_meta` in every request.
    Modern,
}

impl Era {
    /// Returns the era of a revision, if we can speak it.
    pub fn of(version: &str) -> Option<Self> {
        match version {
            MODERN_VERSION => Some(Self::Modern),
            version if LEGACY_VERSIONS.contains(&version) => Some(Self::Legacy),
            _ => None,
        }
    }
}
