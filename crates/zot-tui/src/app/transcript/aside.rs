//! A side question: about the conversation, but never part of it.

use zot_sdk::AgentEvent;

use super::{Item, view};
use crate::app::Context;
use crate::app::action::Action;
use crate::markdown::MarkdownStream;
use crate::style::Theme;
use crate::text::Line;

#[derive(Debug, Default)]
pub(crate) struct Aside {
    pub(super) question: String,
    /// What has arrived so far.
    answer: String,
    stream: MarkdownStream,
    /// The last final lines of the answer, as many as fit on the screen.
    lines: Vec<Line>,
    cost_usd: f64,
}

impl Aside {
    pub(super) fn new(question: &str) -> Self {
        Self {
            question: question.to_owned(),
            ..Self::default()
        }
    }

    pub(super) fn cost_usd(&self) -> f64 {
        self.cost_usd
    }

    /// Returns the end of the answer as it looks now.
    pub(super) fn lines(&self, columns: usize, theme: &Theme) -> Vec<Line> {
        let tail = self.stream.tail(view::aside_columns(columns), theme);
        self.lines.iter().cloned().chain(tail).collect()
    }

    pub(super) fn update(&mut self, context: &Context, event: AgentEvent) -> Option<Action> {
        match event {
            AgentEvent::TextDelta(delta) => self.push(context, &delta),
            AgentEvent::UsageReported { turn, .. } => self.cost_usd += turn.cost_usd,
            AgentEvent::Failed(report) => return Some(Action::error(report.message)),
            _ => {}
        }
        None
    }

    fn push(&mut self, context: &Context, text: &str) {
        self.answer.push_str(text);
        let columns = view::aside_columns(context.columns);
        let lines = self.stream.push(text, columns, &context.theme);
        self.lines.extend(lines);
        let surplus = self.lines.len().saturating_sub(context.rows);
        self.lines.drain(..surplus);
    }

    /// Lays the answer out again, for another screen.
    pub(super) fn rewrap(&mut self, context: &Context) {
        let answer = std::mem::take(&mut self.answer);
        self.stream = MarkdownStream::default();
        self.lines.clear();
        self.push(context, &answer);
    }

    pub(super) fn into_item(self) -> Item {
        let mut answer = self.answer;
        if self.cost_usd > 0.0 {
            answer.push_str(&format!("\n\n*${:.4}*", self.cost_usd));
        }
        Item::Aside {
            question: self.question,
            answer,
        }
    }
}
