//! Data about extensions in responses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::extension::PanelSpec;

/// `get_commands`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandsData {
    pub commands: Vec<CommandEntry>,
}

/// A slash command of an extension, or a prompt template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandEntry {
    /// Without the slash.
    pub name: String,
    pub description: String,
    /// Empty for a template.
    pub extension: String,
    /// `template` for a template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// `invoke_command`: the action the extension requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InvokedData {
    /// Empty for a template.
    pub extension: String,
    /// `template` for a template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// `prompt`, `insert`, `display`, `open_panel` or `noop`.
    pub action: String,
    /// The prompt that runs now; its events follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Text for the editor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insert: Option<String>,
    /// A note to show; also sent as an `ext_display` event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<String>,
    /// The panel to open; `ext_panel` events redraw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_panel: Option<PanelSpec>,
    /// Shown whatever the action is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// `reload_ext`: the running extensions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExtensionsData {
    pub extensions: Vec<ExtensionEntry>,
}

/// An extension of the running agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExtensionEntry {
    pub name: String,
    pub version: String,
    /// `starting`, `ready`, `restarting`, `failed` or `stopped`.
    pub state: String,
    /// Why it is not ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// `--ext`, `project` or `global`.
    pub source: String,
    pub directory: String,
    pub commands: Vec<String>,
    pub tools: Vec<String>,
}
