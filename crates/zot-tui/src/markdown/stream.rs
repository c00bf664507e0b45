//! Cuts an arriving text into final pieces.

use crate::highlight::Highlighter;
use crate::style::Theme;
use crate::text::{Line, wrap};

use super::{long, render};

/// The indentation of code.
const CODE_INDENT: &str = "  ";

/// A final piece.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// Whole blocks of Markdown.
    Blocks(String),
    /// An opening fence.
    Fence { language: String },
    /// One line within a fence.
    Code(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Fence {
    mark: char,
    length: usize,
    language: String,
}

/// Receives a message in deltas. The lines it returns are final; only the rest is drawn again.
#[derive(Debug, Clone)]
pub(crate) struct MarkdownStream {
    rest: String,
    /// How far `rest` has been examined, up to its last complete line.
    examined: usize,
    /// Where the last blank line within `rest` ends, after which a block may begin.
    boundary: Option<usize>,
    fence: Option<Fence>,
    highlighter: Highlighter,
    /// Something was shown, so a blank line has to separate what follows.
    has_output: bool,
    /// `rest` continues a block whose beginning is already final.
    is_continuation: bool,
    /// At this length, `rest` is cut within a block if possible.
    cut_length: usize,
}

impl Default for MarkdownStream {
    fn default() -> Self {
        Self {
            rest: String::new(),
            examined: 0,
            boundary: None,
            fence: None,
            highlighter: Highlighter::new(""),
            has_output: false,
            is_continuation: false,
            cut_length: long::MAX_LIVE_BLOCK_BYTES,
        }
    }
}

impl MarkdownStream {
    /// Adds text and returns the lines that have become final.
    pub(crate) fn push(&mut self, text: &str, columns: usize, theme: &Theme) -> Vec<Line> {
        let pieces = self.split(text);
        let mut lines = self.lines(pieces, columns, theme);
        if self.fence.is_none() {
            if let Some(cut) = long::find_complete_items(&self.rest) {
                self.cut_off(cut, &mut lines, columns, theme);
            }
            if self.rest.len() >= self.cut_length {
                self.cut(&mut lines, columns, theme);
            }
        }
        lines
    }

    /// Cuts a block that is too long to be rendered again for every delta.
    fn cut(&mut self, lines: &mut Vec<Line>, columns: usize, theme: &Theme) {
        // If there is nowhere to cut, the next attempt waits for more text.
        self.cut_length = self.rest.len() + long::MAX_LIVE_BLOCK_BYTES / 2;
        let found = long::find(&self.rest, columns, theme);
        let Some(cut) = found.or_else(|| long::force(&self.rest)) else {
            return;
        };
        self.cut_off(cut, lines, columns, theme);
    }

    fn cut_off(&mut self, cut: usize, lines: &mut Vec<Line>, columns: usize, theme: &Theme) {
        let head: String = self.rest.drain(..cut).collect();
        self.examined = self.examined.saturating_sub(cut);
        self.boundary = self
            .boundary
            .and_then(|boundary| boundary.checked_sub(cut))
            .filter(|boundary| *boundary > 0);
        self.cut_length = long::MAX_LIVE_BLOCK_BYTES;
        // A blank line before an item of a list is kept.
        let is_continuation = !head.trim_end_matches(' ').ends_with("\n\n");
        let pieces = vec![Piece::Blocks(head)];
        lines.extend(self.lines(pieces, columns, theme));
        self.is_continuation = is_continuation;
    }

    /// Ends the text and returns the remaining lines.
    pub(crate) fn finish(&mut self, columns: usize, theme: &Theme) -> Vec<Line> {
        let mut pieces = Vec::new();
        if !self.rest.is_empty() && !self.rest.ends_with('\n') {
            pieces.extend(self.split("\n"));
        }
        if !self.rest.trim().is_empty() {
            pieces.push(Piece::Blocks(std::mem::take(&mut self.rest)));
        }
        let lines = self.lines(pieces, columns, theme);
        *self = Self::default();
        lines
    }

    fn split(&mut self, text: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        // Line by line: removing text from `rest` moves what follows it.
        for line in text.split_inclusive('\n') {
            self.rest.push_str(line);
            if line.ends_with('\n') {
                self.examine_line(&mut pieces);
            }
        }
        pieces
    }

    /// Examines the last line of `rest`.
    fn examine_line(&mut self, pieces: &mut Vec<Piece>) {
        let end = self.rest.len();
        let line = self.rest[self.examined..end].trim_end_matches(['\n', '\r']);
        if let Some(fence) = &self.fence {
            if is_closing_fence(line, fence) {
                self.fence = None;
            } else {
                pieces.push(Piece::Code(line.to_owned()));
            }
            self.rest.clear();
            self.examined = 0;
            return;
        }
        if let Some(fence) = opening_fence(line) {
            if !self.rest[..self.examined].trim().is_empty() {
                pieces.push(Piece::Blocks(self.rest[..self.examined].to_owned()));
            }
            pieces.push(Piece::Fence {
                language: fence.language.clone(),
            });
            self.fence = Some(fence);
            self.rest.clear();
            self.examined = 0;
            self.boundary = None;
            return;
        }
        if line.trim().is_empty() {
            self.boundary = Some(end);
        } else if let Some(boundary) = self.boundary.take()
            && !line.starts_with([' ', '\t'])
        {
            // Indented lines continue a list. Others begin a block, which completes the previous one.
            if !self.rest[..boundary].trim().is_empty() {
                pieces.push(Piece::Blocks(self.rest[..boundary].to_owned()));
            }
            self.rest.drain(..boundary);
            self.examined = end - boundary;
            return;
        }
        self.examined = end;
    }

    /// Renders pieces. Code is not wrapped: the terminal does that, so copied lines stay intact.
    fn lines(&mut self, pieces: Vec<Piece>, columns: usize, theme: &Theme) -> Vec<Line> {
        let mut lines = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Blocks(text) => {
                    self.add_separator(&mut lines);
                    lines.extend(render(&text, columns, theme));
                }
                Piece::Fence { language } => {
                    self.add_separator(&mut lines);
                    self.highlighter = Highlighter::new(&language);
                }
                Piece::Code(text) => {
                    lines.push(code_line(&mut self.highlighter, &text, theme));
                }
            }
        }
        lines
    }

    fn add_separator(&mut self, lines: &mut Vec<Line>) {
        if std::mem::replace(&mut self.has_output, true)
            && !std::mem::take(&mut self.is_continuation)
        {
            lines.push(Line::default());
        }
    }

    /// Returns the part that may still change, as it looks now.
    pub(crate) fn tail(&self, columns: usize, theme: &Theme) -> Vec<Line> {
        if self.rest.is_empty() {
            return Vec::new();
        }
        let mut lines = Vec::new();
        match &self.fence {
            Some(_) => {
                // Only the end of a very long line is on the screen.
                let start = self.rest.len().saturating_sub(long::MAX_CODE_LINE_BYTES);
                let end = &self.rest[self.rest.ceil_char_boundary(start)..];
                let line = code_line(&mut self.highlighter.clone(), end, theme);
                lines.extend(wrap(&line, columns, CODE_INDENT.len()));
            }
            None => {
                if self.has_output && !self.is_continuation {
                    lines.push(Line::default());
                }
                lines.extend(render(&self.rest, columns, theme));
            }
        }
        lines
    }
}

fn code_line(highlighter: &mut Highlighter, text: &str, theme: &Theme) -> Line {
    let mut line = Line::plain(CODE_INDENT);
    line.append(highlighter.line(text, theme));
    line
}

fn opening_fence(line: &str) -> Option<Fence> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let text = line.get(indent..)?;
    let mark = text.chars().next().filter(|mark| "`~".contains(*mark))?;
    let length = text.chars().take_while(|next| *next == mark).count();
    let info = text.get(length..)?.trim();
    (length >= 3 && indent <= 3 && !(mark == '`' && info.contains('`'))).then(|| Fence {
        mark,
        length,
        language: info.to_owned(),
    })
}

fn is_closing_fence(line: &str, fence: &Fence) -> bool {
    let line = line.trim();
    line.chars().count() >= fence.length && line.chars().all(|next| next == fence.mark)
}
