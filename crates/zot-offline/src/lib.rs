//! A stand-in for a language model: fixed rules, no network, no key, the same response every time.
//!
//! It exists to show and test what surrounds a model: text, tool calls, responses that use their
//! results. `intent.rs` holds the table of requests it understands; every other prompt gets a text that
//! lists them.

mod estimate;
mod intent;
mod reply;
mod report;
mod stream;

pub use stream::OfflineModel;
