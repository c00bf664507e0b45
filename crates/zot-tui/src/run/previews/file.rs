//! The beginning of a file or directory.

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::Path;

use crate::app::{Preview, PreviewBody};
use crate::run::bounded::{self, Opened};

/// How much of a file is shown: more than fits on any screen.
///
/// Limit: the preview shows only the beginning of a file.
const MAX_FILE_PREVIEW_BYTES: u64 = 8 * 1024;
/// Limit: the preview shows only some names of a directory.
const MAX_PREVIEW_ENTRIES: usize = 200;

/// Previews the file or directory `name` below `root`.
pub(super) fn preview(root: &Path, name: &str) -> Preview {
    let path = root.join(name);
    let preview = match bounded::open(&path) {
        Ok(Opened::Regular { file, bytes }) => bounded::beginning(file, MAX_FILE_PREVIEW_BYTES)
            .map(|start| file_preview(&path, &start, bytes)),
        Ok(Opened::Directory) => directory_preview(&path),
        Ok(Opened::Special(kind)) => Ok(fact(format!("{kind}, not read"))),
        Err(error) => Err(error),
    };
    preview.unwrap_or_else(|error| fact(format!("cannot be read: {error}")))
}

fn fact(fact: String) -> Preview {
    Preview {
        facts: vec![fact],
        body: PreviewBody::Nothing,
    }
}

fn file_preview(path: &Path, start: &[u8], bytes: u64) -> Preview {
    if bytes == 0 && start.is_empty() {
        return fact("empty".to_owned());
    }
    let size = size(bytes);
    let Some(text) = as_text(start) else {
        return fact(format!("binary · {size}"));
    };
    let name = path.extension().or(path.file_name());
    let language = name.unwrap_or_default().to_string_lossy().to_lowercase();
    Preview {
        facts: vec![size],
        body: PreviewBody::Code {
            language,
            text: text.to_owned(),
        },
    }
}

/// Returns the bytes as text, unless they contain NUL or are not UTF-8 up to where they were cut.
fn as_text(start: &[u8]) -> Option<&str> {
    if start.contains(&0) {
        return None;
    }
    match str::from_utf8(start) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => {
            str::from_utf8(&start[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}

fn directory_preview(path: &Path) -> io::Result<Preview> {
    let entries = fs::read_dir(path)?.take(MAX_PREVIEW_ENTRIES).flatten();
    let mut names: Vec<String> = entries
        .map(|entry| {
            let slash = match entry.file_type() {
                Ok(kind) if kind.is_dir() => "/",
                _ => "",
            };
            format!("{}{slash}", entry.file_name().to_string_lossy())
        })
        .collect();
    names.sort_unstable();
    Ok(Preview {
        facts: vec![match names.len() {
            0 => "an empty directory".to_owned(),
            _ => "a directory".to_owned(),
        }],
        body: PreviewBody::Prose(names.join("\n")),
    })
}

fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1_000 {
        return format!("{bytes} bytes");
    }
    let mut size = bytes as f64 / 1_000.0;
    let mut unit = 0;
    while size >= 1_000.0 && unit + 1 < UNITS.len() {
        size /= 1_000.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}
