//! What keys of well-known services look like.
//!
//! The text may be JSON, so a match never takes in a quote or a backslash that ends a string.

use std::ops::Range;

use memchr::memmem::Finder;

/// How a key begins and goes on.
#[derive(Debug)]
pub(super) struct Shape {
    beginning: Finder<'static>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A key that stands on its own.
    Token(Token),
    /// A header: its name stays.
    Header(Token),
    /// From the first to the last line of a private key.
    PrivateKey,
}

#[derive(Debug, Clone, Copy)]
struct Token {
    /// Whether it may stand behind a letter or digit, as `sk-` does in `task-`.
    after: After,
    accepts: fn(u8) -> bool,
    at_least: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Anything,
    WordBoundary,
}

const PRIVATE_KEY_BEGINNING: &str = "-----BEGIN ";
const PRIVATE_KEY: &[u8] = b"PRIVATE KEY-----";
const PRIVATE_KEY_END: &[u8] = b"-----END ";
/// The longest name of a kind of key, with room to spare.
const MAX_KEY_NAME: usize = 64;

pub(super) fn all_shapes() -> Vec<Shape> {
    let word = |beginning, after, at_least| Shape {
        beginning: Finder::new(beginning),
        kind: Kind::Token(Token {
            after,
            accepts: is_word,
            at_least,
        }),
    };
    let header = |beginning| Shape {
        beginning: Finder::new(beginning),
        kind: Kind::Header(Token {
            after: After::Anything,
            accepts: is_bearer,
            at_least: 16,
        }),
    };
    let access_key = |beginning| Shape {
        beginning: Finder::new(beginning),
        kind: Kind::Token(Token {
            after: After::WordBoundary,
            accepts: is_upper,
            at_least: 16,
        }),
    };
    vec![
        // OpenAI, Anthropic (`sk-ant-`), OpenRouter (`sk-or-`), DeepSeek, Kimi.
        word("sk-", After::WordBoundary, 16),
        // Google.
        word("AIza", After::Anything, 30),
        // GitHub.
        word("ghp_", After::Anything, 20),
        word("gho_", After::Anything, 20),
        word("ghu_", After::Anything, 20),
        word("ghs_", After::Anything, 20),
        word("ghr_", After::Anything, 20),
        word("github_pat_", After::Anything, 20),
        // Slack.
        word("xoxa-", After::Anything, 10),
        word("xoxb-", After::Anything, 10),
        word("xoxp-", After::Anything, 10),
        word("xoxr-", After::Anything, 10),
        word("xoxs-", After::Anything, 10),
        // Amazon.
        access_key("AKIA"),
        access_key("ASIA"),
        header("Bearer "),
        header("bearer "),
        Shape {
            beginning: Finder::new(PRIVATE_KEY_BEGINNING),
            kind: Kind::PrivateKey,
        },
    ]
}

impl Shape {
    pub(super) fn find(&self, text: &[u8], found: &mut Vec<Range<usize>>) {
        let prefix = self.beginning.needle().len();
        for start in self.beginning.find_iter(text) {
            let body = start + prefix;
            let range = match self.kind {
                Kind::Token(token) => token.end(text, start, body).map(|end| start..end),
                Kind::Header(token) => token.end(text, start, body).map(|end| body..end),
                Kind::PrivateKey => private_key_end(text, start).map(|end| start..end),
            };
            found.extend(range);
        }
    }
}

impl Token {
    fn end(self, text: &[u8], start: usize, body: usize) -> Option<usize> {
        if self.after == After::WordBoundary && !at_boundary(text, start) {
            return None;
        }
        let rest = text.get(body..).unwrap_or_default();
        let length = rest.iter().take_while(|&&byte| (self.accepts)(byte)).count();
        (length >= self.at_least).then_some(body + length)
    }
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

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_bearer(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._~+/=-".contains(&byte)
}

/// Where a private key that begins at `start` ends. One whose last line is missing ends with the
/// text, or with the JSON string it stands in.
fn private_key_end(text: &[u8], start: usize) -> Option<usize> {
    let body = start + PRIVATE_KEY_BEGINNING.len();
    let rest = text.get(body..)?;
    let name = rest.get(..rest.len().min(MAX_KEY_NAME))?;
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
