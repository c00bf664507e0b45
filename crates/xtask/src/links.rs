//! Checks links between the documents of this repository.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use crate::repository::{files, has_extension, shown};

/// Returns the broken relative links of all documents below `root`: missing files and missing headings.
pub fn problems(root: &Path) -> io::Result<Vec<String>> {
    let mut problems = Vec::new();
    for path in files(root, |path| has_extension(path, &["md"]))? {
        let text = fs::read_to_string(&path)?;
        for (line, target) in relative_targets(&text) {
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let linked = match file.strip_prefix('/') {
                Some(file) => root.join(file),
                None if file.is_empty() => path.clone(),
                None => path.parent().unwrap_or(root).join(file),
            };
            let problem = if !linked.exists() {
                "missing file"
            } else if !anchor.is_empty() && !has_anchor(&linked, anchor)? {
                "missing heading"
            } else {
                continue;
            };
            let document = shown(root, &path);
            problems.push(format!("{document}:{line}: {problem} {target}"));
        }
    }
    Ok(problems)
}

/// Returns whether the file has a heading that `#anchor` leads to. Only documents are checked.
fn has_anchor(file: &Path, anchor: &str) -> io::Result<bool> {
    if !has_extension(file, &["md"]) {
        return Ok(true);
    }
    let text = fs::read_to_string(file)?;
    Ok(anchors(&text).iter().any(|known| known == anchor))
}

/// Returns the anchors of all headings, as GitHub names them.
fn anchors(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (_, line) in prose(text) {
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let anchor = anchor(heading);
        let count = counts.entry(anchor.clone()).or_default();
        found.push(match *count {
            0 => anchor,
            repeated => format!("{anchor}-{repeated}"),
        });
        *count += 1;
    }
    found
}

fn anchor(heading: &str) -> String {
    let kept = heading
        .trim()
        .chars()
        .filter_map(|character| match character {
            ' ' => Some('-'),
            '-' | '_' => Some(character),
            _ => character.is_alphanumeric().then_some(character),
        });
    kept.collect::<String>().to_lowercase()
}

/// Returns the targets of links within the repository with their line numbers. Skips code.
fn relative_targets(text: &str) -> Vec<(usize, String)> {
    let mut targets = Vec::new();
    for (number, line) in prose(text) {
        let line = without_code(line);
        let found = inline_targets(&line).chain(definition(&line));
        let relative = found.filter(|target| is_relative(target));
        targets.extend(relative.map(|target| (number, target.to_owned())));
    }
    targets
}

/// Returns the lines outside of fenced code, with their numbers.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
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
            (None, None) => lines.push((index + 1, line)),
        }
    }
    lines
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
    // The documents of packages are templates: `{{repository}}` becomes an address.
    let is_placeholder = target.starts_with("{{");
    !target.contains("://") && !target.starts_with("mailto:") && !is_placeholder
}
