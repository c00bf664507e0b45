//! What a server lists: tools, prompts, resources.

use serde_json::value::RawValue;
use zot_conversation::{ToolDefinition, ToolEffect};

use crate::status::{PromptInfo, ResourceInfo, ResourceTemplate};

/// The lists of a server. Never changed: a new list is a new catalog.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    pub(crate) tools: Vec<ListedTool>,
    pub(crate) prompts: Vec<PromptInfo>,
    pub(crate) resources: Vec<ResourceInfo>,
    pub(crate) templates: Vec<ResourceTemplate>,
    /// What was left out, and why.
    pub(crate) notes: Vec<String>,
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
