//! A project's instructions to every agent that works there.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::file::{Cut, ReadError, read_beginning, require_inside, text_of_beginning};
use crate::problem::{Problem, ProblemCause};

/// The names of such files, in the order they are read in one directory.
const NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", ".zot/instructions.md"];

/// The most bytes of one file.
///
/// Limit: the file is cut, with a note.
const MAX_INSTRUCTIONS_FILE_BYTES: usize = 32 * 1024;

/// The most bytes of all files together: they are paid for with every request.
///
/// Limit: further files are left out, with a warning.
const MAX_INSTRUCTIONS_BYTES: usize = 64 * 1024;

/// How many directories above the working directory are searched.
///
/// Limit: directories further up are not searched.
const MAX_PARENT_DIRECTORIES: usize = 32;

/// One file of instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    pub path: PathBuf,
    /// The path as seen from the working directory.
    pub shown: String,
    pub text: String,
}

impl InstructionFile {
    /// Formats the file as part of a system prompt.
    pub fn section(&self) -> String {
        format!(
            "<instructions from=\"{}\">\n{}\n</instructions>",
            self.shown,
            self.text.trim()
        )
    }
}

/// The instructions for a working directory, nearest first.
#[derive(Debug, Default)]
pub struct Instructions {
    pub files: Vec<InstructionFile>,
    pub problems: Vec<Problem>,
}

impl Instructions {
    /// The introduction to the files.
    pub const HEADING: &'static str = "What this project asks of everyone who works in it. The \
        nearest file comes first; where two contradict each other, the first one counts.";
}

/// Reads the instructions for `cwd` (absolute): in the directory itself and those above it, up to the
/// root of the repository. Outside a repository, only the directory itself counts.
pub fn find_instructions(cwd: &Path) -> Instructions {
    let mut found = Instructions::default();
    // A link to a directory of a repository is in the repository.
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    let directories = directories(&cwd);
    let Some(root) = directories.last() else {
        return found;
    };
    let mut seen = HashSet::new();
    let mut left = MAX_INSTRUCTIONS_BYTES;
    for (level, directory) in directories.iter().enumerate() {
        for name in NAMES {
            let path = directory.join(name);
            let shown = shown(level, name);
            let file = match read(&path, root, &mut seen) {
                Ok(Some(file)) => file,
                Ok(None) => continue,
                Err(error) if error.is_absence() => continue,
                Err(error) => {
                    found.problems.push(Problem::new(path, error));
                    continue;
                }
            };
            // One file under two names is often a copy, not a link.
            if found.files.iter().any(|other| other.text == file.text) {
                continue;
            }
            if file.text.len() > left {
                let cause = ProblemCause::OverAll {
                    limit: MAX_INSTRUCTIONS_BYTES,
                };
                found.problems.push(Problem::new(path, cause));
                continue;
            }
            left -= file.text.len();
            if let Some(cause) = file.cut() {
                found.problems.push(Problem::new(&path, cause));
            }
            found.files.push(InstructionFile {
                path,
                shown,
                text: file.text,
            });
        }
    }
    found
}

/// Returns the root of the repository that contains `cwd`, or `cwd` itself.
pub fn project_root(cwd: &Path) -> PathBuf {
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    directories(&cwd).pop().unwrap_or(cwd)
}

/// Returns the directories to search, nearest first.
///
/// The search ends at another user's directory: in a shared directory such as `/tmp`, anyone can
/// put a repository above the working directory.
fn directories(cwd: &Path) -> Vec<PathBuf> {
    let owner = |path: &Path| path.metadata().ok().as_ref().map(Metadata::uid);
    let own = owner(cwd);
    let reachable: Vec<&Path> = cwd
        .ancestors()
        .take(MAX_PARENT_DIRECTORIES)
        .take_while(|directory| owner(directory) == own)
        .collect();
    let root = reachable
        .iter()
        .position(|directory| directory.join(".git").symlink_metadata().is_ok())
        .unwrap_or(0);
    let inside = reachable.into_iter().take(root + 1);
    inside.map(Path::to_owned).collect()
}

struct Read {
    text: String,
    length: u64,
}

impl Read {
    fn cut(&self) -> Option<ProblemCause> {
        (self.length > MAX_INSTRUCTIONS_FILE_BYTES as u64).then_some(ProblemCause::Cut {
            kept: MAX_INSTRUCTIONS_FILE_BYTES,
            length: self.length,
        })
    }
}

/// Reads a file, unless it is empty or was read under another name.
fn read(path: &Path, root: &Path, seen: &mut HashSet<PathBuf>) -> Result<Option<Read>, ReadError> {
    // A dangling link is a mistake, not absence.
    let resolved = match require_inside(path, root) {
        Err(ReadError::System(error)) if path.is_symlink() => {
            return Err(ReadError::System(std::io::Error::other(format!(
                "the link leads nowhere ({error})"
            ))));
        }
        resolved => resolved?,
    };
    if !seen.insert(resolved.clone()) {
        return Ok(None);
    }
    let beginning = read_beginning(&resolved, MAX_INSTRUCTIONS_FILE_BYTES)?;
    let length = beginning.length;
    let cut = match length > MAX_INSTRUCTIONS_FILE_BYTES as u64 {
        true => Cut::Somewhere,
        false => Cut::Nowhere,
    };
    let mut text = text_of_beginning(beginning.bytes, cut)?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    if cut == Cut::Somewhere {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n[cut here: the file has {length} bytes, read it for the rest]"
        );
    }
    Ok(Some(Read { text, length }))
}

fn shown(level: usize, name: &str) -> String {
    let mut shown = "../".repeat(level);
    shown.push_str(name);
    shown
}
