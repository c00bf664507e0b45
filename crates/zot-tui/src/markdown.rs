//! Renders Markdown as lines, as a whole or as it arrives.

mod long;
mod render;
mod stream;
#[cfg(test)]
mod tests;

use crate::style::Theme;
use crate::text::Line;

pub(crate) use render::render;
pub(crate) use stream::MarkdownStream;

/// Renders a whole answer as it looked when it was streamed.
pub(crate) fn render_answer(text: &str, columns: usize, theme: &Theme) -> Vec<Line> {
    let mut stream = MarkdownStream::default();
    let mut lines = stream.push(text, columns, theme);
    lines.extend(stream.finish(columns, theme));
    lines
}
