//! The Hermes dialect: tool calls for models that have none of their own.
//!
//! Tools are described in the system prompt, the model writes `<tool_call>` blocks into its text,
//! and results go back to it in `<tool_response>` blocks. [`HermesModel`] makes such a model look
//! like one that calls tools natively. [`BlockParser`] knows nothing of models and serves other
//! dialects with other tags too.

mod blocks;
mod call;
mod ids;
mod model;
mod render;
mod rewriting;
mod scanner;
mod spacing;
mod stream;
mod translation;

pub use blocks::{BlockBody, BlockItem, BlockParser, MAX_TOOL_CALL_BLOCK_BYTES, Tag};
pub use model::HermesModel;
