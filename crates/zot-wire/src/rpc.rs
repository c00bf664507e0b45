//! The protocol of `zot rpc`: one JSON object per line in both directions.
//!
//! Each command gets a [`Response`], and [`Event`]s report what a running prompt or compaction does. `protocol_version` stays 1: fields, commands and events may be added, none
//! changes its meaning.

mod command;
mod event;
mod extension;
mod full;
mod mcp;
mod message;
mod response;
mod sandbox;
mod schema;

pub use command::{
    AnswerAction, AnswerCommand, Command, CommandFrame, ConfirmCommand, ImageInput, PromptCommand,
    RejectedLine, RememberFor, RequestId, SteerCommand, WhenBusy,
};
pub use event::{CumulativeUsage, Event, NetworkContact, ToolDetails};
pub use extension::{CommandEntry, CommandsData, ExtensionEntry, ExtensionsData, InvokedData};
pub use full::{FullBlock, FullMessage};
pub use mcp::{McpData, McpProject, McpServer};
pub use message::{ContentBlock, Message, Role};
pub use response::{
    FullMessagesData, HelloData, MessagesData, ModelData, ModelEntry, ModelUsage, ModelsData,
    PongData, ReasoningData, RepairReport, Response, SessionData, SetMessagesData, StartedData,
    StateData, SteeredData, SubscribedData, ToolEntry, ToolsData, TurnUsage, UsageData,
};
pub use sandbox::{SandboxData, SandboxLevel, SetSandboxCommand};
pub use schema::json_schema;

/// The major version of this protocol.
pub const PROTOCOL_VERSION: u32 = 1;
