//! Full-text search over session files.
//!
//! A line is searched as bytes first, and parsed only if it may contain every word.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use memchr::memmem::Finder;
use zot_conversation::{ContentBlock, Message, Role};

use crate::line::{self, Line};
use crate::reader::for_each_line;

/// How many characters are shown on each side of a match.
const CONTEXT: usize = 48;

/// A message that contains all the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub path: PathBuf,
    /// Counted from 1 among the messages of the file.
    pub message: usize,
    pub role: Role,
    /// The words around the first one found, on one line.
    pub excerpt: String,
}

/// Finds the messages of `files` in which all words of `query` occur, in any case and anywhere.
///
/// Files that cannot be read have no hits. Hits come in the order of `files`.
pub fn search(files: &[PathBuf], query: &str) -> Vec<Hit> {
    let words = Words::new(query);
    if words.all.is_empty() {
        return Vec::new();
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    let work = || {
        let mut own = Vec::new();
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = files.get(position) else {
                break;
            };
            let hits = search_file(path, &words);
            if !hits.is_empty() {
                own.push((position, hits));
            }
        }
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        found.extend(own);
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(files.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(position, _)| *position);
    found.into_iter().flat_map(|(_, hits)| hits).collect()
}

/// The words of a query.
struct Words {
    /// In lower case.
    all: Vec<String>,
    /// For each word its longest part that JSON never escapes.
    certain: Vec<Finder<'static>>,
}

impl Words {
    fn new(query: &str) -> Self {
        let all: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let certain = all
            .iter()
            .filter_map(|word| {
                word.split(|letter: char| !letter.is_ascii_alphanumeric())
                    .max_by_key(|part| part.len())
                    .filter(|part| !part.is_empty())
            })
            .map(|part| Finder::new(part).into_owned())
            .collect();
        Self { all, certain }
    }

    /// Returns whether a line in lower case may contain all words.
    fn may_be_in(&self, line: &[u8]) -> bool {
        self.certain.iter().all(|part| part.find(line).is_some())
    }

    /// Returns the position of the first word in a lower-case text that contains all words.
    fn position_in(&self, text: &str) -> Option<usize> {
        let mut positions = self.all.iter().map(|word| text.find(word.as_str()));
        let first = positions.next()??;
        positions.try_fold(first, |first, position| Some(first.min(position?)))
    }
}

fn search_file(path: &Path, words: &Words) -> Vec<Hit> {
    let mut hits = Vec::new();
    let mut number = 0;
    let mut lowered = Vec::new();
    let Ok(file) = zot_files::open_existing(path) else {
        return hits;
    };
    // A file that becomes unreadable is searched up to that point.
    let _ = for_each_line(&file, |raw| {
        if !raw.bytes.starts_with(br#"{"type":"message""#) {
            return;
        }
        number += 1;
        lowered.clear();
        lowered.extend_from_slice(raw.bytes);
        lowered.make_ascii_lowercase();
        if !words.may_be_in(&lowered) {
            return;
        }
        // A mirror repeats tool results, which have been searched already.
        if let Ok(Line::Message(message)) = line::parse(raw.bytes)
            && !message.value.is_image_mirror()
            && let Some(excerpt) = excerpt(&searchable(&message.value), words)
        {
            hits.push(Hit {
                path: path.to_owned(),
                message: number,
                role: message.value.role,
                excerpt,
            });
        }
    });
    hits
}

/// Returns the text of a message, including its tool calls and results.
fn searchable(message: &Message) -> String {
    fn add(block: &ContentBlock, text: &mut String) {
        match block {
            ContentBlock::Text(part) => text.push_str(part),
            ContentBlock::Reasoning(reasoning) => text.push_str(&reasoning.text),
            ContentBlock::ToolCall(call) => {
                text.push_str(&call.name);
                text.push(' ');
                text.push_str(call.arguments.json_or_empty());
            }
            ContentBlock::ToolResult(result) => {
                result.content.iter().for_each(|block| add(block, text));
            }
            ContentBlock::Image(_) => {}
        }
        text.push('\n');
    }
    let mut text = String::new();
    message
        .content
        .iter()
        .for_each(|block| add(block, &mut text));
    text
}

fn excerpt(text: &str, words: &Words) -> Option<String> {
    let lowered = text.to_lowercase();
    let position = words.position_in(&lowered)?;
    // Lower case can have another length in bytes, so positions are counted in characters.
    let before = lowered.get(..position)?.chars().count();
    let start = before.saturating_sub(CONTEXT);
    let mut shown: String = text
        .chars()
        .skip(start)
        .take(before - start + 2 * CONTEXT)
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    if start > 0 {
        shown.insert(0, '…');
    }
    Some(shown)
}
