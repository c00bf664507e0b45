//! Child processes that cannot outlive their purpose.
//!
//! [`ProcessGroup`] owns a child and everything it starts in its process group; [`run`] runs a
//! command to its end and hands over its output. A descendant that leaves the group (`setsid`) is
//! out of reach here: holding it takes the sandbox.

mod exit_watch;
mod group;
mod run;
mod survivors;

pub use group::{GroupEnd, ProcessGroup};
pub use run::{Completion, Outcome, OutputSink, run};

#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
