//! Prompts on their way, as they were written.

use std::collections::VecDeque;

use zot_sdk::context::Part;

use crate::editor::Draft;

/// Prompts on their way whose text is remembered as it was written.
///
/// Limit: the oldest prompt is shown as the model reads it, without chips for its pastes.
const MAX_SENT_PROMPTS: usize = 64;

#[derive(Debug, Default)]
pub(super) struct SentPrompts(VecDeque<Sent>);

/// What is known of a prompt that is on its way.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sent {
    /// The beginning of the message.
    content: String,
    /// As it was written, where that differs.
    pub(crate) shown: Option<String>,
    /// The files it mentions.
    pub(crate) parts: Vec<Part>,
}

impl SentPrompts {
    /// Remembers how a prompt was written that is sent now.
    pub(super) fn remember(&mut self, draft: &Draft) {
        if draft.has_chips() {
            self.push(Sent {
                content: draft.content(),
                shown: Some(draft.shown()),
                parts: Vec::new(),
            });
        }
    }

    /// The files that the prompt which begins with `content` mentions.
    pub(super) fn set_parts(&mut self, content: String, parts: Vec<Part>) {
        let same = |sent: &&mut Sent| sent.content == content && sent.parts.is_empty();
        match self.0.iter_mut().find(same) {
            Some(sent) => sent.parts = parts,
            None => self.push(Sent {
                content,
                shown: None,
                parts,
            }),
        }
    }

    fn push(&mut self, sent: Sent) {
        self.0.push_back(sent);
        while self.0.len() > MAX_SENT_PROMPTS {
            self.0.pop_front();
        }
    }

    /// Takes the prompt that `text` begins with.
    pub(super) fn take(&mut self, text: &str) -> Option<Sent> {
        let fitting = self.0.iter().enumerate();
        let fitting = fitting.filter(|(_, sent)| text.starts_with(&sent.content));
        // The longest, should one begin with another; of equals the first.
        let best = fitting.max_by_key(|(place, sent)| (sent.content.len(), usize::MAX - place));
        let (place, _) = best?;
        self.0.remove(place)
    }
}
