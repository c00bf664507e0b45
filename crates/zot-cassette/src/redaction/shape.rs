//! What keys of well-known services look like.
//!
//! A text is searched for a few telling bytes, for all shapes at once, because every text of every
//! request is searched. The text may be JSON, so a match never takes in a quote or a backslash that
//! ends a string.

use std::ops::Range;

use memchr::memmem::Finder;

/// Finds keys by what they look like.
#[derive(Debug)]
pub(super) struct Shapes {
    bearer: Finder<'static>,
}

/// What precedes a key in a header, without the first letter.
const BEARER: &str = "earer ";
const MIN_BEARER: usize = 16;

const PRIVATE_KEY_BEGINNING: &[u8] = b"-----BEGIN ";
const PRIVATE_KEY: &[u8] = b"PRIVATE KEY-----";
const PRIVATE_KEY_END: &[u8] = b"-----END ";
/// The longest name of a kind of key, with room to spare.
///
/// Limit: a PEM header with a longer label does not count as a private key.
const MAX_PEM_LABEL_BYTES: usize = 64;

/// A key: `prefix`, then at least this many bytes.
struct Token {
    prefix: &'static [u8],
    at_least: usize,
    accepts: fn(u8) -> bool,
    after: After,
}

/// What may stand before a key.
#[derive(PartialEq, Eq)]
enum After {
    Anything,
    /// `sk-` is part of `task-`.
    WordBoundary,
}

const fn token(prefix: &'static [u8], at_least: usize, after: After) -> Token {
    Token {
        prefix,
        at_least,
        accepts: is_word,
        after,
    }
}

const fn access_key(prefix: &'static [u8]) -> Token {
    Token {
        prefix,
        at_least: 16,
        accepts: is_upper,
        after: After::WordBoundary,
    }
}

/// Keys whose prefix ends in a hyphen: OpenAI and its likes (Anthropic's is `sk-ant-`), Slack.
const HYPHEN: [Token; 6] = [
    token(b"sk-", 16, After::WordBoundary),
    token(b"xoxa-", 10, After::Anything),
    token(b"xoxb-", 10, After::Anything),
    token(b"xoxp-", 10, After::Anything),
    token(b"xoxr-", 10, After::Anything),
    token(b"xoxs-", 10, After::Anything),
];

/// Keys whose prefix ends in an underscore: GitHub.
const UNDERSCORE: [Token; 6] = [
    token(b"ghp_", 20, After::Anything),
    token(b"gho_", 20, After::Anything),
    token(b"ghu_", 20, After::Anything),
    token(b"ghs_", 20, After::Anything),
    token(b"ghr_", 20, After::Anything),
    token(b"github_pat_", 20, After::Anything),
];

/// Keys whose prefix has an `I`: Google, Amazon.
const GOOGLE: Token = token(b"AIza", 30, After::Anything);
const AMAZON: [Token; 2] = [access_key(b"AKIA"), access_key(b"ASIA")];

impl Shapes {
    pub(super) fn new() -> Self {
        Self {
            bearer: Finder::new(BEARER),
        }
    }

    pub(super) fn find(&self, text: &[u8], found: &mut Vec<Range<usize>>) {
        for at in memchr::memchr3_iter(b'-', b'_', b'I', text) {
            match text.get(at) {
                Some(b'-') => {
                    found.extend(ending_at(&HYPHEN, text, at + 1));
                    if text
                        .get(at..)
                        .is_some_and(|t| t.starts_with(PRIVATE_KEY_BEGINNING))
                    {
                        found.extend(private_key_end(text, at).map(|end| at..end));
                    }
                }
                Some(b'_') => found.extend(ending_at(&UNDERSCORE, text, at + 1)),
                _ => {
                    found.extend(ending_at(&[GOOGLE], text, at + 3));
                    found.extend(ending_at(&AMAZON, text, at + 2));
                }
            }
        }
        for at in self.bearer.find_iter(text) {
            let letter = at.checked_sub(1).and_then(|before| text.get(before));
            let body = at + BEARER.len();
            let length = length(text, body, is_bearer);
            if matches!(letter, Some(b'B' | b'b')) && length >= MIN_BEARER {
                // The name of the scheme stays.
                found.push(body..body + length);
            }
        }
    }
}

/// The key whose prefix ends right before `body`.
fn ending_at(tokens: &[Token], text: &[u8], body: usize) -> Option<Range<usize>> {
    let before = text.get(..body)?;
    let token = tokens.iter().find(|token| before.ends_with(token.prefix))?;
    let start = body - token.prefix.len();
    if token.after == After::WordBoundary && !at_boundary(text, start) {
        return None;
    }
    let length = length(text, body, token.accepts);
    (length >= token.at_least).then_some(start..body + length)
}

fn length(text: &[u8], from: usize, accepts: fn(u8) -> bool) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    rest.iter().take_while(|&&byte| accepts(byte)).count()
}

/// Whether a word may begin here. In JSON the letter before may be the end of an escape.
fn at_boundary(text: &[u8], start: usize) -> bool {
    let before = text.get(..start).unwrap_or_default();
    match before {
        [.., b'\\', b'n' | b't' | b'r' | b'b' | b'f'] => true,
        [.., b'\\', b'u', _, _, _, _] => true,
        [.., last] => !last.is_ascii_alphanumeric(),
        [] => true,
    }
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

const fn is_upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

const fn is_bearer(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'~' | b'+' | b'/' | b'=' | b'-')
}

/// Where a private key that begins at `start` ends. One whose last line is missing ends with the
/// text, or with the JSON string it stands in.
fn private_key_end(text: &[u8], start: usize) -> Option<usize> {
    let body = start + PRIVATE_KEY_BEGINNING.len();
    let rest = text.get(body..)?;
    let name = rest.get(..rest.len().min(MAX_PEM_LABEL_BYTES))?;
    memchr::memmem::find(name, PRIVATE_KEY)?;
    let string_end = memchr::memchr(b'"', rest).unwrap_or(rest.len());
    let string = rest.get(..string_end)?;
    let last_line = memchr::memmem::find(string, PRIVATE_KEY_END);
    let end = last_line.and_then(|at| {
        let after = string.get(at..)?;
        let found = memchr::memmem::find(after, PRIVATE_KEY)?;
        Some(at + found + PRIVATE_KEY.len())
    });
    let end = end.unwrap_or_else(|| {
        let escapes = string.iter().rev().take_while(|&&byte| byte == b'\\');
        string_end - escapes.count()
    });
    Some(body + end)
}
