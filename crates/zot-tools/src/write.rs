//! The `write` tool: creates or replaces a whole file.

use std::sync::Arc;

use serde_json::value::RawValue;

use zot_conversation::{BoxFuture, Tool, ToolDefinition, ToolEffect, ToolInvocation, ToolOutput};
use zot_process::sandbox::Access;

use crate::PathResolver;
use crate::arguments::{ArgumentError, Fields};
use crate::builtin::definition;
use crate::checkpoint::{Checkpoint, NotKept, keep};
use crate::edit::{diff, read_whole};
use crate::file::{self, FileError, Location};
use crate::limits::{add_line, clip};
use crate::path::PathError;
use crate::utf8::to_text;

const DESCRIPTION: &str = "Write a whole file: makes it, with missing directories, or replaces \
everything in it. To change part of a file, use edit.";

const PARAMETERS: &str = concat!(
    r#"{"type":"object","properties":{"#,
    r#""path":{"type":"string","description":"File to write, absolute or relative to the working directory"},"#,
    r#""content":{"type":"string","description":"The complete new content"}"#,
    r#"},"required":["path","content"]}"#
);

/// Writes files for the model.
pub struct WriteTool {
    definition: Arc<ToolDefinition>,
    paths: Arc<PathResolver>,
    checkpoint: Option<Arc<dyn Checkpoint>>,
}

impl WriteTool {
    pub fn new(paths: Arc<PathResolver>, checkpoint: Option<Arc<dyn Checkpoint>>) -> Self {
        Self {
            definition: definition("write", DESCRIPTION, PARAMETERS, ToolEffect::Changes),
            paths,
            checkpoint,
        }
    }

    fn write(&self, arguments: &RawValue) -> Result<String, WriteError> {
        let (location, content) = self.plan(arguments)?;
        let announced = keep(
            self.checkpoint.as_deref(),
            "write",
            &location,
            None,
            content.as_bytes(),
        )?;
        file::replace(&location, content.as_bytes())?;
        if let Some(announced) = announced {
            announced.made();
        }
        let mut result = clip(to_text(content.as_bytes()));
        add_line(&mut result, location.fate());
        Ok(result)
    }

    fn plan(&self, arguments: &RawValue) -> Result<(Location, String), WriteError> {
        let mut fields = Fields::parse(arguments)?;
        let requested = fields.take_string("path")?.unwrap_or_default();
        // Existing programs rely on a missing content creating an empty file.
        let content = fields.take_string("content")?.unwrap_or_default();
        Ok((self.paths.locate(&requested, Access::Write)?, content))
    }
}

impl Tool for WriteTool {
    fn definition(&self) -> &Arc<ToolDefinition> {
        &self.definition
    }

    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match self.write(invocation.arguments) {
                Ok(result) => ToolOutput::text(result),
                Err(error) => ToolOutput::error(error.to_string()),
            }
        })
    }

    /// Returns the diff to the current content, or the whole of a new file.
    fn preview(&self, arguments: &RawValue) -> Option<String> {
        let (location, content) = self.plan(arguments).ok()?;
        Some(match read_whole(&location) {
            Ok(original) => clip(diff::unified(&original, content.as_bytes())),
            Err(_) => clip(to_text(content.as_bytes())),
        })
    }
}

#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    NotKept(#[from] NotKept),
}

#[cfg(test)]
mod tests;
