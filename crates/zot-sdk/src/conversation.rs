//! The types of a conversation.
//!
//! ```
//! use zot_sdk::conversation::Role;
//! use zot_sdk::{Config, ModelChoice, Runtime};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let runtime = Runtime::new(Config {
//!     model: ModelChoice::provider("offline"),
//!     ..Config::default()
//! })?;
//! let mut events = runtime.prompt("hello", Vec::new())?;
//! while events.next().await.is_some() {}
//! assert_eq!(runtime.transcript()[0].role, Role::User);
//! assert_eq!(runtime.transcript()[0].text(), "hello");
//! # Ok(()) }) }
//! ```

pub use zot_conversation::{
    Arguments, ContentBlock, Image, MalformedArguments, Message, Reasoning, Role, Timestamp,
    ToolCall, ToolCallId, ToolOrigin, ToolResult, UnsupportedImage, Usage,
};
