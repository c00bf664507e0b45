//! Sessions of zot for clients far away: each runs on its own thread, speaks `zot rpc`, and keeps its
//! records in a store that other machines can read.

mod attachment;
mod replica;
mod session;
mod store;
mod worker;

pub use attachment::{Attachment, LinkEnd};
pub use session::{Session, SessionEnd};
pub use store::{Opening, SessionLease, SessionStore, StoreError, TakenSession};
pub use worker::{OpenError, Worker, WorkerOptions};
