//! Checks the length of source files and how they print.

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::repository::{files, has_extension, shown};

/// The longest source file, in lines. Aim for half of it.
pub const MAX_LINES: usize = 800;

const SOURCES: [&str; 5] = ["rs", "py", "ts", "js", "mjs"];

/// Scripts have no extension.
const SCRIPTS: &str = "scripts";

/// How the first line of a generated file ends. The limit is for files that people read.
const GENERATED: &[u8] = b": do not edit.";

/// Returns the source files below `root` that are too long.
pub fn problems(root: &Path) -> io::Result<Vec<String>> {
    let mut problems = Vec::new();
    for path in source_files(root)? {
        let text = fs::read(&path)?;
        let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let lines = count_lines(&text);
        if lines > MAX_LINES && !first.ends_with(GENERATED) {
            problems.push(format!(
                "{} has {lines} lines: split it, {MAX_LINES} is the most",
                shown(root, &path)
            ));
        }
    }
    Ok(problems)
}

/// Returns all source files and scripts.
pub fn source_files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let scripts = root.join(SCRIPTS);
    files(root, |path| {
        has_extension(path, &SOURCES) || path.starts_with(&scripts)
    })
}

/// The crates that print untrusted text. `zot-tui` draws the screen itself, `zot-terminal` is the filter.
const PRINTING: [&str; 5] = ["zot-cli", "zot-sdk", "zot-rpc", "zino", "glasspane"];

/// Returns the lines that write to a standard stream without `zot-terminal`, which keeps untrusted text
/// from controlling a terminal.
pub fn printing_problems(root: &Path) -> io::Result<Vec<String>> {
    let mut problems = Vec::new();
    for name in PRINTING {
        let sources = root.join("crates").join(name).join("src");
        // The skeletons of `zot ext new` are not part of the program.
        let is_ours = |path: &Path| {
            !path
                .components()
                .any(|part| part.as_os_str() == "skeletons")
        };
        for path in files(&sources, |path| {
            has_extension(path, &["rs"]) && is_ours(path)
        })? {
            let text = fs::read_to_string(&path)?;
            for (line, number) in text.lines().zip(1..) {
                let names_stream = ["io::stdout()", "io::stderr()"]
                    .iter()
                    .any(|stream| line.contains(stream));
                let only_asks = ["is_terminal", "ttyname", "rustix::stdio"]
                    .iter()
                    .any(|question| line.contains(question));
                if names_stream && !only_asks {
                    let number: usize = number;
                    problems.push(format!(
                        "{}:{number} writes past zot_terminal: use its stdout() or stderr()",
                        shown(root, &path)
                    ));
                }
            }
        }
    }
    Ok(problems)
}

fn count_lines(content: &[u8]) -> usize {
    let ends = content.iter().filter(|&&byte| byte == b'\n').count();
    let unterminated = content.last().is_some_and(|&byte| byte != b'\n');
    ends + usize::from(unterminated)
}
