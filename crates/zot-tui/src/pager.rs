//! A full screen for reading the whole transcript: everything unfolded, with a search.
//!
//! Each line is laid out once, and only visible ones are drawn.

#[cfg(test)]
mod tests;
mod view;

use crate::app::{Key, KeyCode, Log, item_lines};
use crate::style::Theme;
use crate::text::Line;

pub(crate) use view::{Screen, screen};

/// How long a search can be.
///
/// Limit: more of a search cannot be typed.
const MAX_QUERY_BYTES: usize = 200;

/// Whether the pager stays open after a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    Continues,
    Ended,
}

#[derive(Debug, Default)]
pub(crate) struct Pager {
    columns: usize,
    /// Without the last row, which shows the position.
    page: usize,
    lines: Vec<Line>,
    /// Where each item of the log begins.
    starts: Vec<usize>,
    /// How many items of the log have been laid out.
    laid_out: u64,
    /// What is still arriving.
    arriving: Vec<Line>,
    pub(crate) top: usize,
    /// Stays at the end when lines are added.
    follows_end: bool,
    pub(crate) query: String,
    /// The search while it is being typed.
    pub(crate) typing: Option<String>,
    pub(crate) remark: Option<String>,
}

impl Pager {
    /// Opens at the end.
    pub(crate) fn new(log: &Log, arriving: Vec<Line>, size: (usize, usize), theme: &Theme) -> Self {
        let mut pager = Self::default();
        pager.resize(log, size, theme);
        pager.arriving = arriving;
        pager.top = pager.last_top();
        pager.follows_end = true;
        pager
    }

    /// Lays everything out for a new size. What was at the top stays there.
    pub(crate) fn resize(&mut self, log: &Log, (columns, rows): (usize, usize), theme: &Theme) {
        self.page = rows.saturating_sub(1).max(1);
        if columns != self.columns {
            let item = self.starts.partition_point(|start| *start <= self.top);
            let old_start = self.starts.get(item.wrapping_sub(1)).copied();
            let within = self.top - old_start.unwrap_or(0);
            self.columns = columns;
            self.lines.clear();
            self.starts.clear();
            self.laid_out = log.total() - log.len() as u64;
            self.add_new(log, theme);
            let start = self.starts.get(item.wrapping_sub(1)).copied();
            self.top = start.unwrap_or(0) + within;
        }
        self.limit_top();
    }

    /// Adds new items of the log.
    pub(crate) fn update(&mut self, log: &Log, arriving: Vec<Line>, theme: &Theme) {
        self.add_new(log, theme);
        self.arriving = arriving;
        self.limit_top();
    }

    fn add_new(&mut self, log: &Log, theme: &Theme) {
        let new = usize::try_from(log.total() - self.laid_out).unwrap_or(usize::MAX);
        for index in log.len().saturating_sub(new)..log.len() {
            if let Some(entry) = log.get(index) {
                self.starts.push(self.lines.len());
                let lines = item_lines(&entry.item, self.columns, theme, true);
                // Code is not wrapped yet: in the scrollback, the terminal does that.
                for line in lines {
                    match line.width() > self.columns {
                        true => self.lines.extend(crate::text::wrap(&line, self.columns, 0)),
                        false => self.lines.push(line),
                    }
                }
            }
        }
        self.laid_out = log.total();
    }

    fn limit_top(&mut self) {
        let last = self.last_top();
        if self.follows_end || self.top > last {
            self.top = last;
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.lines.len() + self.arriving.len()
    }

    fn last_top(&self) -> usize {
        self.count().saturating_sub(self.page)
    }

    pub(crate) fn line(&self, index: usize) -> Option<&Line> {
        match index.checked_sub(self.lines.len()) {
            None => self.lines.get(index),
            Some(index) => self.arriving.get(index),
        }
    }

    /// Returns the lines on the screen.
    pub(crate) fn visible(&self) -> impl Iterator<Item = &Line> {
        let last = (self.top + self.page).min(self.count());
        (self.top..last).filter_map(|index| self.line(index))
    }

    pub(crate) fn size(&self) -> (usize, usize) {
        (self.columns, self.page)
    }

    /// Shows the item this far from the end of the log.
    pub(crate) fn show(&mut self, from_end: usize) {
        let item = self.starts.len().checked_sub(from_end + 1);
        let start = item.and_then(|item| self.starts.get(item)).copied();
        self.go_to(start.unwrap_or(0));
    }

    fn go_to(&mut self, top: usize) {
        self.top = top.min(self.last_top());
        self.follows_end = self.top == self.last_top();
    }

    pub(crate) fn press(&mut self, key: &Key) -> Reading {
        self.remark = None;
        if let Some(typed) = self.typing.take() {
            self.press_typing(typed, key);
            return Reading::Continues;
        }
        let (top, page) = (self.top, self.page);
        let to = match (key.control, key.code) {
            (false, KeyCode::Character('q') | KeyCode::Escape)
            | (true, KeyCode::Character('c' | 'o' | 'd')) => return Reading::Ended,
            (false, KeyCode::Up | KeyCode::Character('k')) => top.saturating_sub(1),
            (false, KeyCode::Down | KeyCode::Enter | KeyCode::Character('j')) => top + 1,
            (false, KeyCode::PageUp | KeyCode::Character('b'))
            | (true, KeyCode::Character('b')) => top.saturating_sub(page),
            (false, KeyCode::PageDown | KeyCode::Character(' ' | 'f'))
            | (true, KeyCode::Character('f')) => top + page,
            (false, KeyCode::Home | KeyCode::Character('g')) => 0,
            (false, KeyCode::End | KeyCode::Character('G')) => usize::MAX,
            (false, KeyCode::Character('/')) => {
                self.typing = Some(String::new());
                return Reading::Continues;
            }
            (false, KeyCode::Character('n')) => return self.search(Direction::Down),
            (false, KeyCode::Character('N')) => return self.search(Direction::Up),
            _ => return Reading::Continues,
        };
        self.go_to(to);
        Reading::Continues
    }

    fn press_typing(&mut self, mut typed: String, key: &Key) {
        match key.code {
            KeyCode::Escape => return,
            KeyCode::Character('c') if key.control => return,
            KeyCode::Enter => {
                if !typed.is_empty() {
                    self.query = typed;
                }
                // The first match may be in the top row.
                match self.find(Direction::Down, self.top) {
                    Some(found) if !self.query.is_empty() => self.go_to(found),
                    _ => {
                        self.search(Direction::Down);
                    }
                }
                return;
            }
            KeyCode::Backspace if typed.pop().is_none() => return,
            KeyCode::Character('u') if key.control => typed.clear(),
            KeyCode::Character(character)
                if !key.control && !key.alt && typed.len() < MAX_QUERY_BYTES =>
            {
                typed.push(character);
            }
            _ => {}
        }
        self.typing = Some(typed);
    }

    /// Adds a paste to the search that is being typed.
    pub(crate) fn paste(&mut self, text: &str) {
        if let Some(typed) = &mut self.typing {
            let line = text.lines().next().unwrap_or_default();
            let room = MAX_QUERY_BYTES.saturating_sub(typed.len());
            typed.push_str(&line[..line.floor_char_boundary(room.min(line.len()))]);
        }
    }

    /// Goes to the next match beyond the top row, wrapping around at the end.
    fn search(&mut self, direction: Direction) -> Reading {
        if self.query.is_empty() {
            self.remark = Some("/ searches".to_owned());
            return Reading::Continues;
        }
        let (next, wrapped) = match direction {
            Direction::Down => (self.find(direction, self.top + 1), 0),
            Direction::Up => {
                let above = self.top.checked_sub(1);
                let last = self.count().saturating_sub(1);
                (above.and_then(|from| self.find(direction, from)), last)
            }
        };
        // All of the last page is visible: its end cannot be scrolled to the top.
        let is_all_visible = direction == Direction::Down && self.top == self.last_top();
        let next = next.filter(|_| !is_all_visible);
        match next.or_else(|| {
            self.remark = Some("wrapped around".to_owned());
            self.find(direction, wrapped)
        }) {
            Some(found) => self.go_to(found),
            None => self.remark = Some(format!("not found: {}", self.query)),
        }
        Reading::Continues
    }

    fn find(&self, direction: Direction, from: usize) -> Option<usize> {
        let is_match = |index: &usize| {
            let line = self.line(*index);
            line.is_some_and(|line| !matches(&line.text(), &self.query).is_empty())
        };
        match direction {
            Direction::Down => (from..self.count()).find(is_match),
            Direction::Up => (0..=from).rev().find(is_match),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// Returns where `query` occurs in `text`. Case matters if the query has capital letters.
pub(crate) fn matches(text: &str, query: &str) -> Vec<std::ops::Range<usize>> {
    if query.is_empty() {
        return Vec::new();
    }
    if query.chars().any(char::is_uppercase) {
        let found = text.match_indices(query);
        return found.map(|(at, part)| at..at + part.len()).collect();
    }
    let folded = |c: char| c.to_lowercase();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let mut expected = query.chars().flat_map(folded).peekable();
        let mut length = 0;
        for character in rest.chars() {
            if expected.peek().is_none() || !folded(character).all(|c| expected.next() == Some(c)) {
                break;
            }
            length += character.len_utf8();
            if expected.peek().is_none() {
                found.push(at..at + length);
                break;
            }
        }
        let step = rest.chars().next().map_or(1, char::len_utf8);
        at = match found.last() {
            Some(last) if last.end > at => last.end,
            _ => at + step,
        };
    }
    found
}
