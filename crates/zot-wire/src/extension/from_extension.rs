//! Frames from extensions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FrameError, FrameReader};
use crate::{Fields, RawJson};

/// A frame from an extension.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ExtensionFrame {
    /// Must come first.
    Hello(Hello),
    /// Adds a slash command.
    RegisterCommand {
        name: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        description: String,
    },
    /// Adds a tool for the model.
    RegisterTool {
        name: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        description: String,
        /// A JSON Schema object.
        schema: Option<RawJson>,
    },
    /// The first registrations are complete.
    Ready,
    Subscribe(Subscription),
    /// The response to `tool_call`.
    ToolResult(ToolResult),
    /// The response to `event_intercept`.
    EventInterceptResponse(InterceptResponse),
    /// The response to `command_invoked`.
    CommandResponse(CommandResponse),
    /// Redraws an open panel.
    PanelRender {
        panel_id: String,
        #[serde(flatten)]
        content: PanelContent,
    },
    PanelClose {
        panel_id: String,
    },
    /// Shows the user a message.
    Notify {
        level: String,
        message: String,
    },
    /// The response to `shutdown`.
    ShutdownAck,
}

/// How an extension introduces itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Hello {
    pub name: String,
    pub version: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
}

/// The events an extension observes, and those it intercepts.
///
/// Names are kept unchanged: a host ignores those it does not know.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Subscription {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intercept: Vec<String>,
    /// Holds text back until the interceptor of `assistant_message` has seen it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hold_text: bool,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ToolResult {
    pub id: String,
    pub content: Vec<ResultBlock>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// One block of a result: `text` with `text`, or `image` with `mime_type` and base64 `data`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ResultBlock {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mime_type: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub data: String,
}

/// The decision about an intercepted event; without any field set, it passes unchanged.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct InterceptResponse {
    pub id: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub block: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// New arguments for the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_args: Option<RawJson>,
    /// A new text for the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replace_text: Option<String>,
}

/// The response to a slash command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct CommandResponse {
    pub id: String,
    #[serde(flatten)]
    pub action: CommandAction,
    /// Shown whatever the action is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
}

/// What the host does after a command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum CommandAction {
    /// Runs the agent on a message.
    Prompt {
        prompt: String,
    },
    /// Puts text into the editor.
    Insert {
        insert: String,
    },
    /// Shows a note that is not part of the conversation.
    Display {
        display: String,
    },
    OpenPanel {
        open_panel: PanelSpec,
    },
    #[default]
    Noop,
}

/// A panel to open.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PanelSpec {
    pub id: String,
    #[serde(flatten)]
    pub content: PanelContent,
}

/// What a panel shows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PanelContent {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub footer: String,
}

impl ExtensionFrame {
    /// Reads one line.
    pub fn parse(line: &[u8]) -> Result<Self, FrameError> {
        let fields = Fields::parse(line)?;
        let kind: String = fields
            .get("type")
            .map_err(|error| FrameError::Malformed(format!("type: {error}")))?;
        let read = |frame| FrameReader { fields, frame };
        match kind.as_str() {
            "hello" => hello(&read("hello")),
            "register_command" => register_command(&read("register_command")),
            "register_tool" => register_tool(&read("register_tool")),
            "ready" => Ok(Self::Ready),
            "subscribe" => subscribe(&read("subscribe")),
            "tool_result" => tool_result(&read("tool_result")),
            "event_intercept_response" => intercept_response(&read("event_intercept_response")),
            "command_response" => command_response(&read("command_response")),
            "panel_render" => panel_render(&read("panel_render")),
            "panel_close" => panel_close(&read("panel_close")),
            "notify" => notify(&read("notify")),
            "shutdown_ack" => Ok(Self::ShutdownAck),
            _ => Err(FrameError::UnknownType(kind)),
        }
    }
}

fn hello(frame: &FrameReader) -> Result<ExtensionFrame, FrameError> {
    Ok(ExtensionFrame::Hello(Hello {
        name: frame.read("name")?,
        version: frame.read("version")?,
        capabilities: frame.list("capabilities")?,
    }))
}

fn register_command(frame: &FrameReader) -> Result<ExtensionFrame, FrameError> {
    Ok(ExtensionFrame::RegisterCommand {
        name: frame.required("name")?,
        description: frame.read("description")?,
    })
}

fn register_tool(frame: &FrameReader) -> Result<ExtensionFrame, FrameError> {
    Ok(ExtensionFrame::RegisterTool {
        name: frame.required("name")?,
        description: frame.read("description")?,
        schema: frame.raw("schema"),
    })
}

fn subscribe(frame: &FrameReader) -> Result<ExtensionFrame, FrameError> {
    Ok(ExtensionFrame::Subscribe(Subscription {
        events: frame.list("events")?,
        intercept: frame.list("intercept")?,
        hold_text: frame.read("hold_text")?,
    }))
}

fn tool_result(frame: &FrameReader) -> Result<ExtensionFrame, FrameError> {
    Ok(ExtensionFrame::ToolResult(ToolResult {
        id: frame.required("id")?,
        content: frame.list("content")?,
        is_error: frame.read("is_error")?,
    }))
}

fn intercept_response(frame: &FrameReader) -> Result<ExtensionFrame, FrameError> {
    let replace_text: Option<String> = frame.read("replace_text")?;
    Ok(ExtensionFrame::EventInterceptResponse(InterceptResponse {
        id: frame.required("id")?,
        block: frame.read("block")?,
        reason: frame.read("reason")?,
        modified_args: frame.raw("modified_args"),
        // Libraries that write every field leave this one empty when it is unused.
        replace_text: replace_text.filter(|text| !text.is_empty()),
    }))
}

fn command_response(frame: &FrameReader) -> Result<ExtensionFrame, FrameError> {
    let action: String = frame.read("action")?;
    let action = match action.as_str() {
        "prompt" => CommandAction::Prompt {
            prompt: frame.read("prompt")?,
        },
        "insert" => CommandAction::Insert {
            insert: frame.read("insert")?,
        },
        "display" => CommandAction::Display {
            display: frame.read("display")?,
        },
        "open_panel" => CommandAction::OpenPanel {
            open_panel: panel_spec(frame)?,
        },
        "noop" | "" => CommandAction::Noop,
        unknown => {
            return Err(frame.invalid(
                "action",
                &format_args!(
                    "unknown {unknown:?}; known: prompt, insert, display, open_panel, noop"
                ),
            ));
        }
    };
    Ok(ExtensionFrame::CommandResponse(CommandResponse {
        id: frame.required("id")?,
        action,
        error: frame.read("error")?,
    }))
}

fn panel_render(frame: &FrameReader) -> Result<ExtensionFrame, FrameError> {
    Ok(ExtensionFrame::PanelRender {
        panel_id: frame.required("panel_id")?,
        content: panel_content(frame)?,
    })
}

/// Decodes field by field like a frame, so that the same limits apply.
fn panel_spec(frame: &FrameReader) -> Result<PanelSpec, FrameError> {
    let Some(raw) = frame.fields.raw("open_panel") else {
        return Err(frame.invalid("open_panel", &"is missing"));
    };
    let fields =
        Fields::parse(raw.get().as_bytes()).map_err(|error| frame.invalid("open_panel", &error))?;
    let panel = FrameReader {
        fields,
        frame: "open_panel",
    };
    let of_frame = |error: FrameError| FrameError::Invalid {
        frame: frame.frame,
        id: frame.fields.get("id").ok().flatten(),
        error: error.to_string(),
    };
    Ok(PanelSpec {
        id: panel.read("id").map_err(of_frame)?,
        content: panel_content(&panel).map_err(of_frame)?,
    })
}

fn panel_content(frame: &FrameReader) -> Result<PanelContent, FrameError> {
    Ok(PanelContent {
        title: frame.read("title")?,
        lines: frame.list("lines")?,
        footer: frame.read("footer")?,
    })
}

fn panel_close(frame: &FrameReader) -> Result<ExtensionFrame, FrameError> {
    Ok(ExtensionFrame::PanelClose {
        panel_id: frame.required("panel_id")?,
    })
}

fn notify(frame: &FrameReader) -> Result<ExtensionFrame, FrameError> {
    Ok(ExtensionFrame::Notify {
        level: frame.read("level")?,
        message: frame.read("message")?,
    })
}
