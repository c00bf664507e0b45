//! The public vocabulary of the server: wires, scripted replies, recorded requests.

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
    /// The two that the original speaks.
    pub const BOTH: [Self; 2] = [Self::OpenAi, Self::Anthropic];

    pub const ALL: [Self; 4] = [
        Self::OpenAi,
        Self::Anthropic,
        Self::OpenAiResponses,
        Self::Gemini,
    ];

    /// The name of the provider that speaks it.
    pub fn provider(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::OpenAiResponses => "openai-responses",
            Self::Gemini => "gemini",
        }
    }

    /// A model of that provider.
    pub fn model(self) -> &'static str {
        match self {
            Self::OpenAi => "gpt-4o",
            Self::Anthropic => "claude-sonnet-4-5",
            Self::OpenAiResponses => "gpt-5",
            Self::Gemini => "gemini-2.5-pro",
        }
    }

    /// The id the server gives the tool call number `number` of a conversation; the Gemini wire
    /// has none.
    pub fn call_id(self, number: usize) -> String {
        match self {
            Self::OpenAi | Self::OpenAiResponses | Self::Gemini => format!("call_{number}"),
            Self::Anthropic => format!("toolu_{number}"),
        }
    }
}

/// One scripted answer.
#[derive(Debug, Clone)]
pub struct Reply(pub(super) ReplyKind);

#[derive(Debug, Clone)]
pub(super) enum ReplyKind {
    Directive(String),
    Status { status: u16, body: String },
    EventStream(Vec<u8>),
}

impl Reply {
    /// What a prompt with this text would be answered with, as if it were the conversation's first.
    pub fn directive(directive: impl Into<String>) -> Self {
        Self(ReplyKind::Directive(directive.into()))
    }

    /// A whole answer that is not a stream.
    pub fn status(status: u16, body: impl Into<String>) -> Self {
        let body = body.into();
        Self(ReplyKind::Status { status, body })
    }

    /// These very bytes as the body of an event stream.
    pub fn event_stream(body: impl Into<Vec<u8>>) -> Self {
        Self(ReplyKind::EventStream(body.into()))
    }
}

/// A model request as the server saw it.
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
    /// The messages of the request, without a separate system prompt.
    pub fn messages(&self) -> &[Value] {
        let name = match self.wire {
            Wire::OpenAi | Wire::Anthropic => "messages",
            Wire::OpenAiResponses => "input",
            Wire::Gemini => "contents",
        };
        self.body[name].as_array().map_or(&[], Vec::as_slice)
    }

    /// The text of the last real user message.
    pub fn prompt(&self) -> String {
        Conversation::of(self.wire, &self.body).directive
    }

    /// Whether the request asks for the summary of a conversation.
    pub fn is_compaction(&self) -> bool {
        self.prompt().starts_with("<conversation>")
    }

    /// The names of the tools the model was offered.
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
