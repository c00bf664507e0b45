//! Turns the events of a model that writes its calls as text into those of native calls.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use zot_conversation::{ModelEvent, StopReason, ToolCallId};

use super::blocks::{BlockBody, BlockItem, BlockParser, Tag};
use super::call::{FinishedCall, read_call};
use super::ids::CallIds;
use super::scanner::CallScanner;
use super::spacing::Spacing;

const TAGS: &[Tag] = &[Tag::TOOL_CALL];

/// Translates one response. How its text is cut only changes how the results are cut.
pub(crate) struct Translation<'a> {
    parser: BlockParser,
    output: Output<'a>,
}

/// Events that were found and not taken yet.
struct Output<'a> {
    ids: &'a CallIds,
    events: VecDeque<ModelEvent>,
    spacing: Spacing,
    block: Block,
    calls_made: bool,
}

/// The current block.
#[derive(Default)]
struct Block {
    scanner: CallScanner,
    /// Set once the call was reported.
    id: Option<ToolCallId>,
}

/// How a run of text ended.
#[derive(Clone, Copy)]
enum TextEnd {
    Complete,
    /// The model was cut off.
    BrokenOff,
}

impl<'a> Translation<'a> {
    pub(crate) fn new(ids: &'a CallIds) -> Self {
        Self {
            parser: BlockParser::new(TAGS),
            output: Output {
                ids,
                events: VecDeque::new(),
                spacing: Spacing::default(),
                block: Block::default(),
                calls_made: false,
            },
        }
    }

    /// Takes an event of the model.
    pub(crate) fn apply(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::TextDelta(delta) => self.text(delta),
            ModelEvent::Stop(reason) => {
                self.end_text(TextEnd::Complete);
                let reason = match reason {
                    StopReason::End if self.output.calls_made => StopReason::ToolUse,
                    reason => reason,
                };
                self.push(ModelEvent::Stop(reason));
            }
            ModelEvent::Retrying { .. }
            | ModelEvent::Start
            | ModelEvent::Notice(_)
            | ModelEvent::ThinkingDelta(_)
            | ModelEvent::Usage(_) => {
                self.push(event);
            }
            // Text before and after it does not belong together.
            ModelEvent::Reasoning(_)
            | ModelEvent::ToolCallStart { .. }
            | ModelEvent::ToolCallArguments { .. }
            | ModelEvent::ToolCallEnd { .. } => {
                self.end_text(TextEnd::Complete);
                self.push(event);
            }
        }
    }

    /// Notes that the response broke off. Text that was held back is reported; an unfinished block
    /// leaves no trace, like any unfinished call.
    pub(crate) fn break_off(&mut self) {
        self.end_text(TextEnd::BrokenOff);
    }

    /// Returns the next translated event.
    pub(crate) fn next(&mut self) -> Option<ModelEvent> {
        self.output.events.pop_front()
    }

    fn text(&mut self, delta: String) {
        let Self { parser, output } = self;
        if parser.is_plain(&delta) && output.spacing.is_plain(&delta) {
            self.push(ModelEvent::TextDelta(delta));
            return;
        }
        parser.feed(&delta, |item| output.take(item, TextEnd::Complete));
    }

    fn end_text(&mut self, end: TextEnd) {
        let Self { parser, output } = self;
        parser.finish(|item| output.take(item, end));
        output.end_text();
    }

    fn push(&mut self, event: ModelEvent) {
        self.output.events.push_back(event);
    }
}

impl Output<'_> {
    fn take(&mut self, item: BlockItem<'_>, end: TextEnd) {
        match item {
            BlockItem::Text(text) => self.text(text),
            BlockItem::BlockStart { .. } => self.block = Block::default(),
            BlockItem::BlockDelta { text, .. } => self.body(text),
            BlockItem::BlockEnd { body, .. } => self.end_call(body),
            BlockItem::BlockUnclosed { body, .. } => match end {
                TextEnd::Complete => self.unclosed(body),
                TextEnd::BrokenOff => {}
            },
        }
    }

    fn text(&mut self, text: &str) {
        let Self {
            spacing, events, ..
        } = self;
        spacing.text(text, |text| push_text(events, text));
    }

    fn end_text(&mut self) {
        let Self {
            spacing, events, ..
        } = self;
        spacing.finish(|text| push_text(events, text));
    }

    fn body(&mut self, text: &str) {
        let scanned = self.block.scanner.feed(text);
        if scanned.named
            && let Some(name) = self.block.scanner.name()
        {
            let name = name.to_owned();
            self.start_call(name);
        }
        if let Some(id) = &self.block.id {
            push_arguments(&mut self.events, id, scanned.arguments);
        }
    }

    fn start_call(&mut self, name: String) -> ToolCallId {
        self.spacing.block();
        self.calls_made = true;
        let id = self.ids.next();
        self.block.id = Some(id.clone());
        self.events.push_back(ModelEvent::ToolCallStart {
            id: id.clone(),
            name,
        });
        id
    }

    fn end_call(&mut self, body: BlockBody<'_>) {
        let scanner = std::mem::take(&mut self.block.scanner);
        let call = FinishedCall::new(body, &scanner);
        let id = match self.block.id.take() {
            Some(id) => id,
            None => self.start_call(call.name.into_owned()),
        };
        let rest = call.arguments.get(scanner.handed_out()..);
        push_arguments(&mut self.events, &id, rest.unwrap_or_default());
        self.events.push_back(ModelEvent::ToolCallEnd { id });
    }

    /// A block that lacks only its end is still a call; one without even a name was text.
    fn unclosed(&mut self, body: BlockBody<'_>) {
        let is_call = body.dropped_bytes == 0 && read_call(body.text).is_ok();
        if is_call || self.block.id.is_some() {
            self.end_call(body);
        } else {
            self.text(Tag::TOOL_CALL.open);
            self.text(body.text);
        }
    }
}

/// Adds text to the last event if that is text, so that one piece of the model's stays one.
fn push_text(events: &mut VecDeque<ModelEvent>, text: &str) {
    if text.is_empty() {
        return;
    }
    match events.back_mut() {
        Some(ModelEvent::TextDelta(delta)) => delta.push_str(text),
        _ => events.push_back(ModelEvent::TextDelta(text.to_owned())),
    }
}

fn push_arguments(events: &mut VecDeque<ModelEvent>, id: &ToolCallId, text: &str) {
    if text.is_empty() {
        return;
    }
    match events.back_mut() {
        Some(ModelEvent::ToolCallArguments { id: last, delta }) if last == id => {
            delta.push_str(text);
        }
        _ => events.push_back(ModelEvent::ToolCallArguments {
            id: id.clone(),
            delta: text.to_owned(),
        }),
    }
}
