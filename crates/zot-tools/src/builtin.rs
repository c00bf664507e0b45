//! Assembles the built-in tools.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::value::RawValue;
use zot_conversation::{Tool, ToolDefinition, ToolEffect};

use crate::checkpoint::Checkpoint;
use crate::{BashTool, EditTool, PathResolver, ReadTool, ToolSandbox, WriteTool};

/// The configuration of the built-in tools.
#[derive(Clone)]
pub struct ToolsConfig {
    /// Where relative paths start and commands run. Absolute.
    pub cwd: PathBuf,
    /// Where outputs too long for a result are kept; created when first needed.
    pub output_dir: PathBuf,
    /// The directory for `~`; without it `~` is an ordinary name.
    pub home: Option<PathBuf>,
    /// Stores what `write` and `edit` are about to change.
    pub checkpoint: Option<Arc<dyn Checkpoint>>,
    /// What the tools may do.
    pub sandbox: Arc<ToolSandbox>,
}

impl ToolsConfig {
    /// Creates the configuration for `cwd`, with the user's home directory and rights.
    pub fn new(cwd: impl Into<PathBuf>, output_dir: impl Into<PathBuf>) -> Self {
        let cwd = cwd.into();
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        Self {
            sandbox: Arc::new(ToolSandbox::new(&cwd, home.clone())),
            cwd,
            output_dir: output_dir.into(),
            home,
            checkpoint: None,
        }
    }
}

/// Returns the built-in tools, in the order in which models see them: read, write, edit, bash.
pub fn builtin_tools(config: ToolsConfig) -> Vec<Arc<dyn Tool>> {
    let paths = Arc::new(PathResolver::new(config.cwd, config.home).within(config.sandbox));
    vec![
        Arc::new(ReadTool::new(Arc::clone(&paths))),
        Arc::new(WriteTool::new(
            Arc::clone(&paths),
            config.checkpoint.clone(),
        )),
        Arc::new(EditTool::new(Arc::clone(&paths), config.checkpoint)),
        Arc::new(BashTool::new(paths, config.output_dir)),
    ]
}

/// Builds a definition from constant texts; tests check that every schema is a JSON object.
pub(crate) fn definition(
    name: &str,
    description: &str,
    parameters: &str,
    effect: ToolEffect,
) -> Arc<ToolDefinition> {
    Arc::new(ToolDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: RawValue::from_string(parameters.to_owned())
            .unwrap_or_else(|_| RawValue::NULL.to_owned()),
        effect,
    })
}

#[cfg(test)]
mod tests;
