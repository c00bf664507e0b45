//! Lines of styled text, and how they fit into columns.
//!
//! Text of a model, a tool or a file passes through [`clean`] before it becomes a line:
//! nothing in it can move the cursor or change the terminal.

mod marked;
mod reveal;
mod sgr;
#[cfg(test)]
mod tests;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use zot_terminal::Layout;

use crate::style::Style;

pub(crate) use marked::{marked, push_chips};
pub(crate) use reveal::reveal;
pub(crate) use sgr::from_sgr;

const TAB_COLUMNS: usize = 4;

/// Line breaks are handled elsewhere.
const CHAT: Layout = Layout {
    line_end: "",
    tab: "    ",
    carriage_return: "",
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub text: String,
    pub style: Style,
}

/// One line, without control characters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Line(pub Vec<Span>);

impl Line {
    pub(crate) fn plain(text: impl AsRef<str>) -> Self {
        Self::styled(text, Style::PLAIN)
    }

    pub(crate) fn styled(text: impl AsRef<str>, style: Style) -> Self {
        let mut line = Self::default();
        line.push(text, style);
        line
    }

    /// Adds text without anything that controls the terminal.
    pub(crate) fn push(&mut self, text: impl AsRef<str>, style: Style) {
        let text = clean(text.as_ref());
        if text.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.style == style => last.text.push_str(&text),
            _ => self.0.push(Span { text, style }),
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(|span| width(&span.text)).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn text(&self) -> String {
        self.0.iter().map(|span| span.text.as_str()).collect()
    }

    /// Adds another line to the end of this one.
    pub(crate) fn append(&mut self, other: Self) {
        for span in other.0 {
            match self.0.last_mut() {
                Some(last) if last.style == span.style => last.text.push_str(&span.text),
                _ => self.0.push(span),
            }
        }
    }

    /// Returns the line cut to `columns`, with a mark where text is missing.
    pub(crate) fn clipped(mut self, columns: usize) -> Self {
        if self.width() <= columns {
            return self;
        }
        let mut left = columns.saturating_sub(1);
        for (index, span) in self.0.iter_mut().enumerate() {
            let mut clusters = span.text.grapheme_indices(true);
            let cut = clusters.find(|(_, cluster)| {
                let columns = width(cluster);
                let fits = columns <= left;
                left = left.saturating_sub(columns);
                !fits
            });
            if let Some((cut, _)) = cut {
                span.text.truncate(cut);
                span.text.push('…');
                self.0.truncate(index + 1);
                break;
            }
        }
        self
    }
}

/// Returns how many columns `text` takes at most: some terminals draw a composed emoji as one,
/// others part by part, and a line must not be too wide on either.
pub(crate) fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    if !text.chars().any(may_join) {
        return text.width();
    }
    let widest = |cluster: &str| {
        let parts = cluster.chars().map(|part| match part {
            // One half of a flag; terminals without flags draw a letter.
            '\u{1f1e6}'..='\u{1f1ff}' => 2,
            // Makes the character before it wide on some terminals.
            '\u{fe0f}' => 1,
            part => part.width().unwrap_or(0),
        });
        parts.sum::<usize>().max(cluster.width())
    };
    text.graphemes(true).map(widest).sum()
}

/// Returns whether a character can be part of a composed emoji.
fn may_join(character: char) -> bool {
    matches!(
        character,
        '\u{200d}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}'
    )
}

/// Returns how many columns `text` takes on a terminal that draws each cluster as one.
pub(crate) fn joined_width(text: &str) -> usize {
    match text.is_ascii() {
        true => text.len(),
        false => text.width(),
    }
}

/// Returns `text` without anything that controls terminals: escape sequences are dropped, tabs become
/// spaces, other control characters (including those that change the direction of text) become `·`.
pub(crate) fn clean(text: &str) -> String {
    zot_terminal::clean(text, CHAT)
}

/// Wraps `line` at `columns`, between words where possible. Every line but the first begins with
/// `indent` spaces.
pub(crate) fn wrap(line: &Line, columns: usize, indent: usize) -> Vec<Line> {
    let columns = columns.max(2);
    if line.width() <= columns {
        return vec![line.clone()];
    }
    let indent = indent.min(columns - 2);
    let mut wrapped = Vec::new();
    let mut current = Line::default();
    let mut used = 0;
    let begin = |used: &mut usize| {
        let mut line = Line::default();
        line.push(" ".repeat(indent), Style::PLAIN);
        *used = indent;
        line
    };
    for (word, style, starts_word) in words(line) {
        let taken = width(word);
        if used + taken > columns && starts_word && used > indent && !word.trim().is_empty() {
            wrapped.push(trimmed(std::mem::take(&mut current)));
            current = begin(&mut used);
        }
        if used + taken <= columns {
            current.push(word, style);
            used += taken;
            continue;
        }
        if word.trim().is_empty() {
            // Spaces at the end of a line are dropped.
            used = columns;
            continue;
        }
        for piece in word.graphemes(true) {
            let taken = width(piece);
            if used + taken > columns && used > 0 {
                wrapped.push(trimmed(std::mem::take(&mut current)));
                current = begin(&mut used);
            }
            current.push(piece, style);
            used += taken;
        }
    }
    if used > indent || wrapped.is_empty() {
        wrapped.push(trimmed(current));
    }
    wrapped
}

/// Returns the words and spaces of a line, and whether a line may break before each.
fn words(line: &Line) -> impl Iterator<Item = (&str, Style, bool)> {
    let mut follows_space = true;
    line.0.iter().flat_map(move |span| {
        let pieces: Vec<_> = span
            .text
            .split_inclusive(' ')
            .flat_map(|piece| {
                let word = piece.trim_end_matches(' ');
                [word, &piece[word.len()..]]
            })
            .filter(|piece| !piece.is_empty())
            .map(|piece| {
                let starts = follows_space;
                follows_space = piece.starts_with(' ');
                (piece, span.style, starts)
            })
            .collect();
        pieces
    })
}

fn trimmed(mut line: Line) -> Line {
    while let Some(last) = line.0.last_mut() {
        let kept = last.text.trim_end_matches(' ').len();
        last.text.truncate(kept);
        if kept > 0 {
            break;
        }
        line.0.pop();
    }
    line
}
