//! The arriving answer.

use crate::markdown::MarkdownStream;
use crate::style::Theme;
use crate::text::Line;

#[derive(Default)]
pub(super) struct Answer {
    text: String,
    stream: MarkdownStream,
    /// The final lines.
    lines: Vec<Line>,
    /// Something else was written between them.
    pub(super) is_interrupted: bool,
}

impl Answer {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Returns the lines that may still change.
    pub(super) fn tail(&self, columns: usize, theme: &Theme) -> Vec<Line> {
        self.stream.tail(columns, theme)
    }

    /// Adds text and returns the lines that have become final.
    pub(super) fn push(&mut self, delta: &str, columns: usize, theme: &Theme) -> Vec<Line> {
        let mut lines = match self.text.is_empty() {
            true => vec![Line::default()],
            false => Vec::new(),
        };
        self.text.push_str(delta);
        lines.extend(self.stream.push(delta, columns, theme));
        self.lines.extend_from_slice(&lines);
        lines
    }

    /// Lays the final lines out again, for another width.
    pub(super) fn rewrap(&mut self, columns: usize, theme: &Theme) -> Vec<Line> {
        let text = std::mem::take(&mut self.text);
        self.stream = MarkdownStream::default();
        self.lines.clear();
        match text.is_empty() {
            true => Vec::new(),
            false => self.push(&text, columns, theme),
        }
    }

    /// Ends the answer, complete or cut off. Returns the lines that have become final, and its text
    /// with the number of all its rows if there was any.
    pub(super) fn end(
        &mut self,
        columns: usize,
        theme: &Theme,
    ) -> (Vec<Line>, Option<(String, usize)>) {
        let lines = self.stream.finish(columns, theme);
        let rows = std::mem::take(&mut self.lines).len() + lines.len();
        if self.text.is_empty() {
            return (lines, None);
        }
        let mut text = std::mem::take(&mut self.text);
        text.shrink_to_fit();
        (lines, Some((text, rows)))
    }
}
