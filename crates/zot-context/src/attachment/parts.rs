//! Describes what is attached to a prompt.
//!
//! Attachments follow the prompt's text in zot's own format, in requests and in session files. This
//! parses them again, to show the conversation.

use std::fmt;

/// The headings of a directory listing, now and in sessions of earlier versions.
const DIRECTORY_HEADINGS: [&str; 2] = [
    ", a directory attached by the user",
    ", a folder attached by the user",
];
/// The headings of an image, now and in sessions of earlier versions.
const IMAGE_HEADINGS: [&str; 2] = [
    ": an image, attached by the user",
    ": a picture, attached by the user",
];

/// Something that a prompt mentions, and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// As it was mentioned.
    pub name: String,
    pub outcome: Outcome,
}

/// The outcome of a mention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The whole file.
    File {
        bytes: u64,
    },
    /// The beginning of a longer file.
    Beginning {
        bytes: u64,
        of: u64,
    },
    /// The names in a directory.
    Directory {
        entries: u64,
    },
    /// A resource of a server, which is read when the prompt is sent.
    Resource,
    /// An image, with its size if known.
    Image {
        bytes: Option<u64>,
    },
    NotAttached {
        reason: String,
    },
}

impl Part {
    /// Creates the part for something that does not exist.
    pub(super) fn missing(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            outcome: Outcome::NotAttached {
                reason: "no such file".to_owned(),
            },
        }
    }

    pub fn is_attached(&self) -> bool {
        !matches!(self.outcome, Outcome::NotAttached { .. })
    }
}

/// Writes `a.txt 19 B`, `src 3 entries` or `gone.txt: no such file`.
impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.outcome {
            Outcome::File { bytes } => write!(formatter, "{name} {}", size(*bytes)),
            Outcome::Beginning { bytes, of } => {
                write!(formatter, "{name} {} of {}", size(*bytes), size(*of))
            }
            Outcome::Directory { entries: 1 } => write!(formatter, "{name} 1 entry"),
            Outcome::Directory { entries } => write!(formatter, "{name} {entries} entries"),
            Outcome::Resource => write!(formatter, "{name} resource"),
            Outcome::Image { bytes: None } => write!(formatter, "{name} image"),
            Outcome::Image { bytes: Some(bytes) } => {
                write!(formatter, "{name} image {}", size(*bytes))
            }
            Outcome::NotAttached { reason } => write!(formatter, "{name}: {reason}"),
        }
    }
}

/// Formats a size: `19 B`, `1.5 KiB`, `20.0 MiB`.
fn size(bytes: u64) -> String {
    const KIB: u64 = 1024;
    match bytes {
        ..KIB => format!("{bytes} B"),
        KIB..0x10_0000 => format!("{:.1} KiB", bytes as f64 / KIB as f64),
        _ => format!("{:.1} MiB", bytes as f64 / (KIB * KIB) as f64),
    }
}

/// Returns where the typed text ends in a prompt, and what is attached after it.
pub fn attached_parts(prompt: &str) -> (usize, Vec<Part>) {
    let starts = prompt.match_indices("\n\n[").map(|(at, _)| (at, at + 2));
    let starts = prompt
        .starts_with('[')
        .then_some((0, 0))
        .into_iter()
        .chain(starts);
    for (end_of_typed, start) in starts {
        let rest = prompt.get(start..).unwrap_or_default();
        if let Some(parts) = all_parts(rest) {
            return (end_of_typed, parts);
        }
    }
    (prompt.len(), Vec::new())
}

/// Parses `text` as a list of parts, if it consists of nothing else.
fn all_parts(mut text: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    loop {
        let (part, rest) = part(text)?;
        parts.push(part);
        match rest.trim_end().is_empty() {
            true => return Some(parts),
            false => text = rest.strip_prefix("\n\n")?,
        }
    }
}

/// Parses the part that `text` begins with, and returns the rest.
fn part(text: &str) -> Option<(Part, &str)> {
    let inner = text.strip_prefix('[')?;
    let line = inner.lines().next().unwrap_or_default();
    // A name may contain brackets.
    line.match_indices(']').find_map(|(at, _)| {
        let heading = inner.get(..at)?;
        let after = inner.get(at + 1..)?;
        match after.strip_prefix("\n`") {
            Some(_) => block(heading, after.get(1..)?),
            None if after.is_empty() || after.starts_with('\n') => Some((note(heading)?, after)),
            None => None,
        }
    })
}

/// Parses a file or a directory between fences.
fn block<'a>(heading: &str, text: &'a str) -> Option<(Part, &'a str)> {
    let (fence, content) = text.split_once('\n')?;
    if fence.len() < 3 || !fence.bytes().all(|byte| byte == b'`') {
        return None;
    }
    let closing = format!("\n{fence}");
    // The listing of an empty directory has no line.
    let (content, after) = match content.strip_prefix(fence) {
        Some(after) => ("", after),
        None => content.split_once(closing.as_str())?,
    };
    let name_before = |what: &str| {
        let (name, rest) = heading.split_once(what)?;
        Some((name.to_owned(), rest))
    };
    let directory = DIRECTORY_HEADINGS.iter().find_map(|what| name_before(what));
    let (name, outcome) = match directory {
        Some((name, rest)) => {
            let listed = content.lines().filter(|line| !line.is_empty()).count();
            let all = rest.trim_end_matches(" entries").rsplit(' ').next();
            let entries = all.and_then(|all| all.parse().ok());
            let entries = entries.unwrap_or(listed as u64);
            (name, Outcome::Directory { entries })
        }
        None => {
            let (name, rest) = name_before(", attached by the user")?;
            let cut = rest.strip_prefix(": the first ");
            let cut = cut.and_then(|rest| rest.split_once(" bytes"));
            let cut = cut.and_then(|(numbers, _)| numbers.split_once(" of "));
            let outcome = match cut {
                Some((bytes, of)) => Outcome::Beginning {
                    bytes: bytes.parse().ok()?,
                    of: of.parse().ok()?,
                },
                // Includes the line break before the fence.
                None if content.is_empty() => Outcome::File { bytes: 0 },
                None => Outcome::File {
                    bytes: content.len() as u64 + 1,
                },
            };
            (name, outcome)
        }
    };
    Some((Part { name, outcome }, after))
}

/// Parses the note on an image, or on something that was not attached.
fn note(heading: &str) -> Option<Part> {
    let image = IMAGE_HEADINGS
        .iter()
        .find_map(|what| heading.strip_suffix(what));
    if let Some(name) = image {
        return Some(Part {
            name: name.to_owned(),
            outcome: Outcome::Image { bytes: None },
        });
    }
    let (name, status) = heading.split_once(": ")?;
    let reason = match status.strip_prefix("not attached, ") {
        Some(reason) => reason.strip_prefix("it ").unwrap_or(reason),
        None => status.split_once(", not attached")?.0,
    };
    Some(Part {
        name: name.to_owned(),
        outcome: Outcome::NotAttached {
            reason: reason.to_owned(),
        },
    })
}
