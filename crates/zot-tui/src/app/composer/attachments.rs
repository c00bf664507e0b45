//! The files that the prompt in the editor mentions.

use zot_sdk::context::{Part, mentions};

use crate::app::{Effect, Query};
use crate::editor::Editor;

#[derive(Debug, Default)]
pub(super) struct Attachments {
    /// The names that were queried last.
    names: Vec<String>,
    /// What would be attached, and what would not.
    pub(super) parts: Vec<Part>,
}

impl Attachments {
    /// Queries the mentioned files when the mentions have changed.
    pub(super) fn inspect(&mut self, editor: &Editor) -> Option<Effect> {
        let text = mentioning_text(editor);
        let names: Vec<String> = mentions(&text)
            .into_iter()
            .filter_map(|mention| mention.candidates.first().map(|name| (*name).to_owned()))
            .collect();
        if names == self.names {
            return None;
        }
        self.names = names;
        if self.names.is_empty() {
            self.parts.clear();
            return None;
        }
        Some(Effect::Query(Query::Mentions {
            text,
            names: self.names.clone(),
        }))
    }

    /// Sets the parts, unless other files are mentioned by now.
    pub(super) fn set_parts(&mut self, names: &[String], parts: Vec<Part>) {
        if names == self.names {
            self.parts = parts;
        }
    }
}

/// Returns the text that can mention files, without the word that is still being typed.
fn mentioning_text(editor: &Editor) -> String {
    let text = editor.text();
    let is_prompt = editor.begins_pasted() || !text.starts_with(['!', '/']);
    if !is_prompt || !text.contains('@') {
        return String::new();
    }
    let text = editor.draft().without_chips();
    let end = text.trim_end_matches(|c: char| !c.is_whitespace()).len();
    // A name in quotes ends with its quote.
    let end = if text.ends_with('"') { text.len() } else { end };
    text[..end].to_owned()
}
