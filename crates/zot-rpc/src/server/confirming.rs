//! Clients that may not know about confirmations.

use std::io::Write as _;
use std::time::Duration;

use zot_sdk::Runtime;
use zot_wire::rpc::{Command, ConfirmCommand};
use zot_wire::write_line;

/// What is known about the client.
pub(super) struct Confirming {
    /// How long calls wait once the client has announced confirmations; `None` once it has.
    announced_time: Option<Duration>,
    has_hinted: bool,
}

impl Confirming {
    /// Creates the state of a client that has announced nothing: its calls wait for `unannounced` at
    /// most.
    pub(super) fn new(runtime: &Runtime, unannounced: Option<Duration>) -> Self {
        let time = runtime.approval().timeout;
        if let Some(unannounced) = unannounced {
            runtime.set_approval_timeout(time.min(unannounced));
        }
        Self {
            announced_time: Some(time),
            has_hinted: false,
        }
    }

    /// Gives the client the full time, because it has shown that it knows about confirmations.
    pub(super) fn set_announced(&mut self, runtime: &Runtime) {
        if let Some(time) = self.announced_time.take() {
            runtime.set_approval_timeout(time);
        }
    }

    /// Returns a hint to send with the first confirmation, unless the client knows about them.
    pub(super) fn hint(&mut self, call_id: &str, runtime: &Runtime) -> Option<String> {
        if self.announced_time.is_none() || std::mem::replace(&mut self.has_hinted, true) {
            return None;
        }
        let seconds = runtime.approval().timeout.as_secs();
        // If standard error is closed, there is nowhere else to report it.
        let _ = writeln!(
            zot_terminal::stderr(),
            "zot: warning: a tool call waits for confirmation, but this client has not announced that \
             it confirms; without a confirmation the call is refused after {seconds} s"
        );
        Some(format!(
            "this call waits for a confirmation: send {}, or false to refuse it; without an \
             answer it is refused after {seconds} s. A hello with \"capabilities\":[\"confirm\"] \
             says that you know",
            allowing_command(call_id)
        ))
    }
}

/// Returns the command that allows a call.
fn allowing_command(call_id: &str) -> String {
    let confirm = Command::Confirm(ConfirmCommand {
        call_id: call_id.to_owned(),
        allow: true,
        reason: None,
        remember: None,
        args: None,
    });
    let mut line = Vec::new();
    // What can be parsed can be written.
    let _ = write_line(&mut line, &confirm);
    String::from_utf8_lossy(&line).trim_end().to_owned()
}
