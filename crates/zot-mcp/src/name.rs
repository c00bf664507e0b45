//! Names of tools that every provider accepts.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use sha2::{Digest as _, Sha256};

/// The longest name every provider takes.
///
/// Limit: a longer name is cut, and gets a hash.
pub const MAX_MCP_TOOL_NAME_BYTES: usize = 64;

/// What stands between the name of a server and the name of a tool.
pub const SEPARATOR: &str = "__";

/// The most a server's name takes of a tool's name.
///
/// Limit: a longer name is cut, and gets a hash.
const MAX_PREFIX_BYTES: usize = 32;

/// Hexadecimal digits of a hash. Seven are enough for thousands of names, and are still readable.
const HASH_DIGITS: usize = 7;

/// Returns for each server the first part of its tools' names. Different servers have different parts.
///
/// Every server whose part would not be its own gets a hash, whatever their order: a name never comes to mean another
/// server because a server was added.
pub fn server_prefixes<'a>(servers: &[&'a str]) -> HashMap<&'a str, String> {
    let plain = |server: &str| {
        let mut part = sanitised(server);
        // Gemini wants a letter or an underscore first.
        if !part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
            part.insert(0, '_');
        }
        part
    };
    // With the separator at its end or inside, two servers could have tools with one name.
    let is_safe = |part: &str| !part.contains(SEPARATOR) && !part.ends_with('_');
    let parts = unique(servers, plain, is_safe, MAX_PREFIX_BYTES);
    servers.iter().copied().zip(parts).collect()
}

/// Returns the names of a server's tools, in their order; `prefix` is of [`server_prefixes`].
pub fn tool_names(prefix: &str, tools: &[&str]) -> Vec<String> {
    let room = MAX_MCP_TOOL_NAME_BYTES.saturating_sub(prefix.len() + SEPARATOR.len());
    unique(tools, sanitised, |_| true, room)
        .into_iter()
        .map(|tool| format!("{prefix}{SEPARATOR}{tool}"))
        .collect()
}

/// Returns a valid form for each of `names`, no two of which are equal.
fn unique(
    names: &[&str],
    plain: impl Fn(&str) -> String,
    is_safe: impl Fn(&str) -> bool,
    limit: usize,
) -> Vec<String> {
    let forms: Vec<String> = names.iter().map(|name| plain(name)).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for form in &forms {
        *counts.entry(form).or_default() += 1;
    }
    let stays = |form: &str| counts.get(form) == Some(&1) && form.len() <= limit && is_safe(form);
    let mut taken: HashSet<String> = forms.iter().filter(|form| stays(form)).cloned().collect();
    let mut result = Vec::with_capacity(names.len());
    for (name, form) in names.iter().zip(&forms) {
        if stays(form) {
            result.push(form.clone());
            continue;
        }
        // A name listed twice is two tools, and the second gets another hash.
        let mut attempt = 0_u64;
        let chosen = loop {
            let candidate = with_hash(form, name, attempt, limit);
            if taken.insert(candidate.clone()) {
                break candidate;
            }
            attempt += 1;
        };
        result.push(chosen);
    }
    result
}

fn with_hash(form: &str, name: &str, attempt: u64, limit: usize) -> String {
    let mut digest = Sha256::new();
    digest.update(name.as_bytes());
    if attempt > 0 {
        digest.update(attempt.to_be_bytes());
    }
    let mut hash: String = digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    hash.truncate(HASH_DIGITS);
    let room = limit.saturating_sub(HASH_DIGITS + 1);
    // Sanitised text is ASCII, so every index is a boundary.
    let kept = &form[..form.len().min(room)];
    // The separator must not appear in a server's part.
    let mut kept = kept.trim_end_matches('_').to_owned();
    while kept.contains(SEPARATOR) {
        kept = kept.replace(SEPARATOR, "_");
    }
    format!("{kept}_{hash}")
}

fn sanitised(name: &str) -> String {
    let is_valid =
        |character: &char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    let replaced: String = name
        .chars()
        .map(|character| if is_valid(&character) { character } else { '_' })
        .collect();
    if replaced.is_empty() {
        "_".to_owned()
    } else {
        replaced
    }
}
