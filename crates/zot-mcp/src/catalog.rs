//! What a server lists: tools, prompts, resources.

mod entries;
mod fetch;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::Instant;
use zot_conversation::{ToolDefinition, ToolEffect};

use crate::connection::LegacyTask;
use crate::status::{PromptInfo, ResourceInfo, ResourceTemplate};
use crate::transport::http::HeaderParameters;

pub(crate) use fetch::{fetch_prompts, fetch_resources, fetch_tools};

/// The most that a description or the instructions of a server take in a prompt.
///
/// Limit: the text is cut, with a note.
pub(crate) const MAX_MCP_TEXT_BYTES: usize = 2 * 1024;

/// The lists of a server. Never changed: a new list is a new catalog.
#[derive(Debug, Clone, Default)]
pub(crate) struct Catalog {
    pub(crate) tools: Arc<Listed<ListedTool>>,
    pub(crate) prompts: Arc<Listed<PromptInfo>>,
    pub(crate) resources: Arc<Listed<ResourceInfo>>,
    pub(crate) templates: Arc<Listed<ResourceTemplate>>,
}

/// One list.
#[derive(Debug)]
pub(crate) struct Listed<T> {
    pub(crate) items: Vec<T>,
    /// What was left out, and why.
    pub(crate) notes: Vec<String>,
    /// Until when the server considers it current; without a limit if it does not say.
    pub(crate) fresh_until: Option<Instant>,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            notes: Vec::new(),
            fresh_until: None,
        }
    }
}

impl<T> Listed<T> {
    pub(crate) fn is_stale(&self, now: Instant) -> bool {
        self.fresh_until.is_some_and(|until| until <= now)
    }

    fn set_life(&mut self, milliseconds: f64) {
        let life = Duration::try_from_secs_f64(milliseconds / 1000.0).unwrap_or(MAX_LIST_LIFE);
        self.fresh_until = Some(Instant::now() + life.min(MAX_LIST_LIFE));
    }
}

/// How long a list may be used, whatever the server says.
///
/// Limit: the list is fetched again when it is next used.
const MAX_LIST_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

impl Catalog {
    pub(crate) fn notes(&self) -> Vec<String> {
        let lists = [
            &self.tools.notes,
            &self.prompts.notes,
            &self.resources.notes,
            &self.templates.notes,
        ];
        lists.into_iter().flatten().cloned().collect()
    }
}

/// A tool as the server describes it.
#[derive(Debug, Clone)]
pub(crate) struct ListedTool {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    /// Cut to the limit.
    pub(crate) description: String,
    /// A JSON Schema object.
    pub(crate) schema: Box<RawValue>,
    pub(crate) effect: ToolEffect,
    pub(crate) legacy_task: LegacyTask,
    /// The arguments that HTTP repeats in headers.
    pub(crate) headers: HeaderParameters,
}

impl PartialEq for ListedTool {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.title == other.title
            && self.description == other.description
            && self.schema.get() == other.schema.get()
            && self.effect == other.effect
            && self.legacy_task == other.legacy_task
    }
}

impl ListedTool {
    /// Returns its declaration to the model, called `name`.
    pub(crate) fn definition(&self, name: String) -> ToolDefinition {
        ToolDefinition {
            name,
            description: self.description.clone(),
            parameters: self.schema.clone(),
            effect: self.effect,
        }
    }
}

/// Returns the beginning of a text that is longer than `limit` bytes.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    text[..text.floor_char_boundary(limit)].to_owned()
}

/// Returns a text for the model, cut with a note if it is too long.
pub(crate) fn cut_with_note(text: &str) -> String {
    let text = text.trim();
    if text.len() <= MAX_MCP_TEXT_BYTES {
        return text.to_owned();
    }
    let note = format!(" [cut: {} bytes in all]", text.len());
    let kept = text.floor_char_boundary(MAX_MCP_TEXT_BYTES - note.len());
    format!("{}{note}", &text[..kept])
}
