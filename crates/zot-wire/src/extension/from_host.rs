//! Frames from zot to an extension.

use serde::Serialize;

use super::{FrameError, FrameReader, LifecycleEvent, PROTOCOL_VERSION};
use crate::{Fields, RawJson};

/// A frame from zot.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum HostFrame {
    /// The response to `hello`.
    HelloAck(HelloAck),
    /// The user ran a command; answered by `command_response`.
    CommandInvoked {
        id: String,
        name: String,
        /// The text after the command's name.
        #[serde(skip_serializing_if = "String::is_empty")]
        args: String,
    },
    /// The model calls a tool; answered by `tool_result`.
    ToolCall {
        id: String,
        name: String,
        args: RawJson,
    },
    /// Something happened.
    Event(LifecycleEvent),
    /// Something is about to happen; answered by `event_intercept_response`.
    EventIntercept {
        id: String,
        #[serde(flatten)]
        event: LifecycleEvent,
    },
    /// The user pressed a key in a panel: `rune` for every key that writes a character, else its
    /// name. Escape is never sent, it closes the panel.
    PanelKey {
        panel_id: String,
        key: String,
        /// The text that the key produces, if any.
        #[serde(skip_serializing_if = "String::is_empty")]
        text: String,
    },
    PanelResize {
        panel_id: String,
        width: u32,
        height: u32,
    },
    /// The user closed a panel.
    PanelClose { panel_id: String },
    /// Answered by `shutdown_ack` and the end of the process.
    Shutdown,
}

/// The environment of an extension.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct HelloAck {
    pub protocol_version: u32,
    pub zot_version: String,
    pub provider: String,
    pub model: String,
    pub cwd: String,
    pub extension_dir: String,
    /// The directory for data that outlives the process.
    pub data_dir: String,
}

/// The key of a panel that produces `text`.
const RUNE: &str = "rune";

impl HostFrame {
    /// Translates a front end's name of a key into the one extensions expect.
    pub fn key_in_panel(panel_id: String, key: String, text: String) -> Self {
        let (key, text) = match key.as_str() {
            "esc" | "escape" => return Self::PanelClose { panel_id },
            "space" => (RUNE.to_owned(), " ".to_owned()),
            "pgup" => ("pageup".to_owned(), text),
            "pgdown" | "pgdn" => ("pagedown".to_owned(), text),
            name if is_one_character(name) => {
                let text = if text.is_empty() { key } else { text };
                (RUNE.to_owned(), text)
            }
            _ => (key, text),
        };
        Self::PanelKey {
            panel_id,
            key,
            text,
        }
    }

    /// Reads one line.
    pub fn parse(line: &[u8]) -> Result<Self, FrameError> {
        let fields = Fields::parse(line)?;
        let kind: String = fields
            .get("type")
            .map_err(|error| FrameError::Malformed(format!("type: {error}")))?;
        let read = |frame| FrameReader { fields, frame };
        match kind.as_str() {
            "hello_ack" => hello_ack(&read("hello_ack")),
            "command_invoked" => command_invoked(&read("command_invoked")),
            "tool_call" => tool_call(&read("tool_call")),
            "event" => Ok(Self::Event(LifecycleEvent::read(&read("event"))?)),
            "event_intercept" => event_intercept(&read("event_intercept")),
            "panel_key" => panel_key(&read("panel_key")),
            "panel_resize" => panel_resize(&read("panel_resize")),
            "panel_close" => Ok(Self::PanelClose {
                panel_id: read("panel_close").required("panel_id")?,
            }),
            "shutdown" => Ok(Self::Shutdown),
            _ => Err(FrameError::UnknownType(kind)),
        }
    }
}

fn hello_ack(frame: &FrameReader) -> Result<HostFrame, FrameError> {
    let version: Option<u32> = frame.read("protocol_version")?;
    Ok(HostFrame::HelloAck(HelloAck {
        protocol_version: version.unwrap_or(PROTOCOL_VERSION),
        zot_version: frame.read("zot_version")?,
        provider: frame.read("provider")?,
        model: frame.read("model")?,
        cwd: frame.read("cwd")?,
        extension_dir: frame.read("extension_dir")?,
        data_dir: frame.read("data_dir")?,
    }))
}

fn command_invoked(frame: &FrameReader) -> Result<HostFrame, FrameError> {
    Ok(HostFrame::CommandInvoked {
        id: frame.required("id")?,
        name: frame.required("name")?,
        args: frame.read("args")?,
    })
}

fn tool_call(frame: &FrameReader) -> Result<HostFrame, FrameError> {
    Ok(HostFrame::ToolCall {
        id: frame.required("id")?,
        name: frame.required("name")?,
        args: frame.raw("args").unwrap_or_else(RawJson::empty_object),
    })
}

fn event_intercept(frame: &FrameReader) -> Result<HostFrame, FrameError> {
    Ok(HostFrame::EventIntercept {
        id: frame.required("id")?,
        event: LifecycleEvent::read(frame)?,
    })
}

fn panel_key(frame: &FrameReader) -> Result<HostFrame, FrameError> {
    Ok(HostFrame::PanelKey {
        panel_id: frame.required("panel_id")?,
        key: frame.read("key")?,
        text: frame.read("text")?,
    })
}

fn panel_resize(frame: &FrameReader) -> Result<HostFrame, FrameError> {
    Ok(HostFrame::PanelResize {
        panel_id: frame.required("panel_id")?,
        width: frame.read("width")?,
        height: frame.read("height")?,
    })
}

fn is_one_character(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some() && characters.next().is_none()
}
