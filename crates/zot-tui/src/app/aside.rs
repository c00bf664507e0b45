//! A question on the side: asked about the conversation, never part of it.

use zot_sdk::AgentEvent;

use super::{App, Effect, Item};
use crate::markdown::MarkdownStream;
use crate::style::Theme;
use crate::text::Line;
use crate::view;

#[derive(Debug, Default)]
pub(crate) struct Aside {
    pub(crate) question: String,
    /// What has come so far.
    answer: String,
    stream: MarkdownStream,
    /// The last of the answer's lines that will not change, as many as can be seen.
    lines: Vec<Line>,
    cost_usd: f64,
}

impl Aside {
    /// The end of the answer, as it looks now.
    pub(crate) fn lines(&self, columns: usize, theme: &Theme) -> Vec<Line> {
        let tail = self.stream.tail(view::aside_columns(columns), theme);
        self.lines.iter().cloned().chain(tail).collect()
    }

    fn push(&mut self, text: &str, columns: usize, rows: usize, theme: &Theme) {
        self.answer.push_str(text);
        let columns = view::aside_columns(columns);
        self.lines.extend(self.stream.push(text, columns, theme));
        let surplus = self.lines.len().saturating_sub(rows);
        self.lines.drain(..surplus);
    }
}

impl App {
    pub(super) fn ask_aside(&mut self, question: &str) -> Vec<Effect> {
        if question.is_empty() {
            self.say("/btw takes a question");
            return Vec::new();
        }
        if self.aside.is_some() {
            self.say("one question at a time: esc ends the other");
            return Vec::new();
        }
        self.aside = Some(Aside {
            question: question.to_owned(),
            ..Aside::default()
        });
        vec![Effect::Aside(question.to_owned())]
    }

    pub(super) fn take_aside(&mut self, event: AgentEvent) -> Vec<Effect> {
        let Some(aside) = &mut self.aside else {
            return Vec::new();
        };
        match event {
            AgentEvent::TextDelta(delta) => {
                aside.push(&delta, self.columns, self.rows, &self.theme);
            }
            AgentEvent::UsageReported { turn, .. } => aside.cost_usd += turn.cost_usd,
            AgentEvent::Failed(report) => self.note(report.message, true),
            _ => {}
        }
        Vec::new()
    }

    /// Lays the answer out anew, for another screen.
    pub(super) fn rewrap_aside(&mut self) {
        if let Some(aside) = &mut self.aside {
            let answer = std::mem::take(&mut aside.answer);
            aside.stream = MarkdownStream::default();
            aside.lines.clear();
            aside.push(&answer, self.columns, self.rows, &self.theme);
        }
    }

    pub(super) fn cancel_aside(&mut self) -> Vec<Effect> {
        let mut effects = vec![Effect::CancelAside];
        effects.extend(self.end_aside());
        effects
    }

    pub(super) fn end_aside(&mut self) -> Vec<Effect> {
        if let Some(mut aside) = self.aside.take() {
            if aside.cost_usd > 0.0 {
                self.chat.asides.push(aside.cost_usd);
                let cost = format!("\n\n*${:.4}*", aside.cost_usd);
                aside.answer.push_str(&cost);
            }
            self.add(Item::Aside {
                question: aside.question,
                answer: aside.answer,
            });
        }
        Vec::new()
    }
}
