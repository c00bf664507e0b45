//! The sandbox of the built-in tools: what they may do, what a user allowed for a project, and what was
//! contacted.
//!
//! [`ToolChoice::sandbox`](crate::ToolChoice::sandbox) chooses it, [`Runtime::set_sandbox`](crate::Runtime::set_sandbox)
//! changes it. `docs/sandbox.md` describes it.

pub(crate) mod allowances;

pub use allowances::{AllowanceError, Allowed, ProjectAllowances};
pub use zot_process::sandbox::{BadHost, ConnectRule, Level, Limits, Policy, Rules, UnknownLevel};
