//! Generates `docs/limits.md` from the constants of the programs, and checks their names.
//!
//! A constant is a limit if its documentation has a paragraph that starts with `Limit:` and says what
//! happens when the limit is reached.

#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use crate::repository::{files, has_extension, shown};
use value::Constants;

/// The path of the table, relative to the root.
pub const DOCUMENT: &str = "docs/limits.md";

const INTRODUCTION: &str = "# Limits

Every queue, frame, file, output and wait has a limit, and a stated behaviour when it is reached. `cargo xtask limits` writes
this table from the constants in the sources; a test fails when it is stale.

How much is done before other work gets a turn (`EVENTS_PER_TURN`), what one read or write takes at most (`READ_BYTES`,
`WRITE_BYTES`, `CHUNK_BYTES`), how often something is polled (`POLL_INTERVAL`) and how much of a text is displayed are
constants as well. They are not listed: nothing is refused or lost there.
";

/// Words for a unit or quantity. A name needs at least one other word that says what is limited.
const GENERIC_WORDS: [&str; 28] = [
    "ALL",
    "ATTEMPTS",
    "BODY",
    "BYTES",
    "CALLS",
    "CHARACTERS",
    "CONNECTIONS",
    "COUNT",
    "DEPTH",
    "ENTRIES",
    "FILE",
    "FILES",
    "HEADERS",
    "ITEMS",
    "KEPT",
    "LENGTH",
    "LIMIT",
    "LINE",
    "LINES",
    "MAX",
    "MIN",
    "NAME",
    "PATIENCE",
    "QUEUED",
    "SIZE",
    "TEXT",
    "TIME",
    "TIMEOUT",
];

/// Crates that are not part of any program.
const DEVELOPMENT: [&str; 2] = ["testkit", "xtask"];

/// A numeric constant of the programs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Constant {
    crate_name: String,
    /// Relative to the root.
    file: String,
    name: String,
    expression: String,
    /// What happens when it is reached, from the documentation.
    consequence: Option<String>,
}

/// Returns the content of [`DOCUMENT`].
pub fn document(root: &Path) -> io::Result<String> {
    let constants = read_constants(root)?;
    let values = Constants::new(
        constants
            .iter()
            .map(|constant| (constant.name.as_str(), constant.expression.as_str())),
    );
    let mut crates: BTreeMap<&str, Vec<(&Constant, &str)>> = BTreeMap::new();
    for constant in &constants {
        if let Some(consequence) = &constant.consequence {
            let rows = crates.entry(&constant.crate_name).or_default();
            rows.push((constant, consequence));
        }
    }
    let mut text = INTRODUCTION.to_owned();
    for (crate_name, mut rows) in crates {
        // By name, so that moving a constant to another file does not change the table.
        rows.sort_by_key(|(constant, _)| &constant.name);
        let _ = write!(
            text,
            "\n## {crate_name}\n\n| constant | value | when it is reached |\n|---|---|---|\n"
        );
        for (constant, consequence) in rows {
            let value = values
                .shown(&constant.name, &constant.expression)
                .map_err(|error| io::Error::other(format!("{}: {error}", constant.file)))?;
            let _ = writeln!(text, "| `{}` | {value} | {consequence} |", constant.name);
        }
    }
    Ok(text)
}

/// Returns the limits without a noun in their name, and those whose name is defined twice.
pub fn name_problems(root: &Path) -> io::Result<Vec<String>> {
    Ok(problems(&read_constants(root)?))
}

fn problems(constants: &[Constant]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    // The page's scripts repeat constants of the program under the same names.
    let in_rust = |constant: &&Constant| constant.file.ends_with(".rs");
    for constant in constants.iter().filter(in_rust) {
        if constant
            .name
            .split('_')
            .all(|word| GENERIC_WORDS.contains(&word))
        {
            problems.push(format!(
                "{}: {} does not say what it limits",
                constant.file, constant.name
            ));
        }
        if is_limit(constant) {
            let files = places.entry(&constant.name).or_default();
            // Alternatives for different systems are in the same file.
            if !files.contains(&constant.file.as_str()) {
                files.push(&constant.file);
            }
        }
    }
    for (name, files) in places {
        if files.len() > 1 {
            problems.push(format!(
                "{name} is defined in {}: use one constant, or names that differ",
                files.join(", ")
            ));
        }
    }
    problems
}

fn is_limit(constant: &Constant) -> bool {
    let name = &constant.name;
    constant.consequence.is_some()
        || name.starts_with("MAX_")
        || ["_PATIENCE", "_TIMEOUT", "_LIMIT"]
            .iter()
            .any(|suffix| name.ends_with(suffix))
}

/// Reads the numeric constants of all programs, except tests, in the order of their files.
fn read_constants(root: &Path) -> io::Result<Vec<Constant>> {
    let directory = root.join("crates");
    let is_source = |path: &Path| {
        let inside = shown(&directory, path);
        let mut parts = inside.split('/');
        let is_program = parts
            .next()
            .is_some_and(|name| !DEVELOPMENT.contains(&name));
        let is_in_program = is_program && matches!(parts.next(), Some("src" | "assets"));
        let is_test = inside
            .split('/')
            .any(|part| part == "tests" || part == "skeletons" || part.ends_with("tests.rs"));
        is_in_program && !is_test && has_extension(path, &["rs", "js"])
    };
    let mut constants = Vec::new();
    for path in files(&directory, is_source)? {
        let inside = shown(&directory, &path);
        let crate_name = inside.split('/').next().unwrap_or_default();
        let text = std::fs::read_to_string(&path)?;
        constants.extend(constants_of(crate_name, &shown(root, &path), &text));
    }
    Ok(constants)
}

fn constants_of(crate_name: &str, file: &str, text: &str) -> Vec<Constant> {
    let mut constants = Vec::new();
    let mut comment: Vec<&str> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if let Some(text) = line.strip_prefix("//") {
            comment.push(text.trim_start_matches('/').trim());
            continue;
        }
        if line.starts_with("#[") {
            continue;
        }
        if let Some((name, first)) = definition(line) {
            let mut expression = first.to_owned();
            while !expression.contains(';') {
                let Some(line) = lines.next() else { break };
                expression.push_str(line.trim());
            }
            let expression = expression.split(';').next().unwrap_or_default().trim();
            constants.push(Constant {
                crate_name: crate_name.to_owned(),
                file: file.to_owned(),
                name: name.to_owned(),
                expression: expression.to_owned(),
                consequence: consequence(&comment),
            });
        }
        comment.clear();
    }
    constants
}

/// Returns the name of the numeric constant that a line defines, and the start of its expression.
fn definition(line: &str) -> Option<(&str, &str)> {
    let (before, rest) = line.split_once("const ")?;
    let is_visibility = before.is_empty()
        || before == "export "
        || (before.starts_with("pub") && before.ends_with(' ') && !before.contains("fn"));
    if !is_visibility {
        return None;
    }
    let end = rest.find(|character: char| {
        !(character.is_ascii_uppercase() || character.is_ascii_digit() || character == '_')
    })?;
    let (name, rest) = rest.split_at(end);
    if name.is_empty() {
        return None;
    }
    let (kind, expression) = match rest.strip_prefix(':') {
        Some(rest) => {
            // The type of an array has a `;`, and no type of a limit has a `=`.
            let (kind, expression) = rest.split_once(" =")?;
            (kind.trim(), expression)
        }
        // JavaScript.
        None => ("usize", rest.strip_prefix(" =")?),
    };
    let expression = expression.trim();
    let is_numeric = ["usize", "u8", "u16", "u32", "u64", "i64", "f64", "Timespec"].contains(&kind)
        || kind.contains("Duration");
    let starts_like_number =
        !expression.starts_with(['\'', '"', '`', '/']) || expression.is_empty();
    (is_numeric && starts_like_number).then_some((name, expression))
}

/// Returns the paragraph of a comment that says what happens when the limit is reached.
fn consequence(comment: &[&str]) -> Option<String> {
    let begin = comment
        .iter()
        .position(|line| line.starts_with("Limit: "))?;
    let paragraph: Vec<&str> = comment[begin..]
        .iter()
        .take_while(|line| !line.is_empty())
        .copied()
        .collect();
    let paragraph = paragraph.join(" ");
    let text = paragraph.strip_prefix("Limit: ")?;
    Some(text.trim_end_matches('.').replace('|', "\\|"))
}
