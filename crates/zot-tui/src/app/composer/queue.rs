//! Prompts that wait for the running one, and text that steers it.

use std::collections::VecDeque;

use crate::app::Prompt;
use crate::editor::Draft;

/// Prompts that may wait for the running one.
///
/// Limit: the next prompt stays in the editor.
pub(super) const MAX_QUEUED_PROMPTS: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: VecDeque<Queued>,
    /// Text for the running prompt that has not reached it yet.
    steering: VecDeque<String>,
}

/// A prompt that waits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Queued {
    prompt: Prompt,
    /// As the user wrote it.
    draft: Option<Draft>,
}

impl Queued {
    pub(super) fn title(&self) -> String {
        match &self.draft {
            Some(draft) => draft.title(),
            None => self.prompt.text.lines().next().unwrap_or("").to_owned(),
        }
    }
}

impl Queue {
    pub(super) fn waiting(&self) -> impl ExactSizeIterator<Item = &Queued> {
        self.waiting.iter()
    }

    pub(super) fn steering(&self) -> impl Iterator<Item = &String> {
        self.steering.iter()
    }

    /// Returns the draft when there is no room.
    pub(super) fn push(&mut self, prompt: Prompt, draft: Option<Draft>) -> Result<(), Draft> {
        if self.waiting.len() >= MAX_QUEUED_PROMPTS {
            return Err(draft.unwrap_or_else(|| prompt.text.into()));
        }
        self.waiting.push_back(Queued { prompt, draft });
        Ok(())
    }

    pub(super) fn push_front(&mut self, prompt: Prompt) {
        let draft = None;
        self.waiting.push_front(Queued { prompt, draft });
    }

    pub(super) fn pop(&mut self) -> Option<(Prompt, Option<Draft>)> {
        let Queued { prompt, draft } = self.waiting.pop_front()?;
        Some((prompt, draft))
    }

    pub(super) fn pop_last(&mut self) -> Option<(Prompt, Draft)> {
        let Queued { prompt, draft } = self.waiting.pop_back()?;
        let draft = draft.unwrap_or_else(|| prompt.text.as_str().into());
        Some((prompt, draft))
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    pub(super) fn steer(&mut self, text: String) {
        self.steering.push_back(text);
    }

    /// Removes a steering message that has reached the model. They arrive in order.
    pub(super) fn remove_delivered(&mut self, text: &str) {
        self.steering
            .pop_front_if(|steering| text.starts_with(&**steering));
    }

    pub(super) fn end_steering(&mut self) {
        self.steering.clear();
    }
}
