//! What goes along with the prompt that is being written.

use zot_sdk::context::{Part, mentions};

use super::{App, Effect};

/// What is mentioned in the editor, and what would become of it.
#[derive(Debug, Default)]
pub(crate) struct Attachments {
    /// The names, as they were asked about last.
    names: Vec<String>,
    pub(crate) parts: Vec<Part>,
}

impl App {
    /// Asks about the files that are mentioned, when they are others than before.
    pub(super) fn ask_attachments(&mut self) -> Option<Effect> {
        let text = self.mentioning_text();
        let names: Vec<String> = mentions(&text)
            .into_iter()
            .filter_map(|mention| mention.candidates.first().map(|name| (*name).to_owned()))
            .collect();
        if names == self.attachments.names {
            return None;
        }
        self.attachments.names = names;
        if self.attachments.names.is_empty() {
            self.attachments.parts.clear();
            return None;
        }
        Some(Effect::InspectMentions {
            text,
            names: self.attachments.names.clone(),
        })
    }

    pub(super) fn take_attachments(&mut self, names: &[String], parts: Vec<Part>) {
        // Others may be mentioned by now.
        if names == self.attachments.names {
            self.attachments.parts = parts;
        }
    }

    /// What of the editor can mention files. A word that is still being written does not yet.
    fn mentioning_text(&self) -> String {
        let text = self.editor.text();
        let is_prompt = self.editor.begins_pasted() || !text.starts_with(['!', '/']);
        if !is_prompt || !text.contains('@') {
            return String::new();
        }
        let text = self.editor.draft().without_chips();
        let end = text.trim_end_matches(|c: char| !c.is_whitespace()).len();
        // A name in quotes ends with its quote.
        let end = if text.ends_with('"') { text.len() } else { end };
        text[..end].to_owned()
    }
}
