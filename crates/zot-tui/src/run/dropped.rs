//! A picture that was dropped on the terminal: it comes as the paste of a path.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

const ENDINGS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// The mention of a picture, if `pasted` is the path of one and nothing else.
pub(super) fn mention(pasted: &str, cwd: &Path, home: Option<&Path>) -> Option<String> {
    let pasted = pasted.trim();
    if pasted.is_empty() || pasted.contains('\n') {
        return None;
    }
    let path = plain_path(pasted, home);
    let ending = path.extension()?.to_str()?.to_lowercase();
    if !ENDINGS.contains(&ending.as_str()) {
        return None;
    }
    let path = cwd.join(path);
    if !path.is_file() {
        return None;
    }
    let shown = path.strip_prefix(cwd).unwrap_or(&path).to_str()?;
    Some(match shown.contains(char::is_whitespace) {
        true => format!("@\"{shown}\" "),
        false => format!("@{shown} "),
    })
}

/// Terminals quote what shells would break: `'a b.png'`, `a\ b.png`, `file:///a%20b.png`.
fn plain_path(pasted: &str, home: Option<&Path>) -> PathBuf {
    if let Some(path) = pasted.strip_prefix("file://") {
        return PathBuf::from(decoded(path.trim_start_matches("localhost")));
    }
    for quote in ['\'', '"'] {
        let inner = pasted.strip_prefix(quote);
        if let Some(inner) = inner.and_then(|inner| inner.strip_suffix(quote)) {
            return PathBuf::from(inner);
        }
    }
    let mut path = String::with_capacity(pasted.len());
    let mut characters = pasted.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => path.extend(characters.next()),
            character => path.push(character),
        }
    }
    match (path.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => PathBuf::from(path),
    }
}

/// With `%20` and the like read.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = (first == b'%').then(|| behind.get(..2)).flatten();
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
