//! The sandbox of the built-in tools: what they may do, what a user allowed for a project, and what was
//! contacted.
//!
//! [`ToolChoice::sandbox`](crate::ToolChoice::sandbox) chooses it, [`Runtime::set_sandbox`](crate::Runtime::set_sandbox)
//! changes it. `docs/sandbox.md` describes it.

mod allowances;
mod confines;
mod contacts;
mod description;
mod examined;
mod report;
mod strictness;
mod wire;

pub use allowances::{AllowanceError, ProjectAllowances};
pub(crate) use confines::Confines;
pub use confines::SandboxChangeError;
pub use contacts::{ContactedHost, contacted_hosts, recorded};
pub use description::{DescribeError, Description, Means, Source, SourcedRule, describe, means};
pub use report::SandboxReport;
pub use wire::SandboxRequestError;
pub(crate) use wire::requested;
pub use zot_process::launch::{Enforcement, Status};
pub use zot_process::sandbox::record::Caller;
pub use zot_process::sandbox::{
    BadHost, ConnectRule, Level, Limits, Policy, Rules, SandboxError, UnknownLevel,
};
pub use zot_tools::Allowance;

#[cfg(test)]
mod tests;
