//! Attaches agents to a hub: started by us, read from a growing file, or connected over a socket.

mod feed;
mod file;
mod listener;
mod socket;
mod spawn;
mod watch;

#[cfg(test)]
mod tests;

pub use feed::Feed;
pub use file::{FileError, FileFeed, POLL_INTERVAL};
pub use listener::{BindError, Listener, default_socket};
pub use socket::{MAX_AGENT_CONNECTIONS, MAX_HELLO_BYTES, accept_agents};
pub use spawn::{AGENT_TERMINATION_GRACE, AmbiguousLabel, Ended, Launch, SpawnError, run_agent};
pub use watch::{MAX_WATCH_LINE_BYTES, WATCH_INTERVAL, WatchError, Watcher};

/// How much is read from one agent before others get their turn, so that watchers see everything before
/// the ring is full, however many agents flood it.
const READ_BYTES: usize = 16 * 1024;
