//! A question on the side: asked about the conversation, never part of it.

use zot_sdk::Event;

use super::{App, Effect, Item};

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Aside {
    pub(crate) question: String,
    /// What has come so far.
    pub(crate) answer: String,
    cost_usd: f64,
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

    pub(super) fn take_aside(&mut self, event: Event) -> Vec<Effect> {
        let Some(aside) = &mut self.aside else {
            return Vec::new();
        };
        match event {
            Event::TextDelta { delta } => aside.answer.push_str(&delta),
            Event::Usage { cost_usd, .. } => aside.cost_usd += cost_usd,
            Event::Error { message, .. } => self.note(message, true),
            _ => {}
        }
        Vec::new()
    }

    pub(super) fn cancel_aside(&mut self) -> Vec<Effect> {
        let mut effects = vec![Effect::CancelAside];
        effects.extend(self.end_aside());
        effects
    }

    pub(super) fn end_aside(&mut self) -> Vec<Effect> {
        if let Some(mut aside) = self.aside.take() {
            if aside.cost_usd > 0.0 {
                let cost = format!("\n\n*${:.4}, not counted by /cost*", aside.cost_usd);
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
