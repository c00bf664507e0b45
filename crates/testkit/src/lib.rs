//! What zot's tests run against: a scripted model server, the `zot` binary over real pipes, and
//! the recorded sessions of the original with the comparison that replays them.
//!
//! Nothing here may know how zot works inside: it speaks to zot over sockets and pipes only.
#![expect(
    clippy::expect_used,
    reason = "a test kit reports a broken set-up by failing the test"
)]

mod server;

pub use server::{ModelServer, RecordedRequest, Reply, Wire};
