//! How long a source file may be.

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::repository::{files, has_extension, shown};

/// The most lines a source file may have. Aim for half of it.
pub const MAX_LINES: usize = 800;

const SOURCES: [&str; 5] = ["rs", "py", "ts", "js", "mjs"];

/// Scripts have no extension.
const SCRIPTS: &str = "scripts";

/// The source files below `root` that are too long.
pub fn complaints(root: &Path) -> io::Result<Vec<String>> {
    let mut complaints = Vec::new();
    for path in source_files(root)? {
        let lines = count_lines(&fs::read(&path)?);
        if lines > MAX_LINES {
            complaints.push(format!(
                "{} has {lines} lines: split it, {MAX_LINES} is the most",
                shown(root, &path)
            ));
        }
    }
    Ok(complaints)
}

/// Everything we wrote that is a program.
pub fn source_files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let scripts = root.join(SCRIPTS);
    files(root, |path| {
        has_extension(path, &SOURCES) || path.starts_with(&scripts)
    })
}

fn count_lines(content: &[u8]) -> usize {
    let ends = content.iter().filter(|&&byte| byte == b'\n').count();
    let unterminated = content.last().is_some_and(|&byte| byte != b'\n');
    ends + usize::from(unterminated)
}
