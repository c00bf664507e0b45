//! Entries as they may be shown: without what may be a secret.
//!
//! Names of variables and headers are shown, their values are not, unless they only refer to a variable.
//! Of URLs, the user and the query are left out. Arguments are shown, except those that are a password or
//! follow a flag that says so.

use super::expansion::{Piece, pieces};
use crate::entry::Address;

/// Stands for what is not shown.
pub const HIDDEN: &str = "…";

/// Parts of the names of flags and variables whose values are secret.
const SECRET_WORDS: [&str; 11] = [
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "pwd",
    "auth",
    "credential",
    "bearer",
    "header",
    "cookie",
];

/// How keys of well-known services begin.
const SECRET_PREFIXES: [&str; 12] = [
    "sk-",
    "sk_",
    "pk_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "eyJ",
];

/// Returns the command line or the URL of a server.
pub fn target(address: &Address) -> String {
    match address {
        Address::Stdio { command, args, .. } => {
            let mut words = vec![quoted(&argument(command))];
            let mut is_secret = false;
            for word in args {
                words.push(match is_secret && !word.starts_with('-') {
                    true => value(word),
                    false => quoted(&argument(word)),
                });
                is_secret = is_secret_flag(word);
            }
            words.join(" ")
        }
        Address::Http { url: address, .. } | Address::Sse { url: address, .. } => url(address),
    }
}

/// Returns the value of a variable or header: only references to variables are shown.
pub fn value(text: &str) -> String {
    let mut shown = String::new();
    for piece in pieces(text) {
        match piece {
            Piece::Variable {
                whole,
                default: None,
                ..
            } => shown.push_str(whole),
            Piece::Variable { name, .. } => {
                shown.push_str(&format!("${{{name}:-{HIDDEN}}}"));
            }
            // "Bearer " says nothing, and is worth knowing.
            Piece::Text(scheme) if ["Bearer ", "Basic ", "token "].contains(&scheme) => {
                shown.push_str(scheme);
            }
            Piece::Text(_) if shown.ends_with(HIDDEN) => {}
            Piece::Text(_) => shown.push_str(HIDDEN),
        }
    }
    shown
}

/// Returns a URL without user, query and fragment. What lacks a scheme is no URL, but may hold as much.
pub fn url(text: &str) -> String {
    let start = text.find("://").map_or(0, |end| end + "://".len());
    let (scheme, rest) = text.split_at(start);
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (place, query) = rest.split_at(end);
    let end = place.find('/').unwrap_or(place.len());
    let (authority, path) = place.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{HIDDEN}@{host}"),
        None => authority.to_owned(),
    };
    let segments: Vec<&str> = path
        .split('/')
        .map(|segment| match is_key(segment) {
            true => HIDDEN,
            false => segment,
        })
        .collect();
    let query = match query.is_empty() {
        true => String::new(),
        false => format!("?{HIDDEN}"),
    };
    format!("{scheme}{authority}{}{query}", segments.join("/"))
}

fn argument(word: &str) -> String {
    if let Some((name, text)) = word.split_once('=')
        && !name.contains("://")
    {
        // `--api-key=…`, and `API_KEY=…` for programs like `env` and `docker -e`.
        return match is_secret_name(name) {
            true => format!("{name}={}", value(text)),
            false => format!("{name}={}", argument(text)),
        };
    }
    if is_key(word) || is_header(word) {
        return HIDDEN.to_owned();
    }
    match word.contains("://") {
        true => url(word),
        false => word.to_owned(),
    }
}

/// Returns whether `word` is an `Authorization: Bearer …` or the like.
fn is_header(word: &str) -> bool {
    word.split_once(':')
        .is_some_and(|(name, value)| !value.starts_with("//") && is_secret_name(name))
}

fn is_secret_flag(word: &str) -> bool {
    word.starts_with('-') && !word.contains('=') && is_secret_name(word)
        // curl's and npx mcp-remote's short form of --header.
        || word == "-H"
}

fn is_secret_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| lower.contains(word))
}

fn is_key(word: &str) -> bool {
    word.len() >= 16
        && SECRET_PREFIXES
            .iter()
            .any(|prefix| word.starts_with(prefix))
}

/// Returns `word` as a shell would need it, so that arguments can be told apart.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:=@%+,…${}?&~".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
