//! Files dropped on the terminal, which arrive as a paste of their paths.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

const IMAGE_EXTENSIONS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// Nobody drops more files at once.
///
/// Limit: a longer drop is treated as text.
const MAX_DROPPED_PATHS: usize = 64;
/// Limit: a longer drop is treated as text.
const MAX_DROPPED_BYTES: usize = 16 * 1024;

/// Returns mentions of the dropped files, if `pasted` consists of their paths.
///
/// Dropped files have absolute paths. Relative paths count as dropped only if they name images.
pub(super) fn mentions(pasted: &str, cwd: &Path, home: Option<&Path>) -> Option<String> {
    let pasted = pasted.trim();
    if pasted.is_empty() || pasted.len() > MAX_DROPPED_BYTES {
        return None;
    }
    // A path with spaces may be unquoted.
    let whole = mention(&PathBuf::from(pasted), cwd);
    if whole.is_some() {
        return whole;
    }
    let words = words(pasted)?;
    if words.len() > MAX_DROPPED_PATHS {
        return None;
    }
    let paths = words.into_iter().map(|word| path(word, home));
    paths.map(|path| mention(&path, cwd)).collect()
}

fn mention(path: &Path, cwd: &Path) -> Option<String> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let extension = extension.unwrap_or("").to_lowercase();
    if !path.is_absolute() && !IMAGE_EXTENSIONS.contains(&extension.as_str()) {
        return None;
    }
    let path = cwd.join(path);
    // The root has no name and is never meant.
    if path.file_name().is_none() || !path.exists() {
        return None;
    }
    let shown = path.strip_prefix(cwd).unwrap_or(&path).to_str()?;
    match shown {
        "" => None,
        shown if shown.contains(['"', '\n']) => None,
        shown if shown.contains(char::is_whitespace) => Some(format!("@\"{shown}\" ")),
        shown => Some(format!("@{shown} ")),
    }
}

fn path(word: String, home: Option<&Path>) -> PathBuf {
    if let Some(path) = word.strip_prefix("file://") {
        let path = path.strip_prefix("localhost").unwrap_or(path);
        return PathBuf::from(decoded(path));
    }
    match (word.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => PathBuf::from(word),
    }
}

/// Splits words as a shell does, because terminals quote paths: `'a b.png'`, `a\ b.png`. Returns
/// `None` if a quote is not closed.
fn words(pasted: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = pasted.chars();
    while let Some(character) = characters.next() {
        match character {
            character if character.is_whitespace() => words.extend(word.take()),
            '\\' => word.get_or_insert_default().push(characters.next()?),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next()? {
                        next if next == character => break,
                        '\\' if character == '"' => word.push(characters.next()?),
                        next => word.push(next),
                    }
                }
            }
            character => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    Some(words)
}

/// Decodes `%20` and the like.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, following)) = rest.split_first() {
        let code = (first == b'%').then(|| following.get(..2)).flatten();
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &following[2..];
            }
            None => {
                bytes.push(first);
                rest = following;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
