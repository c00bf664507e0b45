//! Captured sessions, read from their files.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

use crate::repository::{files, has_extension};

/// The directory of the captures of `zot rpc`, relative to the root.
pub(super) const DIRECTORY: &str = "crates/zot-cli/tests/fixtures";

/// The frames of one captured session, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Capture {
    pub name: String,
    pub frames: Vec<(Direction, Value)>,
}

/// The direction of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Sent,
    Received,
}

/// Returns all captures: those of the original, and ours where we deviate on purpose.
pub fn read_captures(root: &Path) -> io::Result<Vec<Capture>> {
    let mut captures = Vec::new();
    for path in files(&root.join(DIRECTORY), |path| {
        has_extension(path, &["jsonl"])
    })? {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if is_of_an_extension(&name) {
            continue;
        }
        // One capture contains sent bytes that are not UTF-8.
        let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        captures.push(Capture::parse(name, &text));
    }
    Ok(captures)
}

/// Returns whether a capture is of the protocol of extensions.
fn is_of_an_extension(name: &str) -> bool {
    name.strip_suffix(".ours").unwrap_or(name).ends_with(".ext")
}

impl Capture {
    /// Reads the `> ` and `< ` lines that contain an object. Other lines (remarks, the output of print
    /// mode, lines sent to be refused) are not frames.
    pub(super) fn parse(name: String, text: &str) -> Self {
        // Not `lines()`: U+2028 and a lone CR are part of a line.
        let frames = text.split('\n').filter_map(|line| {
            let (direction, body) = match line.split_at_checked(2)? {
                ("> ", body) => (Direction::Sent, body),
                ("< ", body) => (Direction::Received, body),
                _ => return None,
            };
            let frame: Value = serde_json::from_str(body).ok()?;
            frame.is_object().then_some((direction, frame))
        });
        let frames = frames.collect();
        Self { name, frames }
    }
}
