//! Recorded model exchanges, and models that record and replay them.
//!
//! Recording happens at the level of [`Model`](zot_conversation::Model): it works for every
//! provider, and replaying needs neither network nor key. A cassette is a text file: a header, then
//! one line per exchange with the request, the events and their timing. A transcript that grows is
//! not written again: a line refers to the exchange it continues. docs/replay.md describes it.

mod conversations;
mod difference;
mod edit;
mod error;
mod exchange;
mod file;
mod header;
mod inspect;
mod json;
mod mask;
mod reader;
mod recorder;
mod recording;
mod redaction;
mod replay;
mod request;
mod tape;

pub use edit::{ExchangeRange, Timing, redact, trim};
pub use error::CassetteError;
pub use header::{Header, RecordedModel};
pub use inspect::{ExchangeSummary, Inspection, inspect};
pub use recorder::Recorder;
pub use recording::RecordingModel;
pub use redaction::{REDACTED, Redactor};
pub use replay::{ReplayMode, ReplayModel, ReplayPace};

#[cfg(test)]
mod tests;
