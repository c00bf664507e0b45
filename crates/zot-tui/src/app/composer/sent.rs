//! Prompts sent to the agent but not yet reported as messages, as the user wrote them.

use std::collections::VecDeque;

use zot_sdk::context::Part;

use crate::editor::Draft;

/// Sent prompts whose text is remembered as the user wrote it.
///
/// Limit: the oldest prompt is shown as the model reads it, without chips for its pastes.
const MAX_SENT_PROMPTS: usize = 64;

#[derive(Debug, Default)]
pub(super) struct SentPrompts(VecDeque<Sent>);

/// What is remembered about a sent prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sent {
    /// The beginning of the message.
    content: String,
    /// As the user wrote it, if that differs.
    pub(crate) shown: Option<String>,
    /// The files it mentions.
    pub(crate) parts: Vec<Part>,
}

impl SentPrompts {
    /// Remembers how a prompt was written when it is sent.
    pub(super) fn remember(&mut self, draft: &Draft) {
        if draft.has_chips() {
            self.push(Sent {
                content: draft.content(),
                shown: Some(draft.shown()),
                parts: Vec::new(),
            });
        }
    }

    /// Records the files mentioned by the prompt that begins with `content`.
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
        let matching = self.0.iter().enumerate();
        let matching = matching.filter(|(_, sent)| text.starts_with(&sent.content));
        // The longest, in case one begins with another; the oldest of equals.
        let best = matching.max_by_key(|(index, sent)| (sent.content.len(), usize::MAX - index));
        let (index, _) = best?;
        self.0.remove(index)
    }
}
