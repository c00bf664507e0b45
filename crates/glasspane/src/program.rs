//! The commands of the binary.

mod agents;
mod failure;
mod plain_text;
mod run;
mod tail;
mod top;

pub use agents::{AgentArguments, Attachments, Outcome, SourceArgument, StartArguments};
pub use failure::Failure;
pub use plain_text::{clip, plain, width};
pub use run::{RunArguments, run};
pub use tail::{TailArguments, tail};
pub use top::{TopArguments, top};
