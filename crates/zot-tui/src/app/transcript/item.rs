//! The items of the transcript.

use std::sync::Arc;

use zot_sdk::conversation::{ContentBlock, Message, Role};

use super::{Arguments, SentPrompt, keep_end};
use crate::image::Drawing;

/// How much of a tool result is kept.
///
/// Limit: a tool result is cut in its middle.
const MAX_SHOWN_RESULT_BYTES: usize = 64 * 1024;
/// How much of the end of a cut tool result is kept, since the outcome is there.
const KEPT_RESULT_END_BYTES: usize = 16 * 1024;

/// How much of a running tool's output is kept.
///
/// Limit: the end of the progress is kept.
const MAX_PROGRESS_BYTES: usize = 16 * 1024;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    /// The first item of a chat.
    Greeting {
        version: String,
        location: String,
    },
    User(Box<SentPrompt>),
    Assistant(String),
    /// What the model thought before its answer.
    Thinking(String),
    /// Boxed: far larger than the others, and far fewer.
    Tool(Box<Tool>),
    /// An image of the previous item. Without a sequence it can no longer be drawn.
    Image(Drawing),
    /// A side question.
    Aside {
        question: String,
        answer: String,
    },
    Note(String),
    Error(String),
}

impl Item {
    /// Returns whether folding may hide a part of it.
    pub(crate) fn folds(&self) -> bool {
        matches!(self, Self::User(_) | Self::Thinking(_) | Self::Tool(_))
    }

    /// Returns its approximate size in memory. Images have a separate limit.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Greeting { version, location } => version.len() + location.len(),
                Self::User(prompt) => prompt.bytes(),
                Self::Assistant(text)
                | Self::Thinking(text)
                | Self::Note(text)
                | Self::Error(text) => text.len(),
                Self::Image(_) => 0,
                Self::Tool(tool) => tool.arguments.text().len() + tool.output.len(),
                Self::Aside { question, answer } => question.len() + answer.len(),
            }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolState {
    /// The model is still writing the arguments.
    Writing,
    /// The call waits for the user's approval.
    AwaitingApproval,
    Running,
    Succeeded,
    Failed,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tool {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: Arguments,
    pub(crate) output: String,
    pub(crate) state: ToolState,
    pub(crate) started_ms: u64,
    pub(crate) took_ms: u64,
}

impl Tool {
    /// Creates a call that the model begins to write.
    pub(crate) fn new(id: String, name: String, now_ms: u64) -> Self {
        Self {
            id,
            name,
            arguments: Arguments::default(),
            output: String::new(),
            state: ToolState::Writing,
            started_ms: now_ms,
            took_ms: 0,
        }
    }

    pub(super) fn start(&mut self, now_ms: u64) {
        self.state = ToolState::Running;
        self.started_ms = now_ms;
    }

    pub(crate) fn add_progress(&mut self, text: &str) {
        self.output.push_str(text);
        keep_end(&mut self.output, MAX_PROGRESS_BYTES);
    }
}

/// Converts an earlier part of the conversation into items.
pub(super) fn items(messages: &[Arc<Message>]) -> Vec<Item> {
    let mut items = Vec::new();
    for message in messages {
        if message.is_prompt() {
            let prompt = SentPrompt::new(&message.content, None);
            if !prompt.text.is_empty() {
                items.push(Item::User(Box::new(prompt)));
            }
        }
        for block in &message.content {
            match block {
                ContentBlock::ToolCall(call) => {
                    items.push(Item::Tool(Box::new(Tool {
                        arguments: Arguments::from(call.arguments.json_or_empty()),
                        state: ToolState::Succeeded,
                        ..Tool::new(call.id.to_string(), call.name.clone(), 0)
                    })));
                }
                ContentBlock::ToolResult(result) => {
                    let calls = items.iter_mut().rev().filter_map(|item| match item {
                        Item::Tool(tool) => Some(tool),
                        _ => None,
                    });
                    let id = result.call_id.as_str();
                    if let Some(tool) = calls.into_iter().find(|tool| tool.id == id) {
                        tool.output = cut_output(text_of(&result.content));
                        if result.is_error {
                            tool.state = ToolState::Failed;
                        }
                    }
                }
                ContentBlock::Reasoning(_) => {}
                _ if message.role == Role::User => {}
                block => {
                    let text = text_of(std::slice::from_ref(block));
                    items.push(Item::Assistant(text));
                }
            }
        }
    }
    items
}

pub(super) fn cut_output(mut output: String) -> String {
    if output.len() > MAX_SHOWN_RESULT_BYTES {
        let start = output.floor_char_boundary(MAX_SHOWN_RESULT_BYTES - KEPT_RESULT_END_BYTES);
        let end = output.ceil_char_boundary(output.len() - KEPT_RESULT_END_BYTES);
        output.replace_range(start..end, "\n…\n");
    }
    output
}

/// Returns the text of a message, with a line for each image.
pub(crate) fn text_of(content: &[ContentBlock]) -> String {
    let mut text = String::new();
    for block in content {
        match block {
            ContentBlock::Text(more) => text.push_str(more),
            ContentBlock::Image(image) => {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                let (kind, bytes) = (&image.mime_type, image.data.len());
                text.push_str(&format!("[image: {kind}, {bytes} bytes]"));
            }
            ContentBlock::Reasoning(_)
            | ContentBlock::ToolCall(_)
            | ContentBlock::ToolResult(_) => {}
        }
    }
    text
}
