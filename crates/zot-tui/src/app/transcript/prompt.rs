//! A prompt as the transcript shows it, with chips for its attachments.

use zot_sdk::context::{Outcome, Part, attached_parts};
use zot_sdk::conversation::ContentBlock;

use super::item::{cut_output, text_of};
use crate::app::ShellOutput;
use crate::app::composer::Sent;

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct SentPrompt {
    /// As the model reads it, with everything that is attached.
    pub(crate) text: String,
    /// As the user wrote it: long pastes are chips, and attachments are left out. Equal to `text` if
    /// nothing differs.
    pub(crate) shown: String,
    /// `a.txt 19 B`, `!make test 3 lines`.
    pub(crate) chips: Vec<String>,
    /// `gone.txt: no such file`.
    pub(crate) not_attached: Vec<String>,
}

impl SentPrompt {
    pub(super) fn bytes(&self) -> usize {
        let lists = self.chips.iter().chain(&self.not_attached);
        self.text.len() + self.shown.len() + lists.map(String::len).sum::<usize>()
    }

    /// Parses a user message; `sent` is what was remembered when it was sent.
    pub(super) fn new(content: &[ContentBlock], sent: Option<Sent>) -> Self {
        let texts = content.iter().filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let text: String = texts.collect();
        let (end, mut parts) = attached_parts(&text);
        let (end, outputs) = ShellOutput::find_in(&text[..end]);
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
