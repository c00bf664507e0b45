//! The conversation: what is finished, and what is arriving.

use zot_sdk::{ContentBlock, Event, Message, Role};

use super::{App, Approval, Effect, Log, PanelView, Prompt, Retry, advice};
use crate::markdown::MarkdownStream;
use crate::picture::Drawing;
use crate::style::Theme;
use crate::text::Line;

/// What of a running tool's output is kept.
pub(super) const MAX_PROGRESS_BYTES: usize = 16 * 1024;

/// What of a finished tool's output is kept, for unfolding it.
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// What of a model's thinking is kept.
const MAX_THINKING_BYTES: usize = 64 * 1024;

/// Something that was said or done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    /// What a chat begins with.
    Greeting {
        version: String,
        place: String,
    },
    User(String),
    Assistant(String),
    /// What the model thought before it said something.
    Thinking(String),
    /// Far larger than the others, and far fewer.
    Tool(Box<Tool>),
    /// Of what is before it. Without a sequence it cannot be drawn any more.
    Picture(Drawing),
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

    /// About what it takes in memory. Pictures have a limit of their own.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Greeting { version, place } => version.len() + place.len(),
                Self::User(text)
                | Self::Assistant(text)
                | Self::Thinking(text)
                | Self::Note(text)
                | Self::Error(text) => text.len(),
                Self::Picture(_) => 0,
                Self::Tool(tool) => tool.arguments.len() + tool.output.len(),
                Self::Aside { question, answer } => question.len() + answer.len(),
            }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolState {
    /// The model is still writing the arguments.
    Written,
    Running,
    Succeeded,
    Failed,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tool {
    pub(crate) id: String,
    pub(crate) name: String,
    /// JSON, perhaps not complete yet.
    pub(crate) arguments: String,
    pub(crate) output: String,
    pub(crate) state: ToolState,
    pub(crate) started_ms: u64,
    pub(crate) took_ms: u64,
}

#[derive(Default)]
pub(crate) struct Chat {
    pub(crate) log: Log,
    /// The answer that is arriving.
    text: String,
    stream: MarkdownStream,
    /// Of the answer's lines, how many are final.
    pub(super) answer_rows: usize,
    /// What the model is thinking.
    pub(crate) thinking: String,
    pub(crate) tools: Vec<Tool>,
    /// Whether long results are shown whole.
    pub(crate) expanded: bool,
    pub(crate) last_answer: String,
    /// Cost of each turn, for `/cost`.
    pub(crate) turns: Vec<(u64, u64, f64)>,
    /// Cost of each question on the side.
    pub(crate) asides: Vec<f64>,
}

impl Chat {
    pub(crate) fn forget(&mut self) {
        *self = Self {
            expanded: self.expanded,
            // What was spent stays spent.
            turns: std::mem::take(&mut self.turns),
            ..Self::default()
        };
    }

    /// The last answer of before this chat is the last one until there is another.
    pub(super) fn remember_answer(&mut self, items: &[Item]) {
        let answers = items.iter().rev();
        let last = answers.filter_map(|item| match item {
            Item::Assistant(text) => Some(text),
            _ => None,
        });
        if self.last_answer.is_empty() {
            self.last_answer = last.into_iter().next().cloned().unwrap_or_default();
        }
    }

    /// Whether nothing came after a prompt or a result.
    fn is_unanswered(&self) -> bool {
        let last = self.log.newest_first().next().map(|entry| &entry.item);
        self.text.is_empty() && matches!(last, Some(Item::User(_) | Item::Tool(_)))
    }

    /// What of the answer may still change, as lines.
    pub(crate) fn tail(&self, columns: usize, theme: &Theme) -> Vec<Line> {
        self.stream.tail(columns, theme)
    }

    /// Adds to the answer and returns what is final now.
    fn push_text(&mut self, delta: &str, columns: usize, theme: &Theme) -> Vec<Line> {
        let mut lines = match self.text.is_empty() {
            true => vec![Line::default()],
            false => Vec::new(),
        };
        self.text.push_str(delta);
        lines.extend(self.stream.push(delta, columns, theme));
        self.answer_rows += lines.len();
        lines
    }

    /// The part of the arriving answer that is final, laid out anew.
    pub(super) fn rewrap(&mut self, columns: usize, theme: &Theme) -> Vec<Line> {
        let text = std::mem::take(&mut self.text);
        self.stream = MarkdownStream::default();
        self.answer_rows = 0;
        match text.is_empty() {
            true => Vec::new(),
            false => self.push_text(&text, columns, theme),
        }
    }

    /// The answer is over, or cut off.
    fn end_answer(&mut self, columns: usize, theme: &Theme) -> Vec<Line> {
        let lines = self.stream.finish(columns, theme);
        let rows = std::mem::take(&mut self.answer_rows) + lines.len();
        if !self.text.is_empty() {
            let mut text = std::mem::take(&mut self.text);
            text.shrink_to_fit();
            self.last_answer.clone_from(&text);
            self.log.keep(Item::Assistant(text), rows);
        }
        lines
    }

    fn tool(&mut self, id: &str) -> Option<&mut Tool> {
        self.tools.iter_mut().find(|tool| tool.id == id)
    }
}

impl App {
    pub(super) fn take_event(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::UserMessage { content, .. } => self.take_user_message(&content),
            Event::TextDelta { delta } => self.take_text(&delta),
            Event::ThinkingDelta { delta } => {
                self.doing("thinking");
                if let Some(work) = &mut self.work {
                    work.received(delta.len(), self.now_ms);
                }
                self.chat.thinking.push_str(&delta);
                keep_end(&mut self.chat.thinking, MAX_THINKING_BYTES);
            }
            Event::AssistantStart => {
                self.doing("thinking");
                if let Some(work) = &mut self.work {
                    work.retry = None;
                }
            }
            Event::Retry {
                failures,
                wait_ms,
                message,
            } => {
                let at_ms = self.now_ms + wait_ms;
                if let Some(work) = &mut self.work {
                    work.retry = Some(Retry {
                        failures,
                        at_ms,
                        message: advice::readable(&message),
                    });
                }
            }
            Event::ToolUseStart { id, name } => {
                self.end_thinking();
                self.end_answer();
                self.doing("writing a call");
                self.begin_tool(id, name, String::new(), ToolState::Written);
            }
            Event::ToolUseArgs { id, delta } => {
                if let Some(work) = &mut self.work {
                    work.received(delta.len(), self.now_ms);
                }
                if let Some(tool) = self.chat.tool(&id) {
                    tool.arguments.push_str(&delta);
                }
            }
            Event::ToolCall { id, name, args } => {
                self.doing("running");
                if self.chat.tool(&id).is_none() {
                    self.begin_tool(id.clone(), name, String::new(), ToolState::Running);
                }
                let now_ms = self.now_ms;
                if let Some(tool) = self.chat.tool(&id) {
                    tool.arguments = args.get().to_owned();
                    tool.state = ToolState::Running;
                    tool.started_ms = now_ms;
                }
            }
            Event::ToolProgress { id, text } => {
                if let Some(tool) = self.chat.tool(&id) {
                    tool.output.push_str(&text);
                    keep_end(&mut tool.output, MAX_PROGRESS_BYTES);
                }
            }
            Event::ToolResult {
                id,
                is_error,
                content,
                ..
            } => {
                self.end_tool(&id, is_error, &content);
                return self.forget_approval(&id);
            }
            Event::ToolConfirm {
                id,
                name,
                args,
                preview,
            } => {
                return self.ask(Approval::new(id, name, args.get().to_owned(), preview));
            }
            Event::Usage {
                input,
                output,
                cache_read,
                cache_write,
                cost_usd,
                cumulative,
            } => {
                self.info.cost_usd = cumulative.cost_usd;
                let read = input + cache_read + cache_write;
                // Providers count nothing for an answer that was stopped.
                if read > 0 {
                    self.info.context_used = read + output;
                }
                self.chat.turns.push((read, output, cost_usd));
            }
            Event::AssistantMessage { .. } => {
                self.end_thinking();
                self.end_answer();
                if let Some(work) = &mut self.work {
                    work.answer_ended();
                }
            }
            Event::SteerDropped { content } => {
                self.queue_first(Prompt::made(text_of(&content)));
            }
            Event::Fallback {
                from, to, message, ..
            } => self.note(format!("{from} failed ({message}); {to} goes on"), true),
            Event::Error {
                message,
                code,
                retry_after_ms,
                provider,
                alternatives,
            } => {
                if let Some(work) = &mut self.work {
                    work.retry = None;
                }
                let mut text = advice::readable(&message);
                let step = advice::next_step(
                    code.as_deref().unwrap_or_default(),
                    provider.as_deref(),
                    retry_after_ms,
                    &alternatives,
                );
                if let Some(step) = step {
                    text.push('\n');
                    text.push_str(&step);
                }
                self.note(text, true);
            }
            Event::CompactDone { .. } => {
                self.doing("thinking");
                self.note("the conversation was compacted".to_owned(), false);
            }
            Event::ExtNotify {
                extension,
                level,
                message,
            } => self.note(format!("{extension}: {message}"), level == "error"),
            Event::ExtDisplay { extension, text } => {
                self.note(format!("{extension}: {text}"), false);
            }
            Event::ExtPanel {
                extension,
                panel_id,
                content,
            } => {
                self.draw_panel(PanelView {
                    extension,
                    id: panel_id,
                    title: content.title,
                    lines: content.lines,
                    footer: content.footer,
                });
            }
            Event::ExtPanelClose {
                extension,
                panel_id,
            } => self.close_panel(&extension, &panel_id),
            Event::TurnEnd { stop, .. } if stop == "length" => {
                let text =
                    "the answer ends at the model's limit for one answer: say \"go on\" for more";
                self.note(text.to_owned(), true);
            }
            Event::TurnEnd { stop, .. } if stop == "end" && self.chat.is_unanswered() => {
                self.note("the model gave no answer".to_owned(), true);
            }
            Event::TurnStart { .. }
            | Event::TurnEnd { .. }
            | Event::ToolUseEnd { .. }
            | Event::Done => {}
        }
        Vec::new()
    }

    fn take_user_message(&mut self, content: &[ContentBlock]) {
        self.end_answer();
        let text = text_of(content);
        // A word for the running prompt has arrived; they do so in order.
        self.steered
            .pop_front_if(|steered| text.starts_with(&**steered));
        let text = self.shell.without_told(text);
        self.add(Item::User(cut_output(text)));
    }

    fn take_text(&mut self, delta: &str) {
        self.end_thinking();
        self.doing("writing");
        if let Some(work) = &mut self.work {
            work.received(delta.len(), self.now_ms);
        }
        let lines = self.chat.push_text(delta, self.columns, &self.theme);
        self.finished.extend(lines);
    }

    /// Nothing goes on any more: what was unfinished is finished as it is.
    pub(super) fn settle(&mut self) {
        self.end_answer();
        self.end_thinking();
        for mut tool in std::mem::take(&mut self.chat.tools) {
            tool.state = ToolState::Failed;
            if tool.output.is_empty() {
                tool.output.push_str("cancelled");
            }
            self.add(Item::Tool(Box::new(tool)));
        }
        if self.work.take().is_some_and(|work| work.cancelling) {
            self.note("stopped".to_owned(), false);
        }
    }

    fn end_thinking(&mut self) {
        let thinking = std::mem::take(&mut self.chat.thinking);
        if !thinking.trim().is_empty() {
            self.add(Item::Thinking(thinking));
        }
    }

    fn end_answer(&mut self) {
        let lines = self.chat.end_answer(self.columns, &self.theme);
        self.finished.extend(lines);
    }

    fn begin_tool(&mut self, id: String, name: String, arguments: String, state: ToolState) {
        self.chat.tools.push(Tool {
            id,
            name,
            arguments,
            output: String::new(),
            state,
            started_ms: self.now_ms,
            took_ms: 0,
        });
    }

    fn end_tool(&mut self, id: &str, is_error: bool, content: &[ContentBlock]) {
        self.doing("thinking");
        let Some(index) = self.chat.tools.iter().position(|tool| tool.id == id) else {
            return;
        };
        let mut tool = self.chat.tools.remove(index);
        tool.state = match is_error {
            true => ToolState::Failed,
            false => ToolState::Succeeded,
        };
        tool.took_ms = self.now_ms.saturating_sub(tool.started_ms);
        tool.output = cut_output(text_of(content));
        self.add(Item::Tool(Box::new(tool)));
    }

    fn doing(&mut self, what: &'static str) {
        if let Some(work) = &mut self.work {
            work.doing = what;
        }
    }
}

/// An earlier part of the conversation, as it was shown.
pub(super) fn items(messages: &[Message]) -> Vec<Item> {
    let mut items = Vec::new();
    for message in messages {
        if message.role == Role::User {
            let text = text_of(&message.content);
            if !text.is_empty() {
                items.push(Item::User(text));
            }
        }
        for block in &message.content {
            match block {
                ContentBlock::ToolCall { id, name, args } => {
                    items.push(Item::Tool(Box::new(Tool {
                        id: id.clone(),
                        name: name.clone(),
                        arguments: args.get().to_owned(),
                        output: String::new(),
                        state: ToolState::Succeeded,
                        started_ms: 0,
                        took_ms: 0,
                    })))
                }
                ContentBlock::ToolResult {
                    call_id,
                    is_error,
                    content,
                } => {
                    let calls = items.iter_mut().rev().filter_map(|item| match item {
                        Item::Tool(tool) => Some(tool),
                        _ => None,
                    });
                    if let Some(tool) = calls.into_iter().find(|tool| tool.id == *call_id) {
                        tool.output = cut_output(text_of(content));
                        if *is_error {
                            tool.state = ToolState::Failed;
                        }
                    }
                }
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

fn cut_output(mut output: String) -> String {
    if output.len() > MAX_OUTPUT_BYTES {
        output.truncate(output.floor_char_boundary(MAX_OUTPUT_BYTES));
        output.push_str("\n…");
    }
    output
}

fn text_of(content: &[ContentBlock]) -> String {
    let mut text = String::new();
    for block in content {
        match block {
            ContentBlock::Text { text: more } => text.push_str(more),
            ContentBlock::Image { mime_type, bytes } => {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                text.push_str(&format!("[picture: {mime_type}, {bytes} bytes]"));
            }
            ContentBlock::ToolCall { .. } | ContentBlock::ToolResult { .. } => {}
        }
    }
    text
}

pub(super) fn keep_end(text: &mut String, limit: usize) {
    // Seldom, so that each piece costs its own length only.
    if text.len() > 2 * limit {
        let start = text.ceil_char_boundary(text.len() - limit);
        text.drain(..start);
    }
}
