//! Child processes that cannot outlive their purpose, and what they may touch.
//!
//! [`ProcessGroup`] owns a child and everything it starts in its process group; [`run`] runs a
//! command to its end and hands over its output; [`launch`] confines a command before it starts. A
//! descendant that leaves the group (`setsid`) is no longer owned, but stays confined.

mod dumps;
mod exit_watch;
mod group;
pub mod launch;
mod run;
mod signals;
mod survivors;

pub use dumps::forbid_dumps;
pub use group::{GroupEnd, ProcessGroup};
pub use run::{Completion, Outcome, OutputSink, run};
pub use signals::{EndSignal, EndSignals};

#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
