//! The screen of the pager.

use super::{Pager, matches};
use crate::style::{Style, Theme};
use crate::text::Line;

/// All rows of a screen, and where the cursor is.
pub(crate) type Screen = (Vec<Line>, Option<(usize, usize)>);

/// Returns all rows of the screen, the last with the position, and where the cursor is while a search
/// is typed.
pub(crate) fn screen(pager: &Pager, theme: &Theme) -> Screen {
    let (columns, page) = pager.size();
    let lines = pager.visible();
    let mut lines: Vec<Line> = lines.map(|line| marked(line, &pager.query)).collect();
    lines.resize(page, Line::default());
    if let Some(typed) = &pager.typing {
        let line = Line::styled(format!("/{typed}"), Style::PLAIN).clipped(columns);
        let cursor = (page, line.width().min(columns.saturating_sub(1)));
        lines.push(line);
        return (lines, Some(cursor));
    }
    lines.push(foot(pager, theme, columns, page));
    (lines, None)
}

fn foot(pager: &Pager, theme: &Theme, columns: usize, page: usize) -> Line {
    let count = pager.count();
    let last = (pager.top + page).min(count);
    let first = (pager.top + 1).min(count);
    let mut line = Line::styled(format!("lines {first}–{last} of {count}"), theme.accent);
    if let Some(remark) = &pager.remark {
        line.push(format!(" · {remark}"), theme.warning);
    }
    let keys = match pager.query.is_empty() {
        true => " · / search · pgup, pgdn, g, G · q back to the chat",
        false => " · n, N next, previous · / search · q back to the chat",
    };
    line.push(keys, theme.muted);
    line.clipped(columns)
}

/// Returns a line with the matches of the search highlighted.
fn marked(line: &Line, query: &str) -> Line {
    let found = matches(&line.text(), query);
    if found.is_empty() {
        return line.clone();
    }
    let mut marked = Line::default();
    let mut at = 0;
    for span in &line.0 {
        for character in span.text.split_inclusive(|_: char| true) {
            let is_found = found.iter().any(|range| range.contains(&at));
            let style = match is_found {
                true => span.style.reverse(),
                false => span.style,
            };
            marked.push(character, style);
            at += character.len();
        }
    }
    marked
}
