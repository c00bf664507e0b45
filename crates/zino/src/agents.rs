//! Agents on many machines: workers that run sessions of zot.

mod store;

pub use store::PostgresSessions;
