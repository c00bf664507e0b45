//! Model clients: everything that talks to a language model over a network.
//!
//! Each client implements `zot_conversation::Model`; they share one HTTP client, one SSE decoder
//! and one retry policy. This crate does not depend on the agent or the terminal.

mod anthropic;
mod api_key;
mod body;
mod call;
mod call_ids;
pub mod catalog;
mod declaration;
mod effort;
mod endpoint;
mod error;
mod gemini;
mod http;
mod json;
mod lenient;
pub mod live;
pub mod network;
mod openai;
mod openai_wires;
mod providers;
mod responses;
mod retry;
mod sampling;
mod second_chance;
pub mod sse;
mod usage;

pub use crate::anthropic::AnthropicClient;
pub use crate::api_key::ApiKey;
pub use crate::effort::effort_note;
pub use crate::endpoint::{Endpoint, exact_base_url};
pub use crate::gemini::GeminiClient;
pub use crate::http::{
    ExchangeFailure, ExchangeRequest, ExchangeResponse, FetchError, FetchRequest, Fetched,
    HttpClient, Repeat, Timeouts,
};
pub use crate::openai::{
    CallIdForm, EffortField, OpenAiClient, OpenAiQuirks, OutputLimitField, ReasoningReplay,
    UsageReport,
};
pub use crate::providers::{
    KeyRequirement, OAuthEntry, ProviderEntry, Providers, ProvidersProblem, Route, Wire,
    WireChoice, provider, providers,
};
pub use crate::responses::ResponsesClient;
