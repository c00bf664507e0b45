//! Suggests what a model probably meant when its old text is not in the file.
//!
//! A hint is given only when it is useful; it is bounded in time and size.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Larger files get no hint.
///
/// Limit: an edit that matched nothing gets no hint.
const MAX_HINT_FILE_BYTES: usize = 1024 * 1024;

/// Lines longer than this are not compared letter by letter.
///
/// Limit: the line is cut.
const MAX_HINT_LINE_BYTES: usize = 400;

/// The most lines of the file a hint repeats.
///
/// Limit: the hint shows no more.
const MAX_HINT_LINES: usize = 20;

/// Shorter new texts may be in a file by chance.
const MIN_ALREADY_THERE: usize = 8;

/// How similar two lines must be, from 0 to 1, to count as a match.
const MIN_RATIO: f32 = 0.75;

/// How long to search for a similar line.
///
/// Limit: an edit that matched nothing gets no hint.
const HINT_SEARCH_TIME: Duration = Duration::from_millis(50);

/// Returns one or more lines of help for an `old` that `text` does not contain.
pub(super) fn for_missing(text: &[u8], old: &[u8], new: &[u8]) -> Option<String> {
    if text.len() > MAX_HINT_FILE_BYTES {
        return None;
    }
    let (text, old, new) = (
        str::from_utf8(text).ok()?,
        str::from_utf8(old).ok()?,
        str::from_utf8(new).ok()?,
    );
    let lines: Vec<&str> = text.split('\n').collect();
    let old_lines: Vec<&str> = old.trim_matches('\n').split('\n').collect();
    white_space(&lines, &old_lines)
        .or_else(|| already_there(text, new))
        .or_else(|| common_start(&lines, &old_lines))
        .or_else(|| closest_line(&lines, &old_lines))
}

fn already_there(text: &str, new: &str) -> Option<String> {
    let there = new.trim().len() >= MIN_ALREADY_THERE && text.contains(new);
    there.then(|| "newText is already in the file; was this edit made before?".to_owned())
}

fn white_space(lines: &[&str], old_lines: &[&str]) -> Option<String> {
    let squeezed: Vec<String> = lines.iter().map(|line| squeeze(line)).collect();
    let wanted: Vec<String> = old_lines.iter().map(|line| squeeze(line)).collect();
    if wanted.iter().all(String::is_empty) {
        return None;
    }
    let matches = |window: &[String]| match (wanted.as_slice(), window) {
        ([only], [line]) => line.contains(only.as_str()),
        ([first, middle @ .., last], [line, between @ .., end]) => {
            line.ends_with(first.as_str()) && middle == between && end.starts_with(last.as_str())
        }
        _ => false,
    };
    let start = squeezed.windows(wanted.len()).position(matches)?;
    let count = wanted.len().min(MAX_HINT_LINES);
    Some(format!(
        "the file differs only in white space at {}:\n{}",
        line_range(start, wanted.len()),
        lines[start..start + count].join("\n")
    ))
}

/// Finds the longest match of the first lines of the old text, and the line where the file differs.
fn common_start(lines: &[&str], old_lines: &[&str]) -> Option<String> {
    let (first, rest) = old_lines.split_first()?;
    if rest.is_empty() || first.trim().is_empty() {
        return None;
    }
    let run = |start: usize| {
        lines[start..]
            .iter()
            .zip(old_lines)
            .take_while(|(line, old)| line == old)
            .count()
    };
    let (start, length) = (0..lines.len())
        .map(|start| (start, run(start)))
        .filter(|(_, length)| *length > 0)
        .max_by_key(|&(start, length)| (length, usize::MAX - start))?;
    let found = match lines.get(start + length) {
        Some(line) => format!("but line {} of the file is:\n{line}", start + length + 1),
        None => "but the file ends there".to_owned(),
    };
    Some(format!(
        "the beginning of oldText is at {}, {found}",
        line_range(start, length)
    ))
}

fn closest_line(lines: &[&str], old_lines: &[&str]) -> Option<String> {
    let wanted = old_lines
        .iter()
        .map(|line| line.trim())
        .filter(|line| line.len() <= MAX_HINT_LINE_BYTES)
        .max_by_key(|line| line.len())?;
    let wanted_letters: Vec<char> = wanted.chars().collect();
    let deadline = Instant::now() + HINT_SEARCH_TIME;
    let mut best: Option<(usize, f32)> = None;
    for (index, line) in lines.iter().enumerate() {
        let candidate = line.trim();
        // The ratio cannot be higher than the lengths allow; this spares most comparisons.
        let shared = 2 * candidate.len().min(wanted.len());
        let highest = shared as f32 / (candidate.len() + wanted.len()).max(1) as f32;
        if highest < MIN_RATIO || candidate.len() > MAX_HINT_LINE_BYTES {
            continue;
        }
        let ratio = similarity(&wanted_letters, &candidate.chars().collect::<Vec<_>>());
        if ratio >= best.map_or(MIN_RATIO, |(_, ratio)| ratio + f32::EPSILON) {
            best = Some((index, ratio));
        }
        if Instant::now() > deadline {
            break;
        }
    }
    let (index, _) = best?;
    Some(format!(
        "the closest match is line {}:\n{}",
        index + 1,
        lines[index]
    ))
}

/// Returns the share of letters, from 0 to 1, that both have in the same order.
fn similarity(left: &[char], right: &[char]) -> f32 {
    let common: usize = capture_diff_slices(Algorithm::Myers, left, right)
        .iter()
        .map(|operation| match operation {
            DiffOp::Equal { len, .. } => *len,
            _ => 0,
        })
        .sum();
    2.0 * common as f32 / (left.len() + right.len()).max(1) as f32
}

fn squeeze(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn line_range(start: usize, count: usize) -> String {
    match count {
        0 | 1 => format!("line {}", start + 1),
        _ => format!("lines {}-{}", start + 1, start + count),
    }
}
