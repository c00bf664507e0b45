//! What is said when the user leaves: what was spent, and how to go on.

use std::io::{self, Write as _};

use zot_sdk::Runtime;

use super::Chat;

/// As much of a session's id as its file is called by.
const SHORT_ID: usize = 8;

/// Something was said in this chat.
#[derive(Debug)]
pub(super) struct Farewell {
    /// Of the session, if it is in a file.
    id: Option<String>,
}

impl Chat {
    /// Nothing if nothing was said.
    pub(super) fn farewell(&self) -> Option<Farewell> {
        if self.runtime.transcript().is_empty() && self.runtime.cost().cost_usd == 0.0 {
            return None;
        }
        let session = self.runtime.session();
        let session = session.filter(|session| session.path.exists());
        Some(Farewell {
            id: session.map(|session| session.id.chars().take(SHORT_ID).collect()),
        })
    }
}

impl Farewell {
    /// A cost that is not known, or is nothing, is left out.
    pub(super) fn print(&self, runtime: &Runtime) -> io::Result<()> {
        let mut parts = Vec::new();
        let cost = runtime.cost().cost_usd;
        if cost > 0.0 {
            parts.push(format!("cost ${cost:.4}"));
        }
        if let Some(id) = &self.id {
            parts.push(format!("to go on: zot --resume {id}"));
        }
        if parts.is_empty() {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        writeln!(out, "{}", parts.join(" · "))?;
        out.flush()
    }
}
