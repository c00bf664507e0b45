//! Lines of styled text, and how they fit into columns.
//!
//! Whatever comes from a model, a tool or a file goes through [`clean`] before it becomes a line:
//! nothing in it can move the cursor or change the terminal.

mod reveal;
mod sgr;
#[cfg(test)]
mod tests;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::style::Style;

pub(crate) use reveal::reveal;
pub(crate) use sgr::from_sgr;

const TAB_COLUMNS: usize = 4;

/// So many characters without a width may follow one that has one: no script needs more, and
/// terminals get slow, or draw over the lines above.
const MAX_MARKS: usize = 16;

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

    /// Adds text, with what could harm the terminal taken out.
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

    /// Adds another line behind this one.
    pub(crate) fn append(&mut self, other: Self) {
        for span in other.0 {
            match self.0.last_mut() {
                Some(last) if last.style == span.style => last.text.push_str(&span.text),
                _ => self.0.push(span),
            }
        }
    }

    /// Cut to `columns`, with a mark where something is missing.
    pub(crate) fn clipped(mut self, columns: usize) -> Self {
        if self.width() <= columns {
            return self;
        }
        let mut left = columns.saturating_sub(1);
        for (index, span) in self.0.iter_mut().enumerate() {
            let mut clusters = span.text.grapheme_indices(true);
            let cut = clusters.find(|(_, cluster)| {
                let taken = width(cluster);
                let fits = taken <= left;
                left = left.saturating_sub(taken);
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

/// How many columns `text` takes at most: some terminals draw an emoji of several parts as one,
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
            // One half of a flag, which is a letter to who knows no flags.
            '\u{1f1e6}'..='\u{1f1ff}' => 2,
            // Makes the one before it wide, for who minds.
            '\u{fe0f}' => 1,
            part => part.width().unwrap_or(0),
        });
        parts.sum::<usize>().max(cluster.width())
    };
    text.graphemes(true).map(widest).sum()
}

/// Whether a character can be a part of an emoji of several.
fn may_join(character: char) -> bool {
    matches!(
        character,
        '\u{200d}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}'
    )
}

/// How many columns `text` takes on a terminal that draws clusters as one.
pub(crate) fn joined_width(text: &str) -> usize {
    match text.is_ascii() {
        true => text.len(),
        false => text.width(),
    }
}

/// `text` without what terminals obey: escape sequences are dropped, tabs become blanks, other
/// control characters (also those that turn the direction of writing) are shown as `·`.
pub(crate) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut characters = text.chars();
    let mut marks = 0;
    // Looked for once: behind a string that does not end no other one does.
    let mut strings_end = true;
    while let Some(character) = characters.next() {
        if (' '..='~').contains(&character) {
            cleaned.push(character);
            marks = 0;
            continue;
        }
        match character {
            '\t' => cleaned.extend(std::iter::repeat_n(' ', TAB_COLUMNS)),
            '\x1b' | '\u{9b}' | '\u{9d}' | '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => {
                skip_sequence(character, &mut characters, &mut strings_end);
                continue;
            }
            '\r' | '\n' => continue,
            character if character.is_control() || turns_direction(character) => cleaned.push('·'),
            character if character.width() == Some(0) => {
                marks += 1;
                if marks <= MAX_MARKS {
                    cleaned.push(character);
                }
                continue;
            }
            character => cleaned.push(character),
        }
        marks = 0;
    }
    cleaned
}

/// Characters that change the direction of what follows, or hide it.
fn turns_direction(character: char) -> bool {
    matches!(character,
        '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// Goes behind the sequence that `first` begins. One that does not end hides nothing but its
/// beginning.
fn skip_sequence(first: char, characters: &mut std::str::Chars<'_>, strings_end: &mut bool) {
    let kind = match first {
        '\x1b' => match characters.next() {
            Some(kind) => kind,
            None => return,
        },
        '\u{9b}' => '[',
        '\u{9d}' => ']',
        _ => 'P',
    };
    match kind {
        '[' => {
            let mut ahead = characters.clone();
            let is_inside = |next: &char| (' '..='?').contains(next);
            match ahead.by_ref().find(|next| !is_inside(next)) {
                // It may go on with what comes next.
                None | Some('@'..='~') => *characters = ahead,
                Some(_) => {}
            }
        }
        // Strings end with BEL or ST.
        ']' | 'P' | '_' | '^' | 'X' if *strings_end => {
            let mut ahead = characters.clone();
            let mut escaped = false;
            while let Some(next) = ahead.next() {
                if next == '\x07' || next == '\u{9c}' || (escaped && next == '\\') {
                    *characters = ahead;
                    return;
                }
                escaped = next == '\x1b';
            }
            *strings_end = false;
        }
        // Designations of character sets take one more.
        '(' | ')' | '*' | '+' | '#' | '%' => drop(characters.next()),
        _ => {}
    }
}

/// Breaks `line` into lines of at most `columns`, at blanks where there are some. Every line but
/// the first begins with `indent` blanks.
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
            // A blank at the end of a line is where it breaks.
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

/// The words and blanks of a line, and whether a line may break before them.
fn words(line: &Line) -> impl Iterator<Item = (&str, Style, bool)> {
    let mut after_blank = true;
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
                let starts = after_blank;
                after_blank = piece.starts_with(' ');
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
