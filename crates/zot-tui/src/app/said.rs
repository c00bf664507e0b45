//! A prompt as the conversation shows it: what was typed, with chips for what went along.

use std::collections::VecDeque;

use zot_sdk::context::{Outcome, Part, attached_parts};
use zot_sdk::conversation::ContentBlock;

use super::item::{cut_output, text_of};
use super::{App, Item, ShellOutput};
use crate::editor::Draft;

/// Prompts under way whose words are remembered as they were written.
///
/// Limit: the oldest prompt is shown as the model reads it, without chips for its pastes.
const MAX_SENT_PROMPTS: usize = 64;

/// What the user said.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Said {
    /// As the model reads it, with everything that is attached.
    pub(crate) text: String,
    /// As it was written: long pastes are chips, and nothing is attached. The same as `text` when
    /// there is no difference.
    pub(crate) shown: String,
    /// `a.txt 19 B`, `!make test 3 lines`.
    pub(crate) chips: Vec<String>,
    /// `gone.txt: no such file`.
    pub(crate) not_attached: Vec<String>,
}

impl Said {
    pub(super) fn bytes(&self) -> usize {
        let lists = self.chips.iter().chain(&self.not_attached);
        self.text.len() + self.shown.len() + lists.map(String::len).sum::<usize>()
    }

    /// A prompt as the conversation has it; `sent` is what is known of it besides.
    pub(super) fn new(content: &[ContentBlock], sent: Option<Sent>) -> Self {
        let texts = content.iter().filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let text: String = texts.collect();
        let (end, mut parts) = attached_parts(&text);
        let (end, outputs) = ShellOutput::behind(&text[..end]);
        let mut images = content.iter().filter_map(|block| match block {
            ContentBlock::Image(image) => Some((&image.mime_type, image.data.len() as u64)),
            _ => None,
        });
        // Images come in the order in which they were mentioned.
        for part in &mut parts {
            if let Outcome::Image { bytes } = &mut part.outcome {
                *bytes = images.next().map(|(_, size)| size);
            }
        }
        let (written, known) = match sent {
            Some(sent) => (sent.shown, sent.parts),
            None => (None, Vec::new()),
        };
        if !known.is_empty() {
            parts = known;
        }
        let unnamed = images.map(|(kind, bytes)| format!("image: {kind}, {bytes} bytes"));
        let (attached, others): (Vec<&Part>, Vec<&Part>) =
            parts.iter().partition(|part| part.is_attached());
        Self {
            shown: cut_output(written.unwrap_or_else(|| text[..end].to_owned())),
            chips: outputs
                .into_iter()
                .chain(attached.iter().map(ToString::to_string))
                .chain(unnamed)
                .collect(),
            not_attached: others.iter().map(ToString::to_string).collect(),
            text: cut_output(text_of(content)),
        }
    }
}

/// What is known of a prompt that is on its way.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sent {
    /// What the message will begin with.
    content: String,
    /// As it was written, where that differs.
    shown: Option<String>,
    /// What was mentioned in it.
    parts: Vec<Part>,
}

impl App {
    /// Remembers how a prompt was written that is sent now.
    pub(super) fn remember_sent(&mut self, draft: &Draft) {
        if draft.has_chips() {
            let sent = Sent {
                content: draft.content(),
                shown: Some(draft.shown()),
                parts: Vec::new(),
            };
            self.push_sent(sent);
        }
    }

    /// What the prompt that begins with `content` mentions.
    pub(super) fn take_mentioned(&mut self, content: String, parts: Vec<Part>) {
        let same = |sent: &&mut Sent| sent.content == content && sent.parts.is_empty();
        match self.sent.iter_mut().find(same) {
            Some(sent) => sent.parts = parts,
            None => self.push_sent(Sent {
                content,
                shown: None,
                parts,
            }),
        }
    }

    fn push_sent(&mut self, sent: Sent) {
        self.sent.push_back(sent);
        while self.sent.len() > MAX_SENT_PROMPTS {
            self.sent.pop_front();
        }
    }

    pub(super) fn take_user_message(&mut self, content: &[ContentBlock]) {
        self.end_answer();
        let text = text_of(content);
        // A word for the running prompt has arrived; they do so in order.
        self.steered
            .pop_front_if(|steered| text.starts_with(&**steered));
        let place = find(&self.sent, &text);
        let sent = place.and_then(|place| self.sent.remove(place));
        let item = Item::User(Box::new(Said::new(content, sent)));
        match self.is_plain {
            // What was typed stands there already.
            true => self.chat.log.keep(item, 0),
            false => self.add(item),
        }
    }
}

/// The one that `text` begins with; the longest, should one begin with another.
fn find(sent: &VecDeque<Sent>, text: &str) -> Option<usize> {
    let fitting = sent.iter().enumerate();
    let fitting = fitting.filter(|(_, sent)| text.starts_with(&sent.content));
    // Of the same the first.
    let best = fitting.max_by_key(|(place, sent)| (sent.content.len(), usize::MAX - place));
    best.map(|(place, _)| place)
}
