//! The pipe: a [`Runtime`](zot_sdk::Runtime) driven by one JSON object per line.
//!
//! [`serve`] answers commands and forwards events until the client is done. The modules below it,
//! [`stdio`], [`signals`] and [`executor`], serve every mode of `zot` that writes lines.

mod event_filter;
mod queue;
mod server;
mod token;

pub mod executor;
pub mod signals;
pub mod stdio;

pub use event_filter::{EventFilter, UnknownEvent};
pub use server::{Exit, ServeOptions, serve};
