//! The vocabulary of an agent: messages, usage, agent events, and the two traits that the outside
//! world implements, [`Model`] and [`Tool`].
//!
//! This crate performs no I/O and derives no serialisation: each wire and each file format converts
//! these types in its own module.

mod error;
mod event;
mod message;
mod model;
mod question;
mod size;
mod tool;
mod transcript;
mod usage;

pub use error::{ErrorCode, ErrorReport, ImageBlame, ModelError, ModelErrorKind};
pub use event::{AgentEvent, TurnStop};
pub use message::{
    Arguments, ContentBlock, IMAGE_MIRROR_HEADING, Image, MalformedArguments, Message, Reasoning,
    Role, Timestamp, ToolCall, ToolCallId, ToolResult, UnsupportedImage, joined_text,
};
pub use model::{
    BoxFuture, Model, ModelEvent, ModelRequest, ModelStream, ReasoningEffort, Sampling, StopReason,
    ToolImages, UnknownEffort,
};
pub use question::{
    Answer, JsonObject, NobodyAnswers, NotAnObject, Question, QuestionId, QuestionKind, Questions,
};
pub use size::{MAX_RESPONSE_BLOCKS, MAX_RESPONSE_BYTES, ResponseSize, ResponseTooLong};
pub use tool::{
    HostContact, Progress, Tool, ToolDefinition, ToolEffect, ToolInvocation, ToolOrigin,
    ToolOutput, ToolSet,
};
pub use transcript::Transcript;
pub use usage::{PriceTier, Prices, Rates, Usage};
