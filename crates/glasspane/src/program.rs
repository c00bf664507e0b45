//! The commands of the binary.

mod agents;
mod failure;
mod plain_text;
mod run;
mod signals;
mod tail;
mod top;

pub use agents::{AgentArguments, Attachments, Outcome, SourceArgument, StartArguments};
pub use failure::Failure;
pub use plain_text::{clip, plain, width};
pub use run::{RunArguments, run};
pub use signals::{EndSignal, Signals};
pub use tail::{TailArguments, tail};
pub use top::{TopArguments, top};
