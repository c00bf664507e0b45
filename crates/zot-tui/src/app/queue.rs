//! Prompts that wait, and words for the one that runs.

use super::{App, Effect, MAX_QUEUED_PROMPTS, Prompt};
use crate::editor::Draft;

/// A prompt that waits for the running one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Queued {
    pub(crate) prompt: Prompt,
    /// As it was written, if somebody has.
    draft: Option<Draft>,
}

impl Queued {
    pub(crate) fn title(&self) -> String {
        match &self.draft {
            Some(draft) => draft.title(),
            None => self.prompt.text.lines().next().unwrap_or("").to_owned(),
        }
    }
}

impl App {
    /// Sends a prompt, or lets it wait for the running one.
    pub(crate) fn submit(&mut self, prompt: Prompt) -> Vec<Effect> {
        self.submit_as(prompt, None)
    }

    /// Sends the prompt that waited longest, as it was written.
    pub(super) fn submit_queued(&mut self) -> Option<Vec<Effect>> {
        let Queued { prompt, draft } = self.queued.pop_front()?;
        Some(self.submit_as(prompt, draft))
    }

    /// Sends what was written.
    pub(super) fn submit_draft(&mut self, draft: Draft) -> Vec<Effect> {
        let prompt = self.prompt_of(&draft);
        self.submit_as(prompt, Some(draft))
    }

    fn submit_as(&mut self, prompt: Prompt, draft: Option<Draft>) -> Vec<Effect> {
        if prompt.text.trim().is_empty() {
            return Vec::new();
        }
        if self.work.is_some() {
            if self.queued.len() >= MAX_QUEUED_PROMPTS {
                self.say(format!("{MAX_QUEUED_PROMPTS} prompts wait already"));
                self.editor.set(draft.unwrap_or_else(|| prompt.text.into()));
                return Vec::new();
            }
            self.queued.push_back(Queued { prompt, draft });
            return Vec::new();
        }
        self.begin_work();
        if let Some(draft) = &draft {
            self.remember_sent(draft);
        }
        vec![Effect::Prompt(prompt)]
    }

    /// Gives the running prompt one more word, now.
    pub(super) fn steer(&mut self) -> Vec<Effect> {
        if self.editor.is_blank() {
            return Vec::new();
        }
        let draft = self.editor.take();
        self.picker = None;
        let mut effects = self.remember(&draft);
        if self.work.is_none() {
            effects.extend(self.submit_draft(draft));
            return effects;
        }
        self.steered.push_back(draft.content());
        self.remember_sent(&draft);
        let prompt = self.prompt_of(&draft);
        effects.push(Effect::Steer(prompt));
        effects
    }

    /// What comes before the next prompt although it was said later.
    pub(super) fn queue_first(&mut self, prompt: Prompt) {
        let draft = None;
        self.queued.push_front(Queued { prompt, draft });
    }

    /// Takes the prompt that was queued last back for editing; what is written already stays below.
    pub(super) fn take_back(&mut self) -> bool {
        let Some(Queued { prompt, draft }) = self.queued.pop_back() else {
            return false;
        };
        let written = self.editor.draft();
        self.editor.set(draft.unwrap_or_else(|| prompt.text.into()));
        if !written.is_blank() {
            self.editor.append_line(written);
        }
        // What `!` printed comes along again with the next prompt.
        self.shell.outputs.extend(prompt.attached);
        true
    }

    /// Keeps what was written for later.
    pub(super) fn remember(&mut self, draft: &Draft) -> Vec<Effect> {
        match self.history.push(draft) {
            true => vec![Effect::Remember(draft.clone())],
            false => Vec::new(),
        }
    }

    fn prompt_of(&mut self, draft: &Draft) -> Prompt {
        let attached = std::mem::take(&mut self.shell.outputs);
        Prompt {
            mentions: draft.has_chips().then(|| draft.without_chips()),
            attached,
            ..Prompt::typed(draft.content())
        }
    }
}
