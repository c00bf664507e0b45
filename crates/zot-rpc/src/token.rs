//! The shared secret that a client may have to send first.

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use zot_wire::Line;
use zot_wire::rpc::{Command, CommandFrame, RejectedLine, Response};

/// A secret that is compared in constant time, whatever the lengths.
pub struct Token([u8; 32]);

/// What a line says about the token.
pub enum TokenCheck {
    /// A blank line: the next one counts.
    Missing,
    Right,
    Wrong(Response<()>),
}

impl Token {
    pub fn new(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    /// Checks the first line of a client, which must be a `hello` with the token.
    pub fn check(&self, line: &Line<'_>) -> TokenCheck {
        match decode(line).map(|frame| self.refusal(&frame)) {
            None => TokenCheck::Missing,
            Some(None) => TokenCheck::Right,
            Some(Some(response)) => TokenCheck::Wrong(response),
        }
    }

    /// Returns the response to a first line without the right token.
    pub(crate) fn refusal(
        &self,
        frame: &Result<CommandFrame, RejectedLine>,
    ) -> Option<Response<()>> {
        let (id, command, error) = match frame {
            Ok(CommandFrame {
                id,
                command: command @ Command::Hello { token: sent, .. },
            }) => {
                if self.matches(sent.as_deref().unwrap_or_default()) {
                    return None;
                }
                (id, command.name(), "invalid token")
            }
            Ok(CommandFrame { id, command }) => (
                id,
                command.name(),
                "auth required: send hello with token first",
            ),
            Err(refused) => (
                &refused.id,
                refused.command.as_str(),
                "auth required: send hello with token first",
            ),
        };
        Some(Response::failure(
            id.clone(),
            command,
            "unauthorized",
            error,
        ))
    }

    fn matches(&self, candidate: &str) -> bool {
        let candidate: [u8; 32] = Sha256::digest(candidate.as_bytes()).into();
        self.0.ct_eq(&candidate).into()
    }
}

/// Parses the command on a line; `None` for a blank line.
pub(crate) fn decode(line: &Line<'_>) -> Option<Result<CommandFrame, RejectedLine>> {
    match line {
        Line::Complete(line) if line.trim_ascii().is_empty() => None,
        Line::Complete(line) => Some(CommandFrame::parse(line)),
        Line::TooLong => Some(Err(RejectedLine {
            id: None,
            command: String::new(),
            code: "line_too_long",
            error: format!(
                "line too long: the limit is {} bytes",
                zot_wire::MAX_WIRE_LINE_BYTES
            ),
        })),
    }
}
