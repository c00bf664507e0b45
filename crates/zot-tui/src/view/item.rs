//! What was said or done, as lines that will not change.

use super::{marked, tool};
use crate::app::Item;
use crate::markdown::render;
use crate::style::{Style, Theme};
use crate::text::Line;

pub(crate) fn item(item: &Item, columns: usize, theme: &Theme, expanded: bool) -> Vec<Line> {
    let mut lines = vec![Line::default()];
    match item {
        Item::User(text) => lines.extend(marked("❯ ", text, columns, theme.user, theme.user)),
        Item::Assistant(text) => lines.extend(render(text, columns, theme)),
        Item::Tool(call) => lines.extend(tool::finished(call, columns, theme, expanded)),
        Item::Note(text) => {
            lines.extend(marked("· ", text, columns, theme.accent, Style::PLAIN));
        }
        Item::Error(text) => lines.extend(marked("✗ ", text, columns, theme.error, theme.error)),
    }
    lines
}
