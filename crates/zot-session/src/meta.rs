//! The description of a session.

use zot_conversation::Timestamp;

use crate::id::random_id;

/// The first record of a session file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionMeta {
    /// A UUID.
    pub id: String,
    /// Where the agent worked; empty in an imported file.
    pub cwd: String,
    /// In a session that was read, the model that was used last, like the provider.
    pub model: String,
    pub provider: String,
    pub started: Timestamp,
    /// The version of the program that wrote the file.
    pub version: String,
    /// The user's title.
    pub title: Option<String>,
    /// The session this one was forked from.
    pub parent: Option<String>,
    /// How many messages of `parent` it begins with.
    pub fork_point: Option<u64>,
}

impl SessionMeta {
    /// Describes a new session that starts now.
    pub fn new(cwd: String, provider: String, model: String) -> Self {
        Self {
            id: random_id(),
            cwd,
            model,
            provider,
            started: Timestamp::now(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            title: None,
            parent: None,
            fork_point: None,
        }
    }

    /// Describes a new session with the model and the title of this one.
    pub(crate) fn successor(&self, cwd: String) -> Self {
        Self {
            title: self.title.clone(),
            ..Self::new(cwd, self.provider.clone(), self.model.clone())
        }
    }

    /// Applies a later record. The id stays: concatenated files are one session, and the original
    /// repeats the whole record when it switches models.
    pub(crate) fn amend(&mut self, later: Self) {
        let is_same = later.id.is_empty() || later.id == self.id;
        if is_same && !later.provider.is_empty() && !later.model.is_empty() {
            (self.provider, self.model) = (later.provider, later.model);
        }
        if is_same && later.title.is_some() {
            self.title = later.title;
        }
    }
}
