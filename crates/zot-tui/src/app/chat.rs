//! The conversation: what is finished, and what is arriving.

use super::{Item, Log, Tool};
use crate::markdown::MarkdownStream;
use crate::style::Theme;
use crate::text::Line;

#[derive(Default)]
pub(crate) struct Chat {
    pub(crate) log: Log,
    /// The answer that is arriving.
    text: String,
    stream: MarkdownStream,
    /// The answer's lines that are final.
    pub(super) answer: Vec<Line>,
    /// Something else was shown between them.
    pub(super) is_mixed: bool,
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
            asides: std::mem::take(&mut self.asides),
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
    pub(super) fn is_unanswered(&self) -> bool {
        let last = self.log.newest_first().next().map(|entry| &entry.item);
        self.text.is_empty() && matches!(last, Some(Item::User(_) | Item::Tool(_)))
    }

    /// What of the answer may still change, as lines.
    pub(crate) fn tail(&self, columns: usize, theme: &Theme) -> Vec<Line> {
        self.stream.tail(columns, theme)
    }

    /// Adds to the answer and returns what is final now.
    pub(super) fn push_text(&mut self, delta: &str, columns: usize, theme: &Theme) -> Vec<Line> {
        let mut lines = match self.text.is_empty() {
            true => vec![Line::default()],
            false => Vec::new(),
        };
        self.text.push_str(delta);
        lines.extend(self.stream.push(delta, columns, theme));
        self.answer.extend_from_slice(&lines);
        lines
    }

    /// The part of the arriving answer that is final, laid out anew.
    pub(super) fn rewrap(&mut self, columns: usize, theme: &Theme) -> Vec<Line> {
        let text = std::mem::take(&mut self.text);
        self.stream = MarkdownStream::default();
        self.answer.clear();
        match text.is_empty() {
            true => Vec::new(),
            false => self.push_text(&text, columns, theme),
        }
    }

    /// The answer is over, or cut off.
    pub(super) fn end_answer(&mut self, columns: usize, theme: &Theme) -> Vec<Line> {
        let lines = self.stream.finish(columns, theme);
        let rows = std::mem::take(&mut self.answer).len() + lines.len();
        if !self.text.is_empty() {
            let mut text = std::mem::take(&mut self.text);
            text.shrink_to_fit();
            self.last_answer.clone_from(&text);
            self.log.keep(Item::Assistant(text), rows);
        }
        lines
    }

    pub(super) fn tool(&mut self, id: &str) -> Option<&mut Tool> {
        self.tools.iter_mut().find(|tool| tool.id == id)
    }
}
