//! The last prompts of a session, read from the end of its file only.

#[cfg(test)]
mod tests;

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use zot_conversation::Message;

use crate::SessionError;
use crate::line::{self, Line};

/// Returns at most `count` of the last prompts, latest last, from the last `within` bytes of the
/// file.
pub fn last_prompts(path: &Path, within: u64, count: usize) -> Result<Vec<String>, SessionError> {
    let mut file = zot_files::open_existing(path).map_err(SessionError::open(path))?;
    let length = file.metadata().map_err(SessionError::read(path))?.len();
    let start = length.saturating_sub(within);
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(start))
        .and_then(|_| file.take(within).read_to_end(&mut end))
        .map_err(SessionError::read(path))?;
    let mut lines = end.split(|byte| *byte == b'\n');
    if start > 0 {
        // The rest of a line that begins earlier.
        lines.next();
    }
    let mut prompts = Vec::new();
    for line in lines {
        match line::parse(line) {
            Ok(Line::Message(message)) => prompts.extend(prompt(&message.value)),
            // The messages that a compaction keeps were read before, and cleared prompts count as
            // well.
            Ok(Line::Replaced(messages)) if prompts.is_empty() => {
                prompts = messages.iter().filter_map(|m| prompt(&m.value)).collect();
            }
            _ => {}
        }
    }
    let surplus = prompts.len().saturating_sub(count);
    Ok(prompts.split_off(surplus))
}

fn prompt(message: &Message) -> Option<String> {
    message.is_prompt().then(|| message.text())
}
