//! Sessions of zot for clients far away: each runs on its own thread, speaks `zot rpc`, and keeps its
//! records in a store that other machines can read.

mod store;

pub use store::{Opening, SessionLease, SessionStore, StoreError, TakenSession};
