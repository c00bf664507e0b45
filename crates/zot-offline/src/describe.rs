//! Describes a text file by what can be seen without understanding it.

/// How a kind of file is recognised and taken apart.
struct Language {
    name: &'static str,
    /// The first one stands for the language.
    extensions: &'static [&'static str],
    /// What comments begin with; the longest first.
    comments: &'static [&'static str],
    /// What a definition begins with, after the words of `before_definitions`.
    definitions: &'static [&'static str],
}

const fn language(
    name: &'static str,
    extensions: &'static [&'static str],
    comments: &'static [&'static str],
    definitions: &'static [&'static str],
) -> Language {
    Language {
        name,
        extensions,
        comments,
        definitions,
    }
}

const LANGUAGES: [Language; 15] = [
    language("Rust", &["rs"], &["//!", "///", "//"], &["fn "]),
    language("Python", &["py"], &["\"\"\"", "#"], &["def ", "class "]),
    language("Go", &["go"], &["//"], &["func "]),
    language(
        "JavaScript",
        &["js", "mjs", "jsx"],
        &["//", "/**", "*"],
        &["function ", "class "],
    ),
    language(
        "TypeScript",
        &["ts", "tsx"],
        &["//", "/**", "*"],
        &["function ", "class "],
    ),
    language("shell", &["sh", "bash"], &["#"], &["function "]),
    language("C", &["c", "h"], &["//", "/*", "*"], &[]),
    language(
        "C++",
        &["cpp", "hpp", "cc"],
        &["//", "/*", "*"],
        &["class "],
    ),
    language(
        "Java",
        &["java"],
        &["//", "/**", "*"],
        &["class ", "interface "],
    ),
    language("Ruby", &["rb"], &["#"], &["def ", "class "]),
    language("Markdown", &["md"], &[], &["# ", "## "]),
    language("TOML", &["toml"], &["#"], &["["]),
    language("YAML", &["yaml", "yml"], &["#"], &[]),
    language("JSON", &["json"], &[], &[]),
    language("text", &["txt"], &[], &[]),
];

/// Words that may stand before a definition.
const BEFORE_DEFINITIONS: [&str; 11] = [
    "pub ",
    "pub(crate) ",
    "pub(super) ",
    "async ",
    "const ",
    "unsafe ",
    "export ",
    "default ",
    "public ",
    "static ",
    "abstract ",
];

const MAX_OPENING_LINES: usize = 3;
const MAX_DESCRIBED_NAMES: usize = 8;

/// The usual extension of a language's files.
pub(super) fn extension_of_language(name: &str) -> Option<&'static str> {
    let language = LANGUAGES
        .iter()
        .find(|language| language.name.eq_ignore_ascii_case(name))?;
    language.extensions.first().copied()
}

/// A few sentences about the file at `path` that holds `text`.
pub(super) fn describe(path: &str, text: &str) -> String {
    let language = path.rsplit_once('.').and_then(|(_, extension)| {
        LANGUAGES
            .iter()
            .find(|language| language.extensions.contains(&extension))
    });
    let lines = text.lines().count();
    let noun = if lines == 1 { "line" } else { "lines" };
    let mut description = match language {
        Some(language) => format!("{path} is a {} file of {lines} {noun}.", language.name),
        None => format!("{path} is a file of a kind I do not know, with {lines} {noun}."),
    };
    let opening = opening(text, language);
    if !opening.is_empty() {
        description.push_str(&format!(" It opens with: \"{opening}\"."));
    }
    let names = language.map_or_else(Vec::new, |language| definitions(text, language));
    if names.is_empty() {
        return description;
    }
    let kind = match language.map(|language| language.name) {
        Some("Markdown") => "heading",
        Some("TOML") => "section",
        _ => "definition",
    };
    let plural = if names.len() == 1 { "" } else { "s" };
    let more = names.len().saturating_sub(MAX_DESCRIBED_NAMES);
    let shown: Vec<&str> = names
        .iter()
        .take(MAX_DESCRIBED_NAMES)
        .map(String::as_str)
        .collect();
    description.push_str(&format!(
        " I see {} {kind}{plural}: {}",
        names.len(),
        shown.join(", ")
    ));
    if more > 0 {
        description.push_str(&format!(" and {more} more"));
    }
    description.push('.');
    description
}

/// The first comment, or the first lines where there are no comments.
fn opening(text: &str, language: Option<&Language>) -> String {
    let comments = language.map_or(&[][..], |language| language.comments);
    let mut lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("#!"))
        .peekable();
    let uncommented = |line: &str| {
        comments
            .iter()
            .find_map(|mark| line.strip_prefix(mark))
            .map(|rest| {
                rest.trim_end_matches("*/")
                    .trim_matches(['"', ' '])
                    .to_owned()
            })
    };
    let commented = lines.peek().is_some_and(|line| uncommented(line).is_some());
    let opening: Vec<String> = if commented {
        lines
            .map_while(uncommented)
            .filter(|line| !line.is_empty())
            .take(MAX_OPENING_LINES)
            .collect()
    } else {
        lines.take(1).map(str::to_owned).collect()
    };
    super::report::clipped(&opening.join(" "), 240)
}

fn definitions(text: &str, language: &Language) -> Vec<String> {
    text.lines()
        .filter_map(|line| definition(line.trim_start(), language))
        .collect()
}

fn definition(line: &str, language: &Language) -> Option<String> {
    let mut line = line;
    while let Some(rest) = BEFORE_DEFINITIONS
        .iter()
        .find_map(|word| line.strip_prefix(word))
    {
        line = rest;
    }
    let rest = language
        .definitions
        .iter()
        .find_map(|begin| line.strip_prefix(begin));
    match (language.name, rest) {
        ("Markdown", Some(heading)) => Some(heading.trim().to_owned()),
        ("TOML", Some(section)) => Some(section.trim_end().trim_matches(['[', ']']).to_owned()),
        // A method's receiver stands before its name.
        ("Go", Some(rest)) if rest.starts_with('(') => identifier(rest.split_once(')')?.1.trim()),
        ("shell", None) => {
            identifier(line.split_once("()")?.0).filter(|name| line.starts_with(name))
        }
        (_, Some(rest)) => identifier(rest),
        (_, None) => None,
    }
}

fn identifier(text: &str) -> Option<String> {
    let name: String = text
        .chars()
        .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
        .collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests;
