//! Asks for confirmation before something that cannot be undone or grants permissions.

use std::io::{self, IsTerminal as _, Write as _};

use crate::failure::Failure;

/// Whether the user has already agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    Given,
    /// Ask in a terminal; scripts are not asked.
    Ask,
}

impl Consent {
    pub(crate) fn of(yes: bool) -> Self {
        match yes {
            true => Self::Given,
            false => Self::Ask,
        }
    }

    /// Fails with `refusal` if the user can be asked and does not agree.
    pub(crate) async fn obtain(self, question: &str, refusal: &str) -> Result<(), Failure> {
        if self == Self::Given || !io::stdin().is_terminal() {
            return Ok(());
        }
        match agrees(question).await? {
            true => Ok(()),
            false => Err(Failure::failed(refusal.to_owned())),
        }
    }
}

/// Asks in the terminal, and returns whether the user agrees.
pub(crate) async fn agrees(question: &str) -> Result<bool, Failure> {
    let mut stderr = zot_terminal::stderr();
    let _ = write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush());
    // In a thread, so that Ctrl-C works meanwhile.
    let answer = tokio::task::spawn_blocking(|| {
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).map(|_| answer)
    });
    let answer = answer.await.map_err(io::Error::other)??;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
