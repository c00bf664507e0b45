//! Checks the length of functions.

#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use crate::repository::{files, has_extension, shown};

/// The longest function, in lines from its signature to its closing brace.
pub const MAX_FUNCTION_LINES: usize = 80;

/// Starts a comment in a longer function that is one flat list, such as a `match` with one expression per
/// arm.
const MARK: &str = "// Flat table: ";

/// A function in a file.
#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    /// Counted from 1.
    line: usize,
    lines: usize,
    is_flat_table: bool,
}

/// Returns the functions below `root` that are too long.
pub fn problems(root: &Path) -> io::Result<Vec<String>> {
    let mut problems = Vec::new();
    for path in files(root, |path| has_extension(path, &["rs"]))? {
        let file = shown(root, &path);
        let text = std::fs::read_to_string(&path)?;
        if text.lines().count() <= MAX_FUNCTION_LINES {
            continue;
        }
        for function in functions(&text) {
            if function.lines <= MAX_FUNCTION_LINES || function.is_flat_table {
                continue;
            }
            problems.push(format!(
                "{file}:{}: {} has {} lines: split it, {MAX_FUNCTION_LINES} is the most",
                function.line, function.name, function.lines
            ));
        }
    }
    Ok(problems)
}

/// Returns the functions of a source text that have a body, in the order they end.
fn functions(text: &str) -> Vec<Function> {
    let code = without_literals(text);
    let mut found = Vec::new();
    // For every open brace, the function whose body it starts.
    let mut open: Vec<Option<Function>> = Vec::new();
    let mut signature: Option<Function> = None;
    let mut line = 1;
    let mut words = Words::default();
    for character in code.chars() {
        if let Some((word, previous)) = words.push(character)
            && previous == "fn"
        {
            signature = Some(Function {
                name: word,
                line,
                lines: 0,
                is_flat_table: false,
            });
        }
        match character {
            '\n' => line += 1,
            '{' => open.push(signature.take()),
            // A declaration without a body. Types of arrays have a `;` in brackets.
            ';' if words.depth == 0 => signature = None,
            '}' => {
                if let Some(Some(mut function)) = open.pop() {
                    function.lines = line + 1 - function.line;
                    let body = text.lines().skip(function.line - 1).take(function.lines);
                    function.is_flat_table = body
                        .into_iter()
                        .any(|line| line.trim_start().starts_with(MARK));
                    found.push(function);
                }
            }
            _ => {}
        }
    }
    found
}

/// Splits code into words and counts round and square brackets.
#[derive(Default)]
struct Words {
    word: String,
    previous: String,
    depth: usize,
}

impl Words {
    /// Returns a word and its predecessor if `character` ends the word.
    fn push(&mut self, character: char) -> Option<(String, String)> {
        if character.is_alphanumeric() || character == '_' {
            self.word.push(character);
            return None;
        }
        match character {
            '(' | '[' => self.depth += 1,
            ')' | ']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if self.word.is_empty() {
            // `fn(` is a type.
            if !character.is_whitespace() {
                self.previous.clear();
            }
            return None;
        }
        let word = std::mem::take(&mut self.word);
        let previous = std::mem::replace(&mut self.previous, word.clone());
        if !character.is_whitespace() {
            self.previous.clear();
        }
        Some((word, previous))
    }
}

/// Returns `text` with comments, strings and characters blanked out, with the same lines.
fn without_literals(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = literal_length(rest, code.chars().next_back());
        let (literal, after) = rest.split_at(length.max(first.len_utf8()));
        match length {
            0 => code.push(first),
            _ => code.extend(literal.chars().map(|character| match character {
                '\n' => '\n',
                _ => ' ',
            })),
        }
        rest = after;
    }
    code
}

/// Returns the length of the comment or literal that `text` begins with; 0 if it begins with code.
fn literal_length(text: &str, before: Option<char>) -> usize {
    let is_in_word = before.is_some_and(|before| before.is_alphanumeric() || before == '_');
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return text.find("*/").map_or(text.len(), |end| end + 2);
    }
    if text.starts_with('"') {
        return quoted_length(text, '"');
    }
    if text.starts_with('\'') {
        return character_length(text);
    }
    let raw = ["r", "br", "cr"].iter().find_map(|prefix| {
        let opened = text.strip_prefix(prefix)?;
        let hashes = opened.len() - opened.trim_start_matches('#').len();
        opened[hashes..]
            .starts_with('"')
            .then_some((prefix.len(), hashes))
    });
    match raw {
        Some((prefix, hashes)) if !is_in_word => {
            let begin = prefix + hashes + 1;
            let end = format!("\"{}", "#".repeat(hashes));
            text[begin..]
                .find(&end)
                .map_or(text.len(), |found| begin + found + end.len())
        }
        _ => 0,
    }
}

/// Returns the length of a literal between two `quote`s, in which a backslash escapes.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (position, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if character == quote => return position + character.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of a character literal; 0 for a lifetime.
fn character_length(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), _) => quoted_length(text, '\''),
        (Some(_), Some((position, '\''))) => position + 1,
        _ => 0,
    }
}
