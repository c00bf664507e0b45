//! The conversation on the screen: finished items, arriving ones, and what needs to be redrawn.

mod answer;
mod arguments;
mod aside;
mod item;
mod log;
mod prompt;
mod redraw;
mod view;

use std::sync::Arc;

use zot_sdk::conversation::{ContentBlock, Message};
use zot_sdk::{AgentEvent, ToolCall};

use super::Context;
use super::action::Action;
use super::composer::Sent;
use crate::image::Drawing;
use crate::pager::Pager;
use crate::text::Line;

use answer::Answer;
pub(crate) use arguments::Arguments;
pub(crate) use aside::Aside;
pub(crate) use item::{Item, Tool, ToolState, text_of as item_text};
use item::{cut_output, items};
pub(crate) use log::Log;
pub(crate) use prompt::SentPrompt;
pub(crate) use redraw::{Redraw, Redrawn};
pub(crate) use view::item as item_lines;
pub(super) use view::{aside, thoughts, tool};

/// How much of a model's thinking is kept.
///
/// Limit: the end of the thinking is kept.
const MAX_THINKING_BYTES: usize = 64 * 1024;

#[derive(Default)]
pub(crate) struct Transcript {
    pub(crate) log: Log,
    /// The arriving answer.
    answer: Answer,
    /// What the model is thinking.
    pub(super) thinking: String,
    /// Calls that are being written or are running.
    pub(crate) tools: Vec<Tool>,
    pub(super) aside: Option<Aside>,
    /// Long results are shown in full.
    pub(super) is_unfolded: bool,
    last_answer: String,
    output: Output,
    redraw: Option<Redraw>,
    /// A new width leaves the scrollback alone.
    pub(crate) keeps_scrollback: bool,
}

/// What the next frame adds to the scrollback.
#[derive(Default)]
pub(super) struct Output {
    pub(super) lines: Vec<Line>,
    /// How many of the lines, like all lines above them, may differ in order from the log.
    pub(super) out_of_order: usize,
    /// Images, each with the index of the first line it covers.
    pub(super) images: Vec<(usize, Drawing)>,
}

impl Transcript {
    /// Starts a new conversation.
    pub(super) fn clear(&mut self) {
        self.log = Log::default();
        self.answer = Answer::default();
        self.thinking.clear();
        self.tools.clear();
        self.last_answer.clear();
    }

    pub(super) fn last_answer(&self) -> &str {
        &self.last_answer
    }

    pub(super) fn add(&mut self, context: &Context, item: Item) {
        let lines = self.lines_of(context, &item);
        self.log.push(item, lines.len());
        // The log receives the answer when it is complete, so there the item comes first.
        self.answer.is_interrupted |= !self.answer.lines().is_empty();
        self.write(lines);
    }

    /// Writes final lines.
    fn write(&mut self, lines: Vec<Line>) {
        self.output.lines.extend(lines);
        if self.answer.is_interrupted {
            self.output.out_of_order = self.output.lines.len();
        }
    }

    fn lines_of(&self, context: &Context, item: &Item) -> Vec<Line> {
        view::item(item, context.columns, &context.theme, self.is_unfolded)
    }

    pub(super) fn add_image(&mut self, context: &Context, drawing: Drawing) {
        // The screen may have become narrower meanwhile.
        if drawing.columns <= context.columns {
            let line = self.output.lines.len();
            self.add(context, Item::Image(drawing.redrawn()));
            self.log.limit_images();
            self.output.images.push((line, drawing));
        }
    }

    /// Adds an earlier part of the conversation.
    pub(super) fn add_earlier(
        &mut self,
        context: &Context,
        title: String,
        messages: &[Arc<Message>],
    ) {
        self.add(context, Item::Note(title));
        let items = items(messages);
        self.remember_answer(&items);
        for item in items {
            self.add(context, item);
        }
    }

    /// Uses the last answer before this chat until there is another.
    fn remember_answer(&mut self, items: &[Item]) {
        let mut answers = items.iter().rev().filter_map(|item| match item {
            Item::Assistant(text) => Some(text),
            _ => None,
        });
        if self.last_answer.is_empty() {
            self.last_answer = answers.next().cloned().unwrap_or_default();
        }
    }

    /// Adds a user message; `sent` is what was remembered when it was sent.
    pub(super) fn add_prompt(
        &mut self,
        context: &Context,
        content: &[ContentBlock],
        sent: Option<Sent>,
    ) {
        self.end_answer(context);
        let item = Item::User(Box::new(SentPrompt::new(content, sent)));
        match context.is_plain {
            // The terminal has echoed it.
            true => self.log.push(item, 0),
            false => self.add(context, item),
        }
    }

    /// Returns whether nothing has followed a prompt or a tool result.
    pub(super) fn is_unanswered(&self) -> bool {
        let last = self.log.newest_first().next().map(|entry| &entry.item);
        self.answer.is_empty() && matches!(last, Some(Item::User(_) | Item::Tool(_)))
    }

    pub(super) fn push_text(&mut self, context: &Context, delta: &str) {
        self.end_thinking(context);
        let lines = self.answer.push(delta, context.columns, &context.theme);
        if !context.is_plain {
            self.write(lines);
        }
    }

    pub(super) fn push_thinking(&mut self, delta: &str) {
        self.thinking.push_str(delta);
        keep_end(&mut self.thinking, MAX_THINKING_BYTES);
    }

    /// Ends the response.
    pub(super) fn end_response(&mut self, context: &Context) {
        self.end_thinking(context);
        self.end_answer(context);
    }

    fn end_thinking(&mut self, context: &Context) {
        let thinking = std::mem::take(&mut self.thinking);
        if !thinking.trim().is_empty() {
            self.add(context, Item::Thinking(thinking));
        }
    }

    fn end_answer(&mut self, context: &Context) {
        let (lines, ended) = self.answer.end(context.columns, &context.theme);
        if let Some((text, rows)) = ended {
            self.last_answer.clone_from(&text);
            self.log.push(Item::Assistant(text), rows);
        }
        if !context.is_plain {
            self.write(lines);
        }
        self.answer.is_interrupted = false;
    }

    /// Returns the lines of the answer that may still change.
    pub(super) fn tail(&self, context: &Context) -> Vec<Line> {
        self.answer.tail(context.columns, &context.theme)
    }

    /// Finishes all items in progress as they are, because the work has ended.
    pub(super) fn settle(&mut self, context: &Context) {
        self.end_answer(context);
        self.end_thinking(context);
        for mut tool in std::mem::take(&mut self.tools) {
            tool.state = ToolState::Failed;
            if tool.output.is_empty() {
                tool.output.push_str("cancelled");
            }
            self.add(context, Item::Tool(Box::new(tool)));
        }
    }

    /// Adds a call that the model begins to write.
    pub(super) fn begin_tool(&mut self, context: &Context, id: String, name: String) {
        self.end_response(context);
        self.tools.push(Tool::new(id, name, context.now_ms));
    }

    pub(super) fn push_arguments(&mut self, id: &str, delta: &str) {
        if let Some(tool) = self.tool(id) {
            tool.arguments.push(delta);
        }
    }

    /// Runs a call that is complete.
    pub(super) fn run_tool(&mut self, context: &Context, call: ToolCall) {
        let id = call.id.as_str();
        if self.tool(id).is_none() {
            let tool = Tool::new(id.to_owned(), call.name, context.now_ms);
            self.tools.push(tool);
        }
        if let Some(tool) = self.tool(id) {
            tool.arguments = Arguments::from(call.arguments.json_or_empty());
            tool.start(context.now_ms);
        }
    }

    /// Restarts the clock of a call when the user has decided about it.
    pub(super) fn start_tool(&mut self, context: &Context, id: &str) {
        if let Some(tool) = self.tool(id) {
            tool.start(context.now_ms);
        }
    }

    /// Marks a call as waiting for approval.
    pub(super) fn hold_tool(&mut self, id: &str) {
        if let Some(tool) = self.tool(id) {
            tool.state = ToolState::AwaitingApproval;
        }
    }

    pub(super) fn add_tool_progress(&mut self, id: &str, text: &str) {
        if let Some(tool) = self.tool(id) {
            tool.add_progress(text);
        }
    }

    pub(super) fn end_tool(
        &mut self,
        context: &Context,
        id: &str,
        is_error: bool,
        content: &[ContentBlock],
    ) {
        let Some(index) = self.tools.iter().position(|tool| tool.id == id) else {
            return;
        };
        let mut tool = self.tools.remove(index);
        // A call that was not approved has not run.
        tool.took_ms = match tool.state {
            ToolState::AwaitingApproval => 0,
            _ => context.now_ms.saturating_sub(tool.started_ms),
        };
        tool.state = match is_error {
            true => ToolState::Failed,
            false => ToolState::Succeeded,
        };
        tool.output = cut_output(item_text(content));
        self.add(context, Item::Tool(Box::new(tool)));
    }

    fn tool(&mut self, id: &str) -> Option<&mut Tool> {
        self.tools.iter_mut().find(|tool| tool.id == id)
    }

    /// Starts a side question, unless one is open.
    pub(super) fn begin_aside(&mut self, question: &str) -> bool {
        let is_new = self.aside.is_none();
        if is_new {
            self.aside = Some(Aside::new(question));
        }
        is_new
    }

    pub(super) fn update_aside(&mut self, context: &Context, event: AgentEvent) -> Option<Action> {
        self.aside.as_mut()?.update(context, event)
    }

    /// Ends a side question and returns its cost.
    pub(super) fn end_aside(&mut self, context: &Context) -> Option<f64> {
        let aside = self.aside.take()?;
        let cost_usd = aside.cost_usd();
        self.add(context, aside.into_item());
        (cost_usd > 0.0).then_some(cost_usd)
    }

    /// Lays the side question out again after a change of size or colours.
    pub(super) fn rewrap_aside(&mut self, context: &Context) {
        if let Some(aside) = &mut self.aside {
            aside.rewrap(context);
        }
    }

    /// Opens the pager at the end, or at the item this far from the end of the log.
    pub(super) fn open_pager(&self, context: &Context, from_end: Option<usize>) -> Pager {
        let size = (context.columns, context.rows);
        let mut pager = Pager::new(&self.log, self.arriving(context), size, &context.theme);
        if let Some(from_end) = from_end {
            pager.show(from_end);
        }
        pager
    }

    /// Returns the lines that are not in the log yet.
    pub(super) fn arriving(&self, context: &Context) -> Vec<Line> {
        let mut lines = self.answer.lines().to_vec();
        lines.extend(self.tail(context));
        lines
    }

    pub(super) fn take_output(&mut self) -> Output {
        std::mem::take(&mut self.output)
    }

    /// Takes the requested redraw, if any.
    pub(super) fn take_redraw(&mut self) -> Option<Redraw> {
        self.redraw.take()
    }

    pub(super) fn request_redraw(&mut self, redraw: Redraw) {
        self.redraw = self.redraw.max(Some(redraw));
    }

    pub(super) fn toggle_folding(&mut self) {
        self.is_unfolded = !self.is_unfolded;
        self.request_redraw(match self.is_unfolded {
            true => Redraw::Unfolded,
            false => Redraw::Visible,
        });
    }

    /// Returns whether changing to this width clears the terminal's scrollback.
    ///
    /// By default it stays: the terminal rewraps it, and what other programs wrote is not ours to
    /// clear.
    pub(crate) fn clears_scrollback_at(&self, context: &Context, columns: usize) -> bool {
        !self.keeps_scrollback && columns.max(super::MIN_COLUMNS) != context.columns
    }

    /// Drops all drawings: their cells have changed size.
    pub(crate) fn forget_images(&mut self) {
        self.log.forget_images();
    }
}

/// Keeps the last `limit` bytes of `text`.
fn keep_end(text: &mut String, limit: usize) {
    // Only at twice the limit, so that the copying is amortised.
    if text.len() > 2 * limit {
        let start = text.ceil_char_boundary(text.len() - limit);
        text.drain(..start);
    }
}
