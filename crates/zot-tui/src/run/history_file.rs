//! Prompts of earlier times: one JSON string a line, the newest last.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::app::MAX_HISTORY;

/// Longer prompts are not worth a line.
const MAX_PROMPT_BYTES: usize = 16 * 1024;
/// A file of more than this is cut to what is kept.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// What is remembered; a file that is missing or broken is none or in part.
pub(super) fn read(path: &Path) -> Vec<String> {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut entries: Vec<String> = text
        .lines()
        .rev()
        .filter_map(|line| serde_json::from_str(line).ok())
        .take(MAX_HISTORY)
        .collect();
    entries.reverse();
    entries
}

/// Adds a prompt. One write, so that two chats do not mix their lines.
pub(super) fn append(path: &Path, prompt: &str) -> io::Result<()> {
    if prompt.len() > MAX_PROMPT_BYTES {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    if fs::metadata(path).is_ok_and(|file| file.len() > MAX_FILE_BYTES) {
        let kept: Vec<String> = read(path);
        let lines: Result<Vec<String>, _> = kept.iter().map(serde_json::to_string).collect();
        fs::write(path, lines?.join("\n") + "\n")?;
    }
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)?;
    let line = format!("{}\n", serde_json::to_string(prompt)?);
    file.write_all(line.as_bytes())
}
