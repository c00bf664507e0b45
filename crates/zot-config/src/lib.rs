//! Settings from `config.json`: the user's, and the project's below `.zot`.
//!
//! Variables override the project, the project overrides the user. The files hold no key and no
//! address, and a project can tighten what the user allows but not loosen it: cloning a repository
//! must not be dangerous.

mod document;
mod error;
mod keys;
mod layers;
mod original;
mod schema;
mod settings;

pub use document::{set, set_model, unset};
pub use error::ConfigError;
pub use keys::{Item, KEYS, Key, Kind, MIN_OPEN_FILES, Scope, key};
pub use layers::{ConfigFile, Layers, Origin, Setting};
pub use schema::json_schema;
pub use settings::{Dialect, SandboxLevel, Settings, WireName};
