//! A stand-in for a model: fixed rules, no network, no key, the same answer every time.
//!
//! It shows what an agent does (text, tool calls, answers that use the results) and says openly
//! that it is not a language model. The decision is `reply::answer`, a pure function; the stream
//! only cuts it into pieces.

mod describe;
mod estimate;
mod intent;
mod reply;
mod report;
mod step;
mod stream;
mod summary;
mod words;

pub use stream::OfflineModel;
