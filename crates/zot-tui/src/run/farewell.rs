//! The last line when the user leaves: the cost, and how to continue.

use std::io::{self, Write as _};

use zot_sdk::Runtime;

use super::Chat;

/// How many characters of a session's id identify it.
const SHORT_ID_CHARACTERS: usize = 8;

/// Printed when the conversation is not empty.
#[derive(Debug)]
pub(super) struct Farewell {
    /// The id of the session, if it is in a file.
    id: Option<String>,
}

impl Chat {
    /// Returns the last line, or `None` if the conversation is empty.
    pub(super) fn farewell(&self) -> Option<Farewell> {
        if self.runtime.transcript().is_empty() && self.runtime.cost().cost_usd == 0.0 {
            return None;
        }
        let session = self.runtime.session();
        let session = session.filter(|session| session.path.exists());
        Some(Farewell {
            id: session.map(|session| session.id.chars().take(SHORT_ID_CHARACTERS).collect()),
        })
    }
}

impl Farewell {
    /// Prints the line, without a cost that is unknown or zero.
    pub(super) fn print(&self, runtime: &Runtime) -> io::Result<()> {
        let mut parts = Vec::new();
        let cost = runtime.cost().cost_usd;
        if cost > 0.0 {
            parts.push(format!("cost ${cost:.4}"));
        }
        if let Some(id) = &self.id {
            parts.push(format!("to continue: zot --resume {id}"));
        }
        if parts.is_empty() {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        writeln!(out, "{}", parts.join(" · "))?;
        out.flush()
    }
}
