//! The public types of the server: wires, scripted replies, recorded requests.

use std::collections::BTreeMap;

use serde_json::Value;

use super::conversation::Conversation;

/// A provider's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wire {
    OpenAi,
    Anthropic,
    OpenAiResponses,
    Gemini,
}

impl Wire {
    /// The two wires of the original.
    pub const BOTH: [Self; 2] = [Self::OpenAi, Self::Anthropic];

    pub const ALL: [Self; 4] = [
        Self::OpenAi,
        Self::Anthropic,
        Self::OpenAiResponses,
        Self::Gemini,
    ];

    /// Returns the name of its provider.
    pub fn provider(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::OpenAiResponses => "openai-responses",
            Self::Gemini => "gemini",
        }
    }

    /// Returns a model of that provider.
    pub fn model(self) -> &'static str {
        match self {
            Self::OpenAi => "gpt-4o",
            Self::Anthropic => "claude-sonnet-4-5",
            Self::OpenAiResponses => "gpt-5",
            Self::Gemini => "gemini-2.5-pro",
        }
    }

    /// Returns the id of tool call `number` of a conversation; the Gemini wire has none.
    pub fn call_id(self, number: usize) -> String {
        match self {
            Self::OpenAi | Self::OpenAiResponses | Self::Gemini => format!("call_{number}"),
            Self::Anthropic => format!("toolu_{number}"),
        }
    }
}

/// One scripted response.
#[derive(Debug, Clone)]
pub struct Reply(pub(super) ReplyKind);

#[derive(Debug, Clone)]
pub(super) enum ReplyKind {
    Directive(String),
    Status { status: u16, body: String },
    EventStream(Vec<u8>),
}

impl Reply {
    /// Responds as to a first prompt with this text.
    pub fn directive(directive: impl Into<String>) -> Self {
        Self(ReplyKind::Directive(directive.into()))
    }

    /// Responds with a status and a body.
    pub fn status(status: u16, body: impl Into<String>) -> Self {
        let body = body.into();
        Self(ReplyKind::Status { status, body })
    }

    /// Responds with an event stream that has exactly this body.
    pub fn event_stream(body: impl Into<Vec<u8>>) -> Self {
        Self(ReplyKind::EventStream(body.into()))
    }
}

/// A model request that the server received.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    pub wire: Wire,
    pub path: String,
    /// Without its question mark.
    pub query: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Value,
}

impl RecordedRequest {
    /// Returns the messages of the request, without a separate system prompt.
    pub fn messages(&self) -> &[Value] {
        let name = match self.wire {
            Wire::OpenAi | Wire::Anthropic => "messages",
            Wire::OpenAiResponses => "input",
            Wire::Gemini => "contents",
        };
        self.body[name].as_array().map_or(&[], Vec::as_slice)
    }

    /// Returns the text of the last real user message.
    pub fn prompt(&self) -> String {
        Conversation::of(self.wire, &self.body).directive
    }

    /// Returns whether the request asks for a summary of a conversation.
    pub fn is_compaction(&self) -> bool {
        self.prompt().starts_with("<conversation>")
    }

    /// Returns the names of the tools in the request.
    pub fn tool_names(&self) -> Vec<&str> {
        let tools = match self.wire {
            Wire::Gemini => &self.body["tools"][0]["functionDeclarations"],
            _ => &self.body["tools"],
        };
        let tools = tools.as_array().map_or(&[][..], Vec::as_slice);
        tools
            .iter()
            .filter_map(|tool| {
                let named = tool.get("function").unwrap_or(tool);
                named["name"].as_str()
            })
            .collect()
    }
}
