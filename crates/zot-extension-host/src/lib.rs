//! Runs extensions: subprocesses in any language that add tools and commands, watch and intercept events.
//!
//! An [`ExtensionHost`] starts what [`discover`](zot_extension_contract::discover) found. An extension
//! cannot harm the agent: what it may use is limited (`limits.rs`), and it can be confined.

mod content;
mod extension;
mod host;
mod life;
mod limits;
mod notices;
mod pending;
mod supervisor;
mod tool;

pub use extension::{Extension, Phase};
pub use host::{
    ExtensionHost, HostConfig, InvokeError, Invoked, MessageDecision, ReloadError, ToolDecision,
    TurnDecision,
};
pub use limits::{COMMAND_TIMEOUT, INTERCEPT_TIMEOUT, TOOL_TIMEOUT};
pub use notices::Notice;
pub use pending::RequestError;
