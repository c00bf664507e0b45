//! The `edit` tool: exact replacements in one file, all or nothing.

pub(crate) mod diff;
mod hint;
mod replacement;
mod text;

use std::io::Read;
use std::sync::Arc;

use serde_json::value::RawValue;

use zot_conversation::{BoxFuture, Tool, ToolDefinition, ToolEffect, ToolInvocation, ToolOutput};
use zot_process::sandbox::Access;

use crate::PathResolver;
use crate::arguments::{ArgumentError, Fields};
use crate::builtin::definition;
use crate::checkpoint::{Checkpoint, NotKept, keep};
use crate::file::{self, FileError, Location};
use crate::limits::{add_line, clip};
use crate::path::PathError;
use replacement::{EditError, Replacement, apply};

/// The largest file that is edited: the whole text is held in memory.
///
/// Limit: the file is refused.
const MAX_EDIT_BYTES: u64 = 64 * 1024 * 1024;

const DESCRIPTION: &str = "Change parts of a file by exact replacement. Each oldText must occur \
exactly once in the file as it is now, white space included: copy it from read and add \
surrounding lines until it is unique. All edits of a call apply to the same original text and \
must not overlap; if one fails, the file is left as it was. Answers with a diff.";

const PARAMETERS: &str = concat!(
    r#"{"type":"object","properties":{"#,
    r#""path":{"type":"string","description":"File to change, absolute or relative to the working directory"},"#,
    r#""edits":{"type":"array","description":"Replacements to make","items":{"type":"object","properties":{"#,
    r#""oldText":{"type":"string","description":"Text to replace; must occur exactly once"},"#,
    r#""newText":{"type":"string","description":"Text to put in its place"}"#,
    r#"},"required":["oldText","newText"]}}"#,
    r#"},"required":["path","edits"]}"#
);

/// Changes files for the model.
pub struct EditTool {
    definition: Arc<ToolDefinition>,
    paths: Arc<PathResolver>,
    checkpoint: Option<Arc<dyn Checkpoint>>,
}

impl EditTool {
    pub fn new(paths: Arc<PathResolver>, checkpoint: Option<Arc<dyn Checkpoint>>) -> Self {
        Self {
            definition: definition("edit", DESCRIPTION, PARAMETERS, ToolEffect::Changes),
            paths,
            checkpoint,
        }
    }

    fn edit(&self, arguments: &RawValue) -> Result<String, EditToolError> {
        let change = self.plan(arguments)?;
        let announced = keep(
            self.checkpoint.as_deref(),
            "edit",
            &change.location,
            Some(&change.original),
            &change.edited,
        )?;
        file::replace(&change.location, &change.edited)?;
        if let Some(announced) = announced {
            announced.made();
        }
        let mut result = clip(change.diff());
        add_line(&mut result, change.location.fate());
        Ok(result)
    }

    /// Computes what the edits would do, without changing anything.
    fn plan(&self, arguments: &RawValue) -> Result<Change, EditToolError> {
        let mut fields = Fields::parse(arguments)?;
        let requested = fields.take_string("path")?.unwrap_or_default();
        let replacements = parse_edits(&mut fields)?;
        let location = self.paths.locate(&requested, Access::Write)?;
        if replacements.is_empty() {
            return Err(EditToolError::NoEdits);
        }
        let original = read_whole(&location)?;
        let edited = apply(&requested, &original, &replacements)?;
        Ok(Change {
            location,
            original,
            edited,
        })
    }
}

/// A file before and after.
struct Change {
    location: Location,
    original: Vec<u8>,
    edited: Vec<u8>,
}

impl Change {
    fn diff(&self) -> String {
        diff::unified(&self.original, &self.edited)
    }
}

impl Tool for EditTool {
    fn definition(&self) -> &Arc<ToolDefinition> {
        &self.definition
    }

    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match self.edit(invocation.arguments) {
                Ok(result) => ToolOutput::text(result),
                Err(error) => ToolOutput::error(error.to_string()),
            }
        })
    }

    fn preview(&self, arguments: &RawValue) -> Option<String> {
        Some(clip(self.plan(arguments).ok()?.diff()))
    }
}

#[derive(Debug, thiserror::Error)]
enum EditToolError {
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    NotKept(#[from] NotKept),
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error("at least one edit is required")]
    NoEdits,
    #[error("edit {number}: newText is required; give \"\" to delete oldText")]
    NewTextMissing { number: usize },
}

fn parse_edits(fields: &mut Fields<'_>) -> Result<Vec<Replacement>, EditToolError> {
    let elements = fields.take_array("edits")?.unwrap_or_default();
    let mut replacements = Vec::with_capacity(elements.len());
    for (index, element) in elements.into_iter().enumerate() {
        let number = index + 1;
        let mut edit = Fields::from_element(&format!("edit {number}"), element)?;
        let in_edit = |error| match error {
            ArgumentError::WrongType {
                field,
                expected,
                got,
            } => ArgumentError::WrongType {
                field: format!("edit {number}: {field}"),
                expected,
                got,
            },
            other => other,
        };
        let old = edit.take_string("oldText").map_err(in_edit)?;
        let new = edit.take_string("newText").map_err(in_edit)?;
        replacements.push(Replacement {
            old: old.unwrap_or_default(),
            new: new.ok_or(EditToolError::NewTextMissing { number })?,
        });
    }
    Ok(replacements)
}

pub(crate) fn read_whole(location: &Location) -> Result<Vec<u8>, FileError> {
    let path = location.shown();
    let (file, metadata) = match file::open_regular(location) {
        Ok(opened) => opened,
        // Existing programs expect other words from this tool than from `read`.
        Err(FileError::System { source, .. }) => {
            return Err(FileError::during("open", path)(source));
        }
        Err(FileError::Directory { .. }) => {
            return Err(FileError::during("read", path)(
                rustix::io::Errno::ISDIR.into(),
            ));
        }
        Err(other) => return Err(other),
    };
    let too_large = |size| FileError::TooLarge {
        path: path.to_owned(),
        size,
        limit: MAX_EDIT_BYTES,
        purpose: "editing",
    };
    if metadata.len() > MAX_EDIT_BYTES {
        return Err(too_large(metadata.len()));
    }
    let mut content = Vec::with_capacity(metadata.len() as usize + 1);
    // The file may grow while it is read.
    file.take(MAX_EDIT_BYTES + 1)
        .read_to_end(&mut content)
        .map_err(FileError::during("read", path))?;
    if content.len() as u64 > MAX_EDIT_BYTES {
        return Err(too_large(content.len() as u64));
    }
    Ok(content)
}

#[cfg(test)]
mod tests;
