//! Captured sessions, read from their files.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

use crate::repository::{files, has_extension};

/// Where the captures of `zot rpc` are, below the root.
pub(super) const DIRECTORY: &str = "crates/zot-cli/tests/fixtures";

/// The frames of one captured session, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Capture {
    pub name: String,
    pub frames: Vec<(Direction, Value)>,
}

/// Which way a frame went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Sent,
    Received,
}

/// All captures: those of the original, and what ours does where it deviates on purpose.
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
        // One capture shows bytes that were sent and are not UTF-8.
        let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        captures.push(Capture::parse(name, &text));
    }
    Ok(captures)
}

/// Whether a capture shows the other protocol, that of extensions.
fn is_of_an_extension(name: &str) -> bool {
    name.strip_suffix(".ours").unwrap_or(name).ends_with(".ext")
}

impl Capture {
    /// Reads `> ` and `< ` lines that hold an object; what else there is (remarks, the output of
    /// print mode, lines sent to be refused) is no frame.
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
