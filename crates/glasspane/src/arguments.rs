//! Summarises the arguments of a tool call in one line. Pure, and the same as `assets/arguments.js`.
//!
//! Arguments are JSON text that may still be arriving, so the reader here returns what it has instead
//! of failing at the end of the input.

#[cfg(test)]
mod tests;

use std::iter::Peekable;
use std::str::Chars;

/// How long the line about a call may be, in characters.
///
/// Limit: the line about a call is cut.
pub const MAX_SUMMARY_CHARACTERS: usize = 200;

/// How many arguments of one call are read.
const MAX_MEMBERS: usize = 32;

/// Shown in place of characters that are invisible, or that change how their neighbours look.
const NEUTRAL: char = '\u{fffd}';

/// The arguments that describe a call best, in order of preference. The names are those of the tools of
/// zot, pi, codex, claude-code, gemini, qwen, goose, opencode and common MCP servers.
const MAIN_ARGUMENTS: [&str; 29] = [
    "command",
    "cmd",
    "script",
    "pattern",
    "regex",
    "query",
    "search_query",
    "url",
    "uri",
    "file_path",
    "filepath",
    "path",
    "absolute_path",
    "notebook_path",
    "relative_path",
    "target_file",
    "filename",
    "file",
    "paths",
    "dir_path",
    "directory",
    "code",
    "description",
    "prompt",
    "question",
    "task",
    "title",
    "name",
    "message",
];

const SHELLS: [&str; 4] = ["sh", "bash", "zsh", "dash"];

/// Returns one line about a call with these arguments: the main argument, then the others with their
/// names.
pub(crate) fn summary(arguments: &str) -> String {
    let Some(members) = members(arguments) else {
        return one_line(&without_shell(&bare_value(arguments)));
    };
    let main = MAIN_ARGUMENTS
        .iter()
        .find_map(|name| position(&members, |key| key.eq_ignore_ascii_case(name)))
        .or_else(|| position(&members, |_| true));
    let Some(main) = main else {
        return String::new();
    };
    let mut line = members[main].1.clone();
    for (index, (name, value)) in members.iter().enumerate() {
        if index != main && !value.is_empty() {
            line.push_str("  ");
            line.push_str(&one_line(name));
            line.push('=');
            line.push_str(value);
        }
    }
    cut_line(line)
}

/// Returns the same arguments as text to search in, without the punctuation of JSON.
pub(crate) fn words(arguments: &str) -> String {
    match members_of(arguments, |value| value) {
        Some(members) => members
            .into_iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect::<Vec<_>>()
            .join("\n"),
        None => bare_value(arguments),
    }
}

/// Whether `text` is, or begins, a JSON object.
pub(crate) fn is_object(text: &str) -> bool {
    members(text).is_some()
}

/// Returns `text` as one line of at most [`MAX_SUMMARY_CHARACTERS`], with invisible characters and those
/// that change the writing direction replaced.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::new();
    for character in text.chars() {
        match character {
            ' ' | '\n' | '\r' | '\t' => {
                if !line.is_empty() && !line.ends_with(' ') {
                    line.push(' ');
                }
            }
            character if is_harmful(character) => line.push(NEUTRAL),
            character => line.push(character),
        }
        // More than is shown, so that the cut below still notices that something is missing.
        if line.len() > MAX_SUMMARY_CHARACTERS * 8 {
            break;
        }
    }
    line.truncate(line.trim_end_matches(' ').len());
    cut_line(line)
}

fn cut_line(line: String) -> String {
    match line.char_indices().nth(MAX_SUMMARY_CHARACTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Control characters, marks that change the writing direction, and invisible characters.
fn is_harmful(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{061c}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

fn position(members: &[(String, String)], matches: impl Fn(&str) -> bool) -> Option<usize> {
    members
        .iter()
        .position(|(name, value)| !value.is_empty() && matches(name))
}

/// Returns the script of a shell that only runs it, as in `/bin/bash -lc 'cargo test'`, and other text
/// unchanged.
fn without_shell(text: &str) -> String {
    let script = text.split_once(' ').and_then(|(shell, rest)| {
        let (flag, script) = rest.split_once(' ')?;
        let name = shell.rsplit('/').next()?;
        let wraps = SHELLS.contains(&name) && flag.starts_with('-') && flag.ends_with('c');
        let quoted = script.strip_prefix('\'')?.strip_suffix('\'')?;
        let quotes = ["'\\''", "'\"'\"'"];
        let bare = quotes
            .iter()
            .fold(quoted.to_owned(), |bare, quote| bare.replace(quote, ""));
        let plain = quotes
            .iter()
            .fold(quoted.to_owned(), |plain, quote| plain.replace(quote, "'"));
        (wraps && !bare.contains('\'')).then_some(plain)
    });
    script.unwrap_or_else(|| text.to_owned())
}

/// Reads arguments that are not an object: decodes a string, joins a list of strings, and leaves the rest
/// unchanged.
fn bare_value(text: &str) -> String {
    let text = text.trim();
    match text.chars().next() {
        Some('"') => string(&mut text.chars().peekable()),
        Some('[') => joined(text).unwrap_or_else(|| text.to_owned()),
        _ => text.to_owned(),
    }
}

/// Returns the names and values of the members of the object `text`, in order, each value as one line.
fn members(text: &str) -> Option<Vec<(String, String)>> {
    members_of(text, |value| one_line(&without_shell(&value)))
}

fn members_of(text: &str, convert: impl Fn(String) -> String) -> Option<Vec<(String, String)>> {
    let mut rest = text.chars().peekable();
    skip_blanks(&mut rest);
    if rest.next() != Some('{') {
        return None;
    }
    let mut members = Vec::new();
    while members.len() < MAX_MEMBERS {
        skip_blanks(&mut rest);
        match rest.peek() {
            Some(',') => {
                rest.next();
                continue;
            }
            Some('"') => {}
            Some('}') | None => break,
            Some(_) => return None,
        }
        let name = string(&mut rest);
        skip_blanks(&mut rest);
        if rest.next() != Some(':') {
            break;
        }
        skip_blanks(&mut rest);
        let value = match rest.peek() {
            Some('"') => string(&mut rest),
            _ => nested(&mut rest),
        };
        members.push((name, convert(value)));
    }
    Some(members)
}

fn skip_blanks(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(char::is_ascii_whitespace).is_some() {}
}

/// Reads a string, from its opening quote to its end or that of the input.
fn string(rest: &mut Peekable<Chars<'_>>) -> String {
    let mut text = String::new();
    rest.next();
    while let Some(character) = rest.next() {
        match character {
            '"' => break,
            '\\' => escape(rest, &mut text),
            character => text.push(character),
        }
    }
    text
}

fn escape(rest: &mut Peekable<Chars<'_>>, text: &mut String) {
    let Some(kind) = rest.next() else { return };
    text.push(match kind {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'u' => {
            let Some(first) = code_unit(rest) else { return };
            let mut units = vec![first];
            let mut ahead = rest.clone();
            if (0xd800..0xdc00).contains(&first)
                && (ahead.next(), ahead.next()) == (Some('\\'), Some('u'))
                && let Some(second) = code_unit(&mut ahead)
            {
                units.push(second);
                *rest = ahead;
            }
            for decoded in char::decode_utf16(units) {
                text.push(decoded.unwrap_or(NEUTRAL));
            }
            return;
        }
        other => other,
    });
}

/// Reads four hexadecimal digits; `None` if the input ends before.
fn code_unit(rest: &mut Peekable<Chars<'_>>) -> Option<u16> {
    let mut unit = 0;
    for _ in 0..4 {
        let digit = rest.next_if(char::is_ascii_hexdigit)?.to_digit(16)?;
        unit = unit * 16 + u16::try_from(digit).ok()?;
    }
    Some(unit)
}

/// Reads the text of a value other than a string. A list of strings is joined.
fn nested(rest: &mut Peekable<Chars<'_>>) -> String {
    let mut text = String::new();
    let mut depth = 0_usize;
    let mut quoted = false;
    while let Some(&character) = rest.peek() {
        match character {
            _ if quoted => quoted = character != '"',
            '"' => quoted = true,
            '[' | '{' => depth += 1,
            ',' | '}' if depth == 0 => break,
            ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        text.push(character);
        rest.next();
        if character == '\\' && quoted {
            text.extend(rest.next());
        }
    }
    let text = text.trim();
    joined(text).unwrap_or_else(|| text.to_owned())
}

/// Joins the strings of a list with blanks; returns only the script of a shell command.
fn joined(list: &str) -> Option<String> {
    let mut rest = list.strip_prefix('[')?.chars().peekable();
    let mut strings = Vec::new();
    loop {
        skip_blanks(&mut rest);
        match rest.peek() {
            Some(',') => {
                rest.next();
            }
            Some('"') => strings.push(string(&mut rest)),
            Some(']') | None => break,
            Some(_) => return None,
        }
    }
    match strings.as_slice() {
        [shell, flag, script]
            if shell.ends_with("sh") && flag.starts_with('-') && flag.ends_with('c') =>
        {
            Some(script.clone())
        }
        strings => Some(strings.join(" ")),
    }
}
