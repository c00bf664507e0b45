//! The agent runtime as a library: the one API that every front end uses, ours included.
//!
//! A [`Runtime`] is a conversation with a model in a working directory. [`Runtime::prompt`] returns
//! the stream of [`Event`]s of one prompt; the serde form of every type that comes out is what
//! `zot rpc` writes on its pipe.

mod assembly;
mod config;
mod convert;
mod runtime;
mod stream;
mod system_prompt;

pub use assembly::AssemblyError;
pub use config::{Config, DEFAULT_MAX_STEPS, Persistence, Replay, ToolSelection};
pub use runtime::{Busy, ClearError, ModelChangeError, Runtime, VERSION};
pub use stream::EventStream;
pub use zot_auth::zot_home;
pub use zot_conversation::{Image, ReasoningEffort, Tool, ToolSet};
pub use zot_provider::cassette;
pub use zot_provider::catalog::{Catalog, CatalogError, ModelInfo};
pub use zot_wire::rpc::{
    ContentBlock, CumulativeUsage, Event, Message, ModelEntry, Role, StateData,
};
