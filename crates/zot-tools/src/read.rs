//! The `read` tool: a window of a text file, or an image.

mod window;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use zot_conversation::{
    BoxFuture, ContentBlock, Image, Tool, ToolDefinition, ToolEffect, ToolInvocation, ToolOutput,
};
use zot_process::sandbox::Access;

use crate::PathResolver;
use crate::arguments::{ArgumentError, Fields};
use crate::builtin::definition;
use crate::file::{FileError, open_regular};
use crate::path::PathError;
use window::{LineWindow, Progress};

/// How much of a file is examined to distinguish text from binary.
///
/// Limit: a NUL beyond them does not make a file binary.
const SNIFF_BYTES: usize = 8 * 1024;

/// How much is read at once. Small files need a single read.
const CHUNK_BYTES: usize = 64 * 1024;

/// How much is read before other tasks get their turn; the skipped part of a file has no limit.
///
/// Limit: `read` lets other work run.
const READ_BYTES_PER_TURN: usize = 1024 * 1024;

/// The largest image sent to a model.
///
/// Limit: the image is refused.
const MAX_READ_IMAGE_BYTES: u64 = 20 * 1024 * 1024;

const DESCRIPTION: &str = "Read a file. Text comes back as it is, at most 2000 lines or 50 KiB \
per call; pass offset and limit to see another part of a longer file. PNG, JPEG, GIF and WebP \
files come back as images. Other binary files and directories are refused.";

const PARAMETERS: &str = concat!(
    r#"{"type":"object","properties":{"#,
    r#""path":{"type":"string","description":"File to read, absolute or relative to the working directory"},"#,
    r#""offset":{"type":"integer","description":"First line to show, counted from 1"},"#,
    r#""limit":{"type":"integer","description":"How many lines to show"}"#,
    r#"},"required":["path"]}"#
);

/// Shows files to the model.
pub struct ReadTool {
    definition: Arc<ToolDefinition>,
    paths: Arc<PathResolver>,
}

impl ReadTool {
    pub fn new(paths: Arc<PathResolver>) -> Self {
        Self {
            definition: definition("read", DESCRIPTION, PARAMETERS, ToolEffect::ReadOnly),
            paths,
        }
    }

    async fn read(&self, invocation: ToolInvocation<'_>) -> Result<ToolOutput, ReadError> {
        let mut fields = Fields::parse(invocation.arguments)?;
        let requested = fields.take_string("path")?.unwrap_or_default();
        let offset = fields.take_integer("offset")?;
        let limit = fields.take_integer("limit")?;
        let location = self.paths.locate(&requested, Access::Read)?;
        let path = location.shown();
        let (mut file, metadata) = open_regular(&location)?;

        let mut chunk = Vec::new();
        read_chunk(&mut file, path, &mut chunk)?;
        if let Some(mime_type) = Image::mime_type_of(&chunk) {
            return read_image(file, path, mime_type, chunk, metadata.len());
        }
        if memchr::memchr(0, &chunk[..chunk.len().min(SNIFF_BYTES)]).is_some() {
            return Err(match Image::unsupported_format(&chunk) {
                Some(format) => ReadError::Format {
                    path: requested,
                    format,
                },
                None => ReadError::Binary { path: requested },
            });
        }
        let window = LineWindow::new(offset, limit);
        read_window(file, path, window, chunk, invocation.cancel).await
    }
}

impl Tool for ReadTool {
    fn definition(&self) -> &Arc<ToolDefinition> {
        &self.definition
    }

    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            self.read(invocation)
                .await
                .unwrap_or_else(|error| ToolOutput::error(error.to_string()))
        })
    }
}

#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{path} looks binary; refusing to read as text")]
    Binary { path: String },
    #[error("{path} is a {format} file, which cannot be shown: PNG, JPEG, GIF and WebP can")]
    Format { path: String, format: &'static str },
    #[error("aborted")]
    Aborted,
}

/// Feeds the file to `window` until it is complete.
///
/// Reads block, but each is short: a separate thread would cost more than it saves.
async fn read_window(
    mut file: File,
    path: &Path,
    mut window: LineWindow,
    mut chunk: Vec<u8>,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ReadError> {
    let mut since_yield = 0;
    while !chunk.is_empty() {
        if window.push(&chunk) == Progress::Complete {
            break;
        }
        since_yield += chunk.len();
        if since_yield >= READ_BYTES_PER_TURN {
            since_yield = 0;
            tokio::task::yield_now().await;
        }
        if cancel.is_cancelled() {
            return Err(ReadError::Aborted);
        }
        chunk.clear();
        read_chunk(&mut file, path, &mut chunk)?;
    }
    Ok(ToolOutput::text(window.into_text()))
}

fn read_image(
    file: File,
    path: &Path,
    mime_type: &str,
    mut data: Vec<u8>,
    size: u64,
) -> Result<ToolOutput, ReadError> {
    let too_large = |size| FileError::TooLarge {
        path: path.to_owned(),
        size,
        limit: MAX_READ_IMAGE_BYTES,
        purpose: "images",
    };
    if size > MAX_READ_IMAGE_BYTES {
        return Err(too_large(size).into());
    }
    // The file may grow while it is read.
    file.take(MAX_READ_IMAGE_BYTES + 1 - data.len() as u64)
        .read_to_end(&mut data)
        .map_err(FileError::during("read", path))?;
    if data.len() as u64 > MAX_READ_IMAGE_BYTES {
        return Err(too_large(data.len() as u64).into());
    }
    Ok(ToolOutput {
        is_error: false,
        content: vec![ContentBlock::Image(Image {
            mime_type: mime_type.to_owned(),
            data: data.into(),
        })],
        contacts: Vec::new(),
    })
}

/// Appends up to `CHUNK_BYTES` to `chunk`; nothing at the end of the file.
fn read_chunk(file: &mut File, path: &Path, chunk: &mut Vec<u8>) -> Result<(), FileError> {
    file.take(CHUNK_BYTES as u64)
        .read_to_end(chunk)
        .map(drop)
        .map_err(FileError::during("read", path))
}

#[cfg(test)]
mod tests;
