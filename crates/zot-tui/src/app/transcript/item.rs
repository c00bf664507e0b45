//! What the conversation is made of.

use std::sync::Arc;

use zot_sdk::conversation::{ContentBlock, Message, Role};

use super::{Arguments, SentPrompt, keep_end};
use crate::image::Drawing;

/// What of a finished tool's output is kept, for unfolding it, and how much of that is its end: that
/// says what came of it.
///
/// Limit: a tool result is cut in its middle.
const MAX_SHOWN_RESULT_BYTES: usize = 64 * 1024;
/// Limit: what remains of the end of a tool result that was cut.
const KEPT_RESULT_END_BYTES: usize = 16 * 1024;

/// The part of a running tool's output that is kept.
///
/// Limit: the end of the progress is kept.
const MAX_PROGRESS_BYTES: usize = 16 * 1024;

/// Something that was said or done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    /// What a chat begins with.
    Greeting {
        version: String,
        place: String,
    },
    User(Box<SentPrompt>),
    Assistant(String),
    /// What the model thought before it said something.
    Thinking(String),
    /// Far larger than the others, and far fewer.
    Tool(Box<Tool>),
    /// Of what is before it. Without a sequence it cannot be drawn any more.
    Image(Drawing),
    /// A question on the side.
    Aside {
        question: String,
        answer: String,
    },
    Note(String),
    Error(String),
}

impl Item {
    /// Whether there may be more of it than is shown.
    pub(crate) fn folds(&self) -> bool {
        matches!(self, Self::User(_) | Self::Thinking(_) | Self::Tool(_))
    }

    /// About what it takes in memory. Images have a limit of their own.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Greeting { version, place } => version.len() + place.len(),
                Self::User(said) => said.bytes(),
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
    Written,
    /// It waits for the user's word.
    Asked,
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
    /// A call that the model begins to write.
    pub(crate) fn new(id: String, name: String, now_ms: u64) -> Self {
        Self {
            id,
            name,
            arguments: Arguments::default(),
            output: String::new(),
            state: ToolState::Written,
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

/// An earlier part of the conversation, as it was shown.
pub(super) fn items(messages: &[Arc<Message>]) -> Vec<Item> {
    let mut items = Vec::new();
    for message in messages {
        if message.is_prompt() {
            let said = SentPrompt::new(&message.content, None);
            if !said.text.is_empty() {
                items.push(Item::User(Box::new(said)));
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
                said => {
                    let text = text_of(std::slice::from_ref(said));
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

/// The text of what was said, with a line for each image.
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
