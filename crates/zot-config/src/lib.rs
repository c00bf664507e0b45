//! What `config.json` says: the user's, and the project's below `.zot`.
//!
//! Variables win over the project, the project over the user. The files hold no key and no address,
//! and a project can tighten what the user allows but not loosen it: whoever clones a repository
//! must not be harmed by its settings.

mod document;
mod error;
mod keys;
mod layers;
mod original;
mod schema;
mod settings;

pub use document::{set, set_model, unset};
pub use error::ConfigError;
pub use keys::{KEYS, Key, Kind, Scope, key};
pub use layers::{Layers, Origin, Place, Setting};
pub use schema::json_schema;
pub use settings::{Dialect, Effort, Settings, WireName};
