//! Where a block that is still arriving can be cut: its lines above that place will not change.

use super::render;
use crate::style::Theme;

/// The part of a block that is rendered again for every delta; longer blocks are cut.
///
/// Limit: the finished part of an arriving block becomes final, where it can be cut.
pub(super) const MAX_LIVE_BLOCK_BYTES: usize = 1_500;

/// The part at the end that is never cut: its meaning may still change.
const KEPT_LIVE_BYTES: usize = 400;

/// Lines of a list before its first items become final.
///
/// Limit: whole items of a longer list become final.
const MAX_ITEM_LINES: usize = 4;

/// Cutting places that are tried.
const MAX_CUT_ATTEMPTS: usize = 40;

/// A block of this length is cut anywhere: its appearance there matters less than rendering all of it
/// again for every frame.
///
/// Limit: a block without a good place to cut is cut anywhere.
const MAX_UNCUT_BYTES: usize = 32 * 1024;

/// The part of an unfinished line of code that is shown.
///
/// Limit: only the end of an unfinished line of code is shown.
pub(super) const MAX_CODE_LINE_BYTES: usize = 16 * 1024;

/// Where the final part of `text` ends, if it has one.
pub(super) fn find(text: &str, columns: usize, theme: &Theme) -> Option<usize> {
    let end = text.floor_char_boundary(text.len().saturating_sub(KEPT_LIVE_BYTES));
    match item_mark(text.lines().next()?) {
        true => find_item(&text[..end]),
        false if is_paragraph(text) => find_line(text, end, columns, theme),
        false => None,
    }
}

/// Where to cut a block without a good place: after a line, a word or a character.
pub(super) fn force(text: &str) -> Option<usize> {
    if text.len() < MAX_UNCUT_BYTES {
        return None;
    }
    let end = text.floor_char_boundary(text.len() - KEPT_LIVE_BYTES);
    let head = &text[..end];
    let place = head
        .rfind('\n')
        .or_else(|| head.rfind(' '))
        .map(|at| at + 1);
    place.or(Some(end)).filter(|place| *place > 0)
}

/// The last item of a list begins where the ones before it have ended.
fn find_item(text: &str) -> Option<usize> {
    let starts = text.match_indices('\n').map(|(at, _)| at + 1);
    starts.rev().find(|start| item_mark(&text[*start..]))
}

/// The end of a list's complete items, once there are enough of them. The lines of an
/// unfinished list are only on the screen, so there should be few of them.
pub(super) fn find_whole_items(text: &str) -> Option<usize> {
    if !item_mark(text) || text.matches('\n').count() < MAX_ITEM_LINES {
        return None;
    }
    let last = text.trim_end_matches('\n').rfind('\n')? + 1;
    // An item that was numbered by the list would be the first of another one.
    find_item(&text[..last])
        .filter(|at| number(&text[*at..]) > number(text) || number(text).is_none())
}

fn number(item: &str) -> Option<u64> {
    let end = item.find(|c: char| !c.is_ascii_digit())?;
    item[..end].parse().ok()
}

/// A place within a paragraph where a line ends on the screen.
fn find_line(text: &str, end: usize, columns: usize, theme: &Theme) -> Option<usize> {
    let places = balanced_ends(&text[..end]).into_iter().rev();
    // What comes next must continue the text and not begin a new block.
    let places = places.filter(|at| text[*at..].starts_with(char::is_alphabetic));
    places.take(MAX_CUT_ATTEMPTS).find(|at| {
        let word = text[*at..].find([' ', '\n']).unwrap_or(text.len() - at);
        let before = render(&text[..*at], columns, theme);
        let after = render(&text[..*at + word], columns, theme);
        after.len() > before.len() && after.starts_with(&before)
    })
}

/// A line of a list that is not within another item.
fn item_mark(line: &str) -> bool {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match digits {
        0 => ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark)),
        digits => [". ", ") "]
            .iter()
            .any(|mark| line[digits..].starts_with(mark)),
    }
}

/// Nothing but lines of text: no table, quotation, heading or indented code.
fn is_paragraph(text: &str) -> bool {
    let begins =
        |line: &str| line.starts_with(|c: char| c.is_alphanumeric() || "\"'(*_`".contains(c));
    text.lines().all(begins) && !text.contains('|') && !text.lines().any(item_mark)
}

/// The ends of blanks where no emphasis, code or link is open.
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
        if let Some(place) = MARKS.iter().position(|mark| *mark == character) {
            is_open[place] = !is_open[place];
        }
        for (depth, (open, close)) in depths.iter_mut().zip(BRACKETS) {
            *depth += isize::from(character == open) - isize::from(character == close);
        }
    }
    ends
}
