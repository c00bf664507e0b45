//! What a session says about itself.

use zot_conversation::Timestamp;

use crate::id::random_id;

/// The first record of a session file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionMeta {
    /// A UUID.
    pub id: String,
    /// Where the agent worked; empty in a file that came from elsewhere.
    pub cwd: String,
    /// In a session that was read, the one it was held with last, like the provider.
    pub model: String,
    pub provider: String,
    pub started: Timestamp,
    /// The version of the program that wrote the file.
    pub version: String,
    /// The session this one was forked from.
    pub parent: Option<String>,
    /// How many messages of `parent` it begins with.
    pub fork_point: Option<u64>,
}

impl SessionMeta {
    /// A new session that starts now.
    pub fn new(cwd: String, provider: String, model: String) -> Self {
        Self {
            id: random_id(),
            cwd,
            model,
            provider,
            started: Timestamp::now(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            parent: None,
            fork_point: None,
        }
    }

    /// A new session with the model of this one.
    pub(crate) fn successor(&self, cwd: String) -> Self {
        Self::new(cwd, self.provider.clone(), self.model.clone())
    }
}
