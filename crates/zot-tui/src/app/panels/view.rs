//! A panel of an extension: its lines in a frame, below the conversation.

use super::{Panel, room};
use crate::app::Context;
use crate::style::Style;
use crate::text::{Line, from_sgr};

/// Fewer columns of an extension's footer are not worth showing.
const MIN_FOOTER_COLUMNS: usize = 6;

pub(crate) fn lines(panel: &Panel, context: &Context) -> Vec<Line> {
    let theme = &context.theme;
    let (_, room) = room(context);
    let mut lines = vec![Line::default()];
    let mut head = Line::styled("┌ ", theme.accent);
    head.append(from_sgr(&panel.title, theme.accent));
    head.push(" ", theme.accent);
    let missing = context.columns.saturating_sub(head.width());
    head.push("─".repeat(missing), theme.accent);
    lines.push(head.clipped(context.columns));
    for text in panel.lines.iter().skip(panel.top).take(room) {
        let mut line = Line::styled("│ ", theme.accent);
        // More would not fit, even with a colour for every character.
        let end = text.floor_char_boundary(text.len().min(context.columns * 64));
        line.append(from_sgr(&text[..end], Style::PLAIN));
        lines.push(line.clipped(context.columns));
    }
    lines.push(foot(panel, context, room));
    lines
}

/// Draws the foot, where zot's hints come before the extension's footer.
fn foot(panel: &Panel, context: &Context, room: usize) -> Line {
    let theme = &context.theme;
    let count = panel.lines.len();
    let mut hint = String::new();
    if count > room {
        let last = (panel.top + room).min(count);
        hint = format!("{}–{last} of {count} (alt+down) · ", panel.top + 1);
    }
    let mut foot = Line::styled("└ ", theme.accent);
    let footer = from_sgr(&panel.footer, theme.muted);
    // Most extensions mention the key themselves.
    if hint.is_empty() && panel.footer.contains("esc") && footer.width() + 2 <= context.columns {
        foot.append(footer);
        return foot;
    }
    hint.push_str("esc closes");
    let room = context
        .columns
        .saturating_sub(crate::text::width(&hint) + 5);
    if !footer.is_empty() && room >= MIN_FOOTER_COLUMNS {
        foot.append(footer.clipped(room));
        foot.push(" · ", theme.muted);
    }
    foot.push(hint, theme.muted);
    foot.clipped(context.columns)
}
