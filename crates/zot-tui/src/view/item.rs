//! What was said or done, as lines that will not change.

use super::{marked, tool};
use crate::app::Item;
use crate::markdown::render;
use crate::style::{Style, Theme};
use crate::text::Line;

/// Of a prompt that has files attached, say.
const PROMPT_LINES: usize = 12;

pub(crate) fn item(item: &Item, columns: usize, theme: &Theme, expanded: bool) -> Vec<Line> {
    let mut lines = vec![Line::default()];
    match item {
        Item::User(text) => {
            let shown = match expanded {
                true => usize::MAX,
                false => PROMPT_LINES,
            };
            let (text, hidden) = cut(text, shown);
            lines.extend(marked("❯ ", text, columns, theme.user, theme.user));
            if hidden > 0 {
                let more = format!("  … {hidden} more lines (ctrl+o)");
                lines.push(Line::styled(more, theme.muted));
            }
        }
        Item::Assistant(text) => lines.extend(render(text, columns, theme)),
        Item::Tool(call) => lines.extend(tool::finished(call, columns, theme, expanded)),
        Item::Note(text) => {
            lines.extend(marked("· ", text, columns, theme.accent, Style::PLAIN));
        }
        Item::Error(text) => lines.extend(marked("✗ ", text, columns, theme.error, theme.error)),
    }
    lines
}

/// The first lines of `text`, and how many more there are.
fn cut(text: &str, lines: usize) -> (&str, usize) {
    let mut ends = text.match_indices('\n').skip(lines.saturating_sub(1));
    match ends.next() {
        Some((end, _)) => (&text[..end], text[end + 1..].lines().count()),
        None => (text, 0),
    }
}
