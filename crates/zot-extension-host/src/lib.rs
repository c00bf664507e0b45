//! Extensions: subprocesses in any language that add tools and commands, watch events and step in.
//!
//! [`discover`] finds them, an [`ExtensionHost`] runs them. Nothing an extension does can hurt the
//! agent: what it may cost is bounded (`limits.rs`), and what it may do can be.

mod content;
mod discovery;
mod extension;
mod host;
mod intercept_record;
mod launch;
mod life;
mod limits;
mod log;
mod manifest;
mod notices;
mod outbox;
mod pending;
mod registrations;
mod schema;
pub mod store;
mod supervisor;
mod throttle;
mod tool;
pub mod trial;

pub use discovery::{Discovery, Found, LoadProblem, SearchPaths, Source, Standing, discover};
pub use extension::{Extension, Phase};
pub use host::{
    ExtensionHost, HostConfig, InvokeError, Invoked, MessageDecision, ReloadError, ToolDecision,
    TurnDecision,
};
pub use intercept_record::InterceptRecord;
pub use launch::enforcement;
pub use limits::{COMMAND_TIMEOUT, INTERCEPT_TIMEOUT, READY_GRACE, START_TIME, TOOL_TIMEOUT};
pub use log::log_path;
pub use manifest::{
    ExecPermission, FailurePolicy, Limits, MANIFEST_FILE, Manifest, ManifestError, NameError,
    Permissions, PermittedPath, Places, check_name,
};
pub use notices::Notice;
pub use pending::RequestError;
pub use registrations::CommandInfo;
pub use zot_process::launch::{Enforcement, Status as EnforcementStatus, enforceable, isolation};
