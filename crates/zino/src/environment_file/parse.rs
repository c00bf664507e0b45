//! The lines of a `.env` file: `NAME=VALUE`, with `export`, quotes, comments and `${NAME}`.

use std::collections::BTreeMap;

/// The contents of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    pub(super) variables: BTreeMap<String, String>,
    /// Lines, from 1, that are not assignments.
    pub(super) bad_lines: Vec<usize>,
}

/// Parses a file. `${NAME}` is looked up in `environment` first, then in the file.
pub(super) fn parse(text: &str, environment: &dyn Fn(&str) -> Option<String>) -> Parsed {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut rest = Rest { text, line: 1 };
    let mut parsed = Parsed::default();
    loop {
        rest.skip(char::is_whitespace);
        if rest.text.is_empty() {
            return parsed;
        }
        let line = rest.line;
        match statement(&mut rest) {
            Some(Statement::Nothing) => {}
            Some(Statement::Assignment { name, value }) => {
                let value = expand(&value, &|name| {
                    environment(name).or_else(|| parsed.variables.get(name).cloned())
                });
                parsed.variables.insert(name, value);
            }
            None => {
                parsed.bad_lines.push(line);
                rest.skip(|character| !is_line_end(character));
            }
        }
    }
}

enum Statement {
    /// A comment, or a name without a value.
    Nothing,
    Assignment {
        name: String,
        value: String,
    },
}

/// The text not read yet.
struct Rest<'a> {
    text: &'a str,
    line: usize,
}

impl<'a> Rest<'a> {
    fn peek(&self) -> Option<char> {
        self.text.chars().next()
    }

    /// Takes characters while `matches` holds.
    fn skip(&mut self, matches: impl Fn(char) -> bool) -> &'a str {
        let end = self.text.find(|character| !matches(character));
        self.take(end.unwrap_or(self.text.len()))
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.text.split_at(bytes);
        self.line += taken.matches('\n').count();
        self.text = rest;
        taken
    }

    fn skip_blanks(&mut self) -> &'a str {
        self.skip(|character| character.is_whitespace() && !is_line_end(character))
    }

    /// Takes the text up to `quote`, and the quote itself; escapes are left unresolved.
    fn quoted(&mut self, quote: char) -> Option<&'a str> {
        let mut is_escaped = false;
        let end = self.text.char_indices().find_map(|(position, character)| {
            let ends = character == quote && !is_escaped;
            is_escaped = character == '\\' && !is_escaped;
            ends.then_some(position)
        })?;
        let inside = self.take(end);
        self.take(quote.len_utf8());
        Some(inside)
    }
}

fn is_line_end(character: char) -> bool {
    matches!(character, '\n' | '\r')
}

/// Reads one statement up to the end of its line; `None` if it is invalid.
fn statement(rest: &mut Rest<'_>) -> Option<Statement> {
    if rest.peek() == Some('#') {
        rest.skip(|character| !is_line_end(character));
        return Some(Statement::Nothing);
    }
    if let Some(after) = rest.text.strip_prefix("export")
        && after.starts_with([' ', '\t'])
    {
        rest.take("export".len());
        rest.skip_blanks();
    }
    let name = match rest.peek() {
        Some('\'') => {
            rest.take(1);
            rest.quoted('\'')?
        }
        _ => rest.skip(|character| !character.is_whitespace() && !"=#".contains(character)),
    };
    if name.is_empty() {
        return None;
    }
    rest.skip_blanks();
    let value = match rest.peek() {
        Some('=') => {
            rest.take(1);
            rest.skip_blanks();
            Some(value(rest)?)
        }
        _ => None,
    };
    rest.skip_blanks();
    if rest.peek() == Some('#') {
        rest.skip(|character| !is_line_end(character));
    }
    match (rest.peek().is_none_or(is_line_end), value) {
        (false, _) => None,
        (true, None) => Some(Statement::Nothing),
        (true, Some(value)) => Some(Statement::Assignment {
            name: name.to_owned(),
            value,
        }),
    }
}

fn value(rest: &mut Rest<'_>) -> Option<String> {
    match rest.peek() {
        Some('\'') => {
            rest.take(1);
            Some(unescape(rest.quoted('\'')?, &[('\\', '\\'), ('\'', '\'')]))
        }
        Some('"') => {
            rest.take(1);
            Some(unescape(rest.quoted('"')?, &DOUBLE_QUOTED))
        }
        _ => {
            let line = rest.skip(|character| !is_line_end(character));
            // A comment begins with a blank before it: `a#b` is a value.
            let comment = line.char_indices().find(|&(position, character)| {
                character == '#' && line[..position].ends_with(char::is_whitespace)
            });
            let end = comment.map_or(line.len(), |(position, _)| position);
            // One right after the equals sign, whose blanks are gone already.
            let value = match line.starts_with('#') {
                true => "",
                false => line[..end].trim_end(),
            };
            Some(value.to_owned())
        }
    }
}

/// The escapes between double quotes.
const DOUBLE_QUOTED: [(char, char); 10] = [
    ('\\', '\\'),
    ('\'', '\''),
    ('"', '"'),
    ('a', '\u{7}'),
    ('b', '\u{8}'),
    ('f', '\u{c}'),
    ('n', '\n'),
    ('r', '\r'),
    ('t', '\t'),
    ('v', '\u{b}'),
];

/// Resolves `escapes` and leaves other backslashes unchanged.
fn unescape(text: &str, escapes: &[(char, char)]) -> String {
    let mut unescaped = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let escape = characters.peek().and_then(|next| {
            let known = escapes.iter().find(|(name, _)| name == next);
            known.filter(|_| character == '\\')
        });
        match escape {
            Some((_, meaning)) => {
                unescaped.push(*meaning);
                characters.next();
            }
            None => unescaped.push(character),
        }
    }
    unescaped
}

/// Expands `${NAME}` and `${NAME:-DEFAULT}`.
fn expand(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else {
            break;
        };
        expanded.push_str(&rest[..start]);
        let inside = &rest[start + 2..start + length];
        let (name, default) = inside.split_once(":-").unwrap_or((inside, ""));
        expanded.push_str(&lookup(name).unwrap_or_else(|| default.to_owned()));
        rest = &rest[start + length + 1..];
    }
    expanded.push_str(rest);
    expanded
}
