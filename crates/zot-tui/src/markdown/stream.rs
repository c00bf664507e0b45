//! Cuts a text that is still arriving into pieces that are final.

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
    /// A fence opens.
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

/// Takes a message in deltas. The lines it returns are final; only the rest is drawn again.
#[derive(Debug, Clone)]
pub(crate) struct MarkdownStream {
    rest: String,
    /// How far `rest` has been examined, up to its last complete line.
    seen: usize,
    /// Where the last blank line within `rest` ends, after which a block may begin.
    boundary: Option<usize>,
    fence: Option<Fence>,
    highlighter: Highlighter,
    /// Whether something was shown, so that a blank line has to come between.
    has_output: bool,
    /// `rest` continues a block whose beginning is final already.
    continues: bool,
    /// A `rest` of this length is cut within a block, if it can be.
    cut_at: usize,
}

impl Default for MarkdownStream {
    fn default() -> Self {
        Self {
            rest: String::new(),
            seen: 0,
            boundary: None,
            fence: None,
            highlighter: Highlighter::new(""),
            has_output: false,
            continues: false,
            cut_at: long::MAX_LIVE_BLOCK_BYTES,
        }
    }
}

impl MarkdownStream {
    /// Adds text and returns the lines that are final now.
    pub(crate) fn push(&mut self, text: &str, columns: usize, theme: &Theme) -> Vec<Line> {
        let pieces = self.take(text);
        let mut lines = self.lines(pieces, columns, theme);
        if self.fence.is_none() {
            if let Some(cut) = long::find_whole_items(&self.rest) {
                self.cut_off(cut, &mut lines, columns, theme);
            }
            if self.rest.len() >= self.cut_at {
                self.cut(&mut lines, columns, theme);
            }
        }
        lines
    }

    /// Cuts a block that is too long to be rendered again for every delta.
    fn cut(&mut self, lines: &mut Vec<Line>, columns: usize, theme: &Theme) {
        // Where there is no place to cut, the next attempt waits for more text.
        self.cut_at = self.rest.len() + long::MAX_LIVE_BLOCK_BYTES / 2;
        let found = long::find(&self.rest, columns, theme);
        let Some(cut) = found.or_else(|| long::force(&self.rest)) else {
            return;
        };
        self.cut_off(cut, lines, columns, theme);
    }

    fn cut_off(&mut self, cut: usize, lines: &mut Vec<Line>, columns: usize, theme: &Theme) {
        let head: String = self.rest.drain(..cut).collect();
        self.seen = self.seen.saturating_sub(cut);
        self.boundary = self
            .boundary
            .and_then(|boundary| boundary.checked_sub(cut))
            .filter(|boundary| *boundary > 0);
        self.cut_at = long::MAX_LIVE_BLOCK_BYTES;
        // A blank line before an item of a list stays one.
        let continues = !head.trim_end_matches(' ').ends_with("\n\n");
        let pieces = vec![Piece::Blocks(head)];
        lines.extend(self.lines(pieces, columns, theme));
        self.continues = continues;
    }

    /// The text has ended: everything is final.
    pub(crate) fn finish(&mut self, columns: usize, theme: &Theme) -> Vec<Line> {
        let mut pieces = Vec::new();
        if !self.rest.is_empty() && !self.rest.ends_with('\n') {
            pieces.extend(self.take("\n"));
        }
        if !self.rest.trim().is_empty() {
            pieces.push(Piece::Blocks(std::mem::take(&mut self.rest)));
        }
        let lines = self.lines(pieces, columns, theme);
        *self = Self::default();
        lines
    }

    fn take(&mut self, text: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        // Line by line: removing text from `rest` moves what follows it.
        for line in text.split_inclusive('\n') {
            self.rest.push_str(line);
            if line.ends_with('\n') {
                self.take_line(&mut pieces);
            }
        }
        pieces
    }

    /// Examines the last line of `rest`.
    fn take_line(&mut self, pieces: &mut Vec<Piece>) {
        let end = self.rest.len();
        let line = self.rest[self.seen..end].trim_end_matches(['\n', '\r']);
        if let Some(fence) = &self.fence {
            if closes(line, fence) {
                self.fence = None;
            } else {
                pieces.push(Piece::Code(line.to_owned()));
            }
            self.rest.clear();
            self.seen = 0;
            return;
        }
        if let Some(fence) = opens(line) {
            if !self.rest[..self.seen].trim().is_empty() {
                pieces.push(Piece::Blocks(self.rest[..self.seen].to_owned()));
            }
            pieces.push(Piece::Fence {
                language: fence.language.clone(),
            });
            self.fence = Some(fence);
            self.rest.clear();
            self.seen = 0;
            self.boundary = None;
            return;
        }
        if line.trim().is_empty() {
            self.boundary = Some(end);
        } else if let Some(boundary) = self.boundary.take()
            && !line.starts_with([' ', '\t'])
        {
            // Indented lines continue a list. Others begin a block, which completes the one before.
            if !self.rest[..boundary].trim().is_empty() {
                pieces.push(Piece::Blocks(self.rest[..boundary].to_owned()));
            }
            self.rest.drain(..boundary);
            self.seen = end - boundary;
            return;
        }
        self.seen = end;
    }

    /// Code is not wrapped: the terminal does that, and copied lines stay whole.
    fn lines(&mut self, pieces: Vec<Piece>, columns: usize, theme: &Theme) -> Vec<Line> {
        let mut lines = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Blocks(text) => {
                    self.separate(&mut lines);
                    lines.extend(render(&text, columns, theme));
                }
                Piece::Fence { language } => {
                    self.separate(&mut lines);
                    self.highlighter = Highlighter::new(&language);
                }
                Piece::Code(text) => {
                    lines.push(code_line(&mut self.highlighter, &text, theme));
                }
            }
        }
        lines
    }

    fn separate(&mut self, lines: &mut Vec<Line>) {
        if std::mem::replace(&mut self.has_output, true) && !std::mem::take(&mut self.continues) {
            lines.push(Line::default());
        }
    }

    /// The part that may still change, as it looks now.
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
                if self.has_output && !self.continues {
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

fn opens(line: &str) -> Option<Fence> {
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

fn closes(line: &str, fence: &Fence) -> bool {
    let line = line.trim();
    line.chars().count() >= fence.length && line.chars().all(|next| next == fence.mark)
}
