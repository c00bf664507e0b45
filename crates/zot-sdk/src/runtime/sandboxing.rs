//! Changes what the built-in tools may do.

use zot_process::sandbox::{Level, Policy};
use zot_wire::rpc::{SandboxData, SetSandboxCommand};

use super::Runtime;
use crate::sandbox::{SandboxChangeError, SandboxReport, SandboxRequestError, requested};

impl Runtime {
    /// Returns what `read`, `write`, `edit` and `bash` may do.
    pub fn sandbox(&self) -> SandboxReport {
        self.confines.report()
    }

    /// Returns the least that every extension is confined to (setting `sandbox_extensions`), if this run has
    /// extensions.
    pub fn least_of_extensions(&self) -> Option<Level> {
        self.extensions.as_ref().map(|host| host.minimum())
    }

    /// Returns the least that every program of an MCP server is confined to (setting `sandbox_mcp`).
    pub fn least_of_servers(&self) -> Level {
        self.mcp_choice.sandbox
    }

    /// Changes what `read`, `write`, `edit` and `bash` may do, from the next call on. The jail stays as it
    /// is. Tools of extensions and of the embedding program are not affected.
    pub fn set_sandbox(&self, policy: Policy) -> Result<SandboxReport, SandboxChangeError> {
        self.confines.set(policy)
    }

    /// Does what a client asks for over the pipe. What it leaves out is as it was at the start.
    pub fn request_sandbox(
        &self,
        command: SetSandboxCommand,
    ) -> Result<SandboxData, SandboxRequestError> {
        let policy = requested(command, self.confines.initial());
        let policy = policy.map_err(SandboxRequestError::Argument)?;
        Ok(SandboxData::from(&self.set_sandbox(policy)?))
    }

    /// Confines `read`, `write`, `edit` and `bash` to the working directory, from the next call on, besides
    /// what the sandbox does: the stricter of the two applies in every respect.
    pub fn jail(&self) -> Result<SandboxReport, SandboxChangeError> {
        self.confines.set_jail(true)
    }

    /// Ends the confinement by [`jail`](Self::jail), from the next call on.
    pub fn unjail(&self) -> Result<SandboxReport, SandboxChangeError> {
        self.confines.set_jail(false)
    }

    /// Returns what the built-in tools may do, if they are jailed.
    pub fn jailed(&self) -> Option<SandboxReport> {
        Some(self.sandbox()).filter(|report| report.is_jailed)
    }
}
