//! Child processes that cannot outlive their purpose, and their confinement.
//!
//! [`ProcessGroup`] owns a program and everything it starts; [`run`] runs a command to its end and
//! forwards its output; [`launch`] confines a command before it starts;
//! [`streams`] are our ends of its standard streams. On Linux a supervisor between
//! us and the program makes sure that no process escapes or outlives us.

mod dumps;
mod environment;
mod group;
mod helper;
pub mod launch;
#[cfg(target_os = "linux")]
mod raw;
mod regular;
mod run;
pub mod sandbox;
mod secret;
mod signals;
pub mod streams;

pub use dumps::forbid_dumps;
pub use environment::take_secret;
pub use group::{GroupEnd, ProcessGroup};
pub use helper::{NamedProgram, find_helper, find_outside, helper};
pub use run::{
    Completion, Outcome, OutputSink, RunLimits, TERMINATION_GRACE, run, run_with_separate_outputs,
};
pub use secret::Secret;
pub use signals::{EndSignal, EndSignals};

#[cfg(test)]
mod tests;
