//! Checks links between the documents of this repository.

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::Path;

use crate::repository::{files, has_extension, shown};

/// Returns the broken relative links of all documents below `root`.
pub fn problems(root: &Path) -> io::Result<Vec<String>> {
    let mut problems = Vec::new();
    for path in files(root, |path| has_extension(path, &["md"]))? {
        let text = fs::read_to_string(&path)?;
        let directory = path.parent().unwrap_or(root);
        for (line, target) in relative_targets(&text) {
            let file = target.split('#').next().unwrap_or_default();
            let base = if file.starts_with('/') {
                root
            } else {
                directory
            };
            if !base.join(file.trim_start_matches('/')).exists() {
                let document = shown(root, &path);
                problems.push(format!("{document}:{line}: missing file {target}"));
            }
        }
    }
    Ok(problems)
}

/// Returns the targets of links to other files with their line numbers. Skips code.
fn relative_targets(text: &str) -> Vec<(usize, String)> {
    let mut targets = Vec::new();
    let mut fence: Option<&str> = None;
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                let line = without_code(line);
                let found = inline_targets(&line).chain(definition(&line));
                let relative = found.filter(|target| is_relative(target));
                targets.extend(relative.map(|target| (index + 1, target.to_owned())));
            }
        }
    }
    targets
}

/// Returns the line without its code spans.
fn without_code(line: &str) -> String {
    let parts = line.split('`').step_by(2);
    parts.collect::<Vec<_>>().join("`")
}

/// `[text](target)` and `[text](target "title")`.
fn inline_targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let inside = rest.split_once(')')?.0;
        inside.split_whitespace().next()
    })
}

/// `[label]: target`.
fn definition(line: &str) -> Option<&str> {
    let (label, rest) = line.trim_start().strip_prefix('[')?.split_once("]:")?;
    if label.contains(']') {
        return None;
    }
    rest.split_whitespace().next()
}

fn is_relative(target: &str) -> bool {
    let has_scheme = target.contains("://") || target.starts_with("mailto:");
    !has_scheme && !target.starts_with('#')
}
