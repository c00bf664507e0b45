//! Finds where an arriving block can be cut so that its lines above the cut are final.

use super::render;
use crate::style::Theme;

/// How much of a block is rendered again for every delta; longer blocks are cut.
///
/// Limit: the finished part of an arriving block becomes final, where it can be cut.
pub(super) const MAX_LIVE_BLOCK_BYTES: usize = 1_500;

/// How much of the end is never cut off: its meaning may still change.
const KEPT_LIVE_BYTES: usize = 400;

/// Lines of a list before its first items become final.
///
/// Limit: whole items of a longer list become final.
const MAX_ITEM_LINES: usize = 4;

/// How many positions are tried for a cut.
const MAX_CUT_ATTEMPTS: usize = 40;

/// A block of this length is cut anywhere: its appearance there matters less than rendering all of it
/// again for every frame.
///
/// Limit: a block without a good position to cut is cut anywhere.
const MAX_UNCUT_BYTES: usize = 32 * 1024;

/// How much of an unfinished line of code is shown.
///
/// Limit: only the end of an unfinished line of code is shown.
pub(super) const MAX_CODE_LINE_BYTES: usize = 16 * 1024;

/// Returns where the final part of `text` ends, if it has one.
pub(super) fn find(text: &str, columns: usize, theme: &Theme) -> Option<usize> {
    let end = text.floor_char_boundary(text.len().saturating_sub(KEPT_LIVE_BYTES));
    match is_item(text.lines().next()?) {
        true => find_item(&text[..end]),
        false if is_paragraph(text) => find_line(text, end, columns, theme),
        false => None,
    }
}

/// Returns where to cut a block without a good position: after a line, a word or a character.
pub(super) fn force(text: &str) -> Option<usize> {
    if text.len() < MAX_UNCUT_BYTES {
        return None;
    }
    let end = text.floor_char_boundary(text.len() - KEPT_LIVE_BYTES);
    let head = &text[..end];
    let cut = head
        .rfind('\n')
        .or_else(|| head.rfind(' '))
        .map(|at| at + 1);
    cut.or(Some(end)).filter(|cut| *cut > 0)
}

/// Returns where the last item of a list begins, which completes the ones before it.
fn find_item(text: &str) -> Option<usize> {
    let starts = text.match_indices('\n').map(|(at, _)| at + 1);
    starts.rev().find(|start| is_item(&text[*start..]))
}

/// Returns where a list's complete items end, once there are enough of them. The lines of an
/// unfinished list are only on the screen, so there should be few of them.
pub(super) fn find_complete_items(text: &str) -> Option<usize> {
    if !is_item(text) || text.matches('\n').count() < MAX_ITEM_LINES {
        return None;
    }
    let last = text.trim_end_matches('\n').rfind('\n')? + 1;
    // Cut off, an item without a number of its own would start a list at one again.
    find_item(&text[..last])
        .filter(|at| number(&text[*at..]) > number(text) || number(text).is_none())
}

fn number(item: &str) -> Option<u64> {
    let end = item.find(|c: char| !c.is_ascii_digit())?;
    item[..end].parse().ok()
}

/// Returns a position within a paragraph where a line ends on the screen.
fn find_line(text: &str, end: usize, columns: usize, theme: &Theme) -> Option<usize> {
    let positions = balanced_ends(&text[..end]).into_iter().rev();
    // What comes next must continue the text and not begin a new block.
    let positions = positions.filter(|at| text[*at..].starts_with(char::is_alphabetic));
    positions.take(MAX_CUT_ATTEMPTS).find(|at| {
        let word = text[*at..].find([' ', '\n']).unwrap_or(text.len() - at);
        let before = render(&text[..*at], columns, theme);
        let after = render(&text[..*at + word], columns, theme);
        after.len() > before.len() && after.starts_with(&before)
    })
}

/// Returns whether a line begins an item of a list that is not nested.
fn is_item(line: &str) -> bool {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match digits {
        0 => ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark)),
        digits => [". ", ") "]
            .iter()
            .any(|mark| line[digits..].starts_with(mark)),
    }
}

/// Returns whether there are only lines of text: no table, quotation, heading or indented code.
fn is_paragraph(text: &str) -> bool {
    let is_text =
        |line: &str| line.starts_with(|c: char| c.is_alphanumeric() || "\"'(*_`".contains(c));
    text.lines().all(is_text) && !text.contains('|') && !text.lines().any(is_item)
}

/// Returns the ends of whitespace where no emphasis, code or link is open.
fn balanced_ends(text: &str) -> Vec<usize> {
    const MARKS: [char; 4] = ['*', '_', '`', '~'];
    const BRACKETS: [(char, char); 3] = [('[', ']'), ('(', ')'), ('<', '>')];
    let mut is_open = [false; MARKS.len()];
    let mut depths = [0_isize; BRACKETS.len()];
    let mut ends = Vec::new();
    for (at, character) in text.char_indices() {
        if matches!(character, ' ' | '\n') {
            if is_open == [false; MARKS.len()] && depths == [0; BRACKETS.len()] {
                ends.push(at + 1);
            }
            continue;
        }
        if let Some(index) = MARKS.iter().position(|mark| *mark == character) {
            is_open[index] = !is_open[index];
        }
        for (depth, (open, close)) in depths.iter_mut().zip(BRACKETS) {
            *depth += isize::from(character == open) - isize::from(character == close);
        }
    }
    ends
}
