//! The sandbox in commands and responses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much the built-in tools may do. Later ones are stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxLevel {
    /// What the user may do.
    #[default]
    Off,
    /// Reads the system, writes only `cwd`, and has no network except the hosts in `connect`.
    Workspace,
    /// As `workspace`, but `cwd` can only be read.
    ReadOnly,
}

/// What the built-in tools may do from the next call on. Whatever is left out is as it was when the
/// process started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct SetSandboxCommand {
    pub level: SandboxLevel,
    /// Paths that can be read besides. A path may begin with `~/`, or is relative to `cwd`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Vec<String>>,
    /// Paths that can be changed besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<Vec<String>>,
    /// The only programs that can be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Vec<String>>,
    /// Hosts that can be connected to: `host:port`, `host`, `*.domain` or `*`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect: Option<Vec<String>>,
    /// Unix sockets that can be connected to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unix_sockets: Option<Vec<String>>,
    /// Variables that commands get although the level withholds them; `PREFIX_*` names many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<Vec<String>>,
    /// Memory of each process of a command; 0 means no limit, as in the fields below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// Processes and threads of a command at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Processor time of each process of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor_seconds: Option<u64>,
    /// Open files of each process of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
}

/// `set_sandbox`, and `sandbox` of `get_state`: what the built-in tools may do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SandboxData {
    pub level: SandboxLevel,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// The only programs that can be started; left out if it is every program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connect: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unix_sockets: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor_seconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
    /// What this system does not enforce, and rules without effect; one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
}
