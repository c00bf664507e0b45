//! What a prompt carries besides what was typed, in a few words each.
//!
//! What is attached stands behind the prompt's text in a form of ours, in requests and in session
//! files. This reads it back, to show the conversation.

use std::fmt;

/// How the names in a directory are headed, now and in sessions of earlier versions.
const DIRECTORY_HEADINGS: [&str; 2] = [
    ", a directory attached by the user",
    ", a folder attached by the user",
];
/// How an image is announced, now and in sessions of earlier versions.
const IMAGE_HEADINGS: [&str; 2] = [
    ": an image, attached by the user",
    ": a picture, attached by the user",
];

/// Something that was mentioned in a prompt, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// As it was mentioned.
    pub name: String,
    pub outcome: Outcome,
}

/// What became of a mention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The whole file.
    File {
        bytes: u64,
    },
    /// The beginning of a file that is longer.
    Beginning {
        bytes: u64,
        of: u64,
    },
    /// The names in a directory.
    Directory {
        entries: u64,
    },
    /// How large it is, where that is known.
    Image {
        bytes: Option<u64>,
    },
    NotAttached {
        reason: String,
    },
}

impl Part {
    /// What was mentioned and does not exist.
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

/// `a.txt 19 B`, `src 3 entries`, `gone.txt: no such file`.
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
            Outcome::Image { bytes: None } => write!(formatter, "{name} image"),
            Outcome::Image { bytes: Some(bytes) } => {
                write!(formatter, "{name} image {}", size(*bytes))
            }
            Outcome::NotAttached { reason } => write!(formatter, "{name}: {reason}"),
        }
    }
}

/// `19 B`, `1.5 KiB`, `20.0 MiB`.
fn size(bytes: u64) -> String {
    const KIB: u64 = 1024;
    match bytes {
        ..KIB => format!("{bytes} B"),
        KIB..0x10_0000 => format!("{:.1} KiB", bytes as f64 / KIB as f64),
        _ => format!("{:.1} MiB", bytes as f64 / (KIB * KIB) as f64),
    }
}

/// Where what was typed ends in a prompt, and what is attached behind it.
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

/// The parts that `text` consists of, if it consists of nothing else.
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

/// The part that `text` begins with, and what is behind it.
fn part(text: &str) -> Option<(Part, &str)> {
    let inner = text.strip_prefix('[')?;
    let line = inner.lines().next().unwrap_or_default();
    // A name may have brackets of its own.
    line.match_indices(']').find_map(|(at, _)| {
        let heading = inner.get(..at)?;
        let behind = inner.get(at + 1..)?;
        match behind.strip_prefix("\n`") {
            Some(_) => block(heading, behind.get(1..)?),
            None if behind.is_empty() || behind.starts_with('\n') => Some((note(heading)?, behind)),
            None => None,
        }
    })
}

/// A file or a directory between fences.
fn block<'a>(heading: &str, text: &'a str) -> Option<(Part, &'a str)> {
    let (fence, content) = text.split_once('\n')?;
    if fence.len() < 3 || !fence.bytes().all(|byte| byte == b'`') {
        return None;
    }
    let closing = format!("\n{fence}");
    // An empty directory has not even a line.
    let (content, behind) = match content.strip_prefix(fence) {
        Some(behind) => ("", behind),
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
                // With the line break that was before the fence.
                None if content.is_empty() => Outcome::File { bytes: 0 },
                None => Outcome::File {
                    bytes: content.len() as u64 + 1,
                },
            };
            (name, outcome)
        }
    };
    Some((Part { name, outcome }, behind))
}

/// What is said about an image, or about something that was not attached.
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
    let (name, said) = heading.split_once(": ")?;
    let reason = match said.strip_prefix("not attached, ") {
        Some(reason) => reason.strip_prefix("it ").unwrap_or(reason),
        None => said.split_once(", not attached")?.0,
    };
    Some(Part {
        name: name.to_owned(),
        outcome: Outcome::NotAttached {
            reason: reason.to_owned(),
        },
    })
}
