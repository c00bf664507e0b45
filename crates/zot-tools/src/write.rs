//! The `write` tool: makes or replaces a whole file.

use std::sync::Arc;

use zot_conversation::{BoxFuture, Tool, ToolDefinition, ToolEffect, ToolInvocation, ToolOutput};

use crate::PathResolver;
use crate::arguments::{ArgumentError, Fields};
use crate::builtin::definition;
use crate::file::{self, FileError};
use crate::limits::clip;
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
}

impl WriteTool {
    pub fn new(paths: Arc<PathResolver>) -> Self {
        Self {
            definition: definition("write", DESCRIPTION, PARAMETERS, ToolEffect::Changes),
            paths,
        }
    }

    fn write(&self, invocation: ToolInvocation<'_>) -> Result<String, WriteError> {
        let mut fields = Fields::parse(invocation.arguments)?;
        let requested = fields.take_string("path")?.unwrap_or_default();
        // Programs in use rely on a missing content making an empty file.
        let content = fields.take_string("content")?.unwrap_or_default();
        let path = self.paths.resolve(&requested)?;
        file::replace(&path, content.as_bytes())?;
        Ok(content)
    }
}

impl Tool for WriteTool {
    fn definition(&self) -> &Arc<ToolDefinition> {
        &self.definition
    }

    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match self.write(invocation) {
                Ok(content) => ToolOutput::text(clip(to_text(content.as_bytes()))),
                Err(error) => ToolOutput::error(error.to_string()),
            }
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
}

#[cfg(test)]
mod tests;
