//! The pipe: a [`Runtime`](zot_sdk::Runtime) driven by one JSON object per line.
//!
//! [`serve`] answers commands and forwards events until the client is done.

mod connection;
mod event_filter;
mod queue;
mod server;
mod token;

pub use connection::{Connection, Stop};
pub use event_filter::{EventFilter, UnknownEvent};
pub use server::{Exit, ServeOptions, UNANNOUNCED_CONFIRM_TIMEOUT, UNREAD_TIME, serve};
pub use token::{Token, TokenCheck};
