//! `${VAR}` and `${VAR:-default}` in entries. `$VAR` means nothing, and what is not set stays as it is.

use std::path::Path;

use super::Sources;
use crate::entry::{Address, EntryOrigin, ServerEntry};

/// The project's directory, unless the environment says otherwise.
pub(super) const PROJECT_VARIABLE: &str = "ZOT_PROJECT_DIR";

/// The same, as files for another client name it.
const PROJECT_VARIABLE_OF_CLAUDE: &str = "CLAUDE_PROJECT_DIR";

/// Expands the variables of `entry`, from the file at `path`, and warns about those that are not set.
pub(super) fn expand(
    entry: &mut ServerEntry,
    sources: &Sources<'_>,
    path: Option<&Path>,
    mut warn: impl FnMut(String),
) {
    let project = path
        .and_then(Path::parent)
        .filter(|_| entry.origin == EntryOrigin::Project)
        .unwrap_or(sources.cwd);
    let lookup = |name: &str| match ((sources.env)(name), name) {
        (None, PROJECT_VARIABLE | PROJECT_VARIABLE_OF_CLAUDE) => {
            Some(project.display().to_string())
        }
        (value, _) => value,
    };
    let mut expand_key = |key: &str, text: &mut String| {
        let expanded = expanded(text, &lookup);
        for name in expanded.unset {
            warn(format!(
                "{key} contains ${{{name}}}, but ${name} is not set, so it stays as it is: set it, or write \
                 ${{{name}:-default}}"
            ));
        }
        *text = expanded.text;
    };
    match &mut entry.address {
        Address::Stdio {
            command, args, env, ..
        } => {
            expand_key("\"command\"", command);
            for argument in args {
                expand_key("\"args\"", argument);
            }
            for (name, value) in env {
                expand_key(&format!("{name:?} in \"env\""), value);
            }
        }
        Address::Http { url, headers } | Address::Sse { url, headers } => {
            expand_key("\"url\"", url);
            for (name, value) in headers {
                expand_key(&format!("{name:?} in \"headers\""), value);
            }
        }
    }
    if let Some(oauth) = &mut entry.oauth {
        if let Some(id) = &mut oauth.client_id {
            expand_key("\"clientId\" in \"oauth\"", id);
        }
        if let Some(secret) = &mut oauth.client_secret {
            expand_key("\"clientSecret\" in \"oauth\"", secret);
        }
    }
}

pub(super) struct Expanded {
    pub(super) text: String,
    /// The variables that have no value and no default.
    pub(super) unset: Vec<String>,
}

/// Replaces the variables in `text`, once: values are not looked at again.
pub(super) fn expanded(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Expanded {
    let mut result = Expanded {
        text: String::with_capacity(text.len()),
        unset: Vec::new(),
    };
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => result.text.push_str(text),
            Piece::Variable {
                whole,
                name,
                default,
            } => match lookup(name).or_else(|| default.map(str::to_owned)) {
                Some(value) => result.text.push_str(&value),
                None => {
                    result.unset.push(name.to_owned());
                    result.text.push_str(whole);
                }
            },
        }
    }
    result
}

/// A part of a text.
pub(super) enum Piece<'a> {
    Text(&'a str),
    Variable {
        /// With braces.
        whole: &'a str,
        name: &'a str,
        default: Option<&'a str>,
    },
}

/// Splits `text` into variables and what is between them.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut from = 0;
        while let Some(found) = rest.get(from..).and_then(|tail| tail.find("${")) {
            let start = from + found;
            let variable = rest.get(start..).and_then(variable);
            match variable {
                Some((length, piece)) if start == 0 => {
                    rest = rest.get(length..).unwrap_or_default();
                    return Some(piece);
                }
                Some(_) => {
                    let (before, after) = rest.split_at(start);
                    rest = after;
                    return Some(Piece::Text(before));
                }
                None => from = start + 2,
            }
        }
        Some(Piece::Text(std::mem::take(&mut rest)))
    })
}

/// Returns the variable at the start of `text`, and its length.
fn variable(text: &str) -> Option<(usize, Piece<'_>)> {
    let inside = text.strip_prefix("${")?;
    let inside = inside.get(..inside.find('}')?)?;
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let is_name = !name.is_empty()
        && !name.starts_with(|letter: char| letter.is_ascii_digit())
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let length = inside.len() + 3;
    let whole = text.get(..length)?;
    is_name.then_some((
        length,
        Piece::Variable {
            whole,
            name,
            default,
        },
    ))
}
