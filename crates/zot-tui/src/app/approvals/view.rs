//! A call that waits for the user's approval.
//!
//! No part of the call is hidden: long lines are wrapped, long calls scroll, and invisible characters
//! are written out.

mod step_limit;

use unicode_segmentation::UnicodeSegmentation as _;
use zot_sdk::ApprovalScope;

use super::Approval;
use crate::app::Context;
use crate::editor::Editor;
use crate::highlight::diff_line;
use crate::renderer::Frame;
use crate::style::{Style, Theme};
use crate::text::{Line, marked, reveal, width, wrap};

pub(crate) use step_limit::step_limit;

/// Rows of the conversation shown above, if there is room.
const CONTEXT_ROWS: usize = 2;

/// Below this many rows, the keys are explained in fewer words.
const ROOMY_ROWS: usize = 16;

/// Below this many rows, the keys are only listed, to leave room for the call.
const TINY_ROWS: usize = 8;

/// A longer argument is not shown beside a preview; ctrl+o shows it.
const MAX_FIELD_BYTES: usize = 300;

/// The command, the diff or the arguments, in lines that fit.
pub(super) fn preview(approval: &Approval, columns: usize, theme: &Theme) -> Vec<Line> {
    let mut lines = Vec::new();
    if approval.shows_arguments {
        push_text(&mut lines, &approval.arguments, columns, |_| Style::PLAIN);
        return lines;
    }
    let Some(preview) = &approval.preview else {
        push_text(&mut lines, &approval.arguments, columns, |_| Style::PLAIN);
        return lines;
    };
    for (name, value) in fields(&approval.arguments, preview) {
        let mut line = Line::styled(format!("  {}: ", reveal(&name)), theme.muted);
        line.push(reveal(&value), theme.code);
        lines.extend(wrap(&line, columns, 4));
    }
    push_text(&mut lines, preview, columns, |text| {
        let colours = diff_line(text, theme);
        colours.0.first().map_or(Style::PLAIN, |span| span.style)
    });
    lines
}

fn push_text(lines: &mut Vec<Line>, text: &str, columns: usize, style: impl Fn(&str) -> Style) {
    // A trailing line break does not start another line.
    let text = text.strip_suffix('\n').unwrap_or(text);
    for text in text.split('\n') {
        let text = reveal(text.strip_suffix('\r').unwrap_or(text));
        let mut line = Line::plain("  ");
        line.push(&text, style(&text));
        lines.extend(wrap(&line, columns, 2));
    }
}

/// How the screen is divided.
struct Shares {
    head: Vec<Line>,
    /// Rows of the preview.
    room: usize,
    foot: Vec<Line>,
    /// Where the cursor is in the last line.
    column: Option<usize>,
}

/// Returns how many lines of the preview fit on the screen.
pub(super) fn room(approval: &Approval, context: &Context, draft: &Editor) -> usize {
    shares(approval, context, draft).room
}

pub(crate) fn frame(
    approval: &Approval,
    context: &Context,
    draft: &Editor,
    mut live: Vec<Line>,
) -> Frame {
    let shares = shares(approval, context, draft);
    live.push(Line::default());
    live.extend(shares.head);
    let count = approval.lines.len();
    let first = approval.top.min(count.saturating_sub(shares.room));
    let shown = approval.lines.iter().skip(first).take(shares.room);
    live.extend(shown.cloned());
    live.extend(shares.foot);
    let cursor = shares.column.map(|column| (live.len() - 1, column));
    Frame {
        live,
        cursor,
        ..Frame::default()
    }
}

fn shares(approval: &Approval, context: &Context, draft: &Editor) -> Shares {
    let head = head(approval, context);
    let (mut foot, column) = foot(approval, context, draft);
    let count = approval.lines.len();
    let available = context
        .rows
        .saturating_sub(head.len() + foot.len() + 1)
        .max(1);
    if count <= available {
        return Shares {
            head,
            room: available,
            foot,
            column,
        };
    }
    // One line shows the position; some of the conversation stays where there is room.
    let room = match available.saturating_sub(1 + CONTEXT_ROWS) {
        room if room > 2 => room,
        _ => available.saturating_sub(1).max(1),
    };
    let last = (approval.top + room).min(count);
    let mut position = format!(
        "  lines {}–{last} of {count}",
        (last + 1).saturating_sub(room)
    );
    if approval.shows_arguments {
        position.push_str(" of the arguments");
    }
    position.push_str(" · up, down, pgup, pgdn");
    foot.insert(
        0,
        Line::styled(position, context.theme.warning).clipped(context.columns),
    );
    Shares {
        head,
        room,
        foot,
        column,
    }
}

fn head(approval: &Approval, context: &Context) -> Vec<Line> {
    let theme = &context.theme;
    let mut head = Line::styled("may zot run ", theme.warning.bold());
    head.push(reveal(&approval.tool), Style::PLAIN.bold());
    head.push("?", theme.warning.bold());
    let reason = match &context.info.approval {
        ApprovalScope::Tools(_) => format!("  zot asks before {} (/confirm)", approval.tool),
        _ => "  zot asks before every tool (/confirm)".to_owned(),
    };
    vec![
        head.clipped(context.columns),
        Line::styled(reason, theme.muted).clipped(context.columns),
    ]
}

/// Returns the lines below the preview, and the column of the cursor in the last one.
fn foot(approval: &Approval, context: &Context, draft: &Editor) -> (Vec<Line>, Option<usize>) {
    let theme = &context.theme;
    let mut lines = Vec::new();
    let Some(refusal) = &approval.refusal else {
        if !draft.is_empty() {
            // Its last line, with chips instead of pastes.
            let written = draft.layout(usize::MAX, theme).rows.pop();
            let mut line = Line::styled("❯ ", theme.muted);
            line.push(written.unwrap_or_default().text(), theme.muted);
            lines.push(line.clipped(context.columns));
        }
        let keys = match context.rows {
            ..TINY_ROWS => "y e a s n · esc",
            TINY_ROWS..ROOMY_ROWS => {
                "y yes · e exactly this · a this tool · s all · n no… · esc no"
            }
            _ => {
                "y yes · e always exactly this · a always this tool · s everything from now on · \
                 n no, with a reason · esc no · ctrl+o arguments"
            }
        };
        lines.extend(marked("", keys, context.columns, theme.muted, theme.muted));
        return (lines, None);
    };
    const ASK: &str = "no, because: ";
    // The cursor is at the end of the reason.
    let text = refusal.content().replace('\n', " ");
    let room = context.columns.saturating_sub(ASK.len() + 1);
    let mut used = 0;
    let clusters = text.grapheme_indices(true).rev();
    let fitting = clusters.take_while(|(_, cluster)| {
        used += width(cluster);
        used <= room
    });
    let start = fitting.last().map_or(text.len(), |(at, _)| at);
    let mut line = Line::styled(ASK, theme.warning);
    line.push(&text[start..], Style::PLAIN);
    let column = line.width().min(context.columns.saturating_sub(1));
    lines.push(line.clipped(context.columns));
    (lines, Some(column))
}

/// Returns the short arguments to show next to the preview, such as the path.
fn fields(arguments: &str, preview: &str) -> Vec<(String, String)> {
    let Ok(serde_json::Value::Object(object)) = serde_json::from_str(arguments) else {
        return Vec::new();
    };
    let shown = object.into_iter().filter_map(|(name, value)| {
        let value = match value {
            serde_json::Value::String(text) => text,
            serde_json::Value::Number(number) => number.to_string(),
            serde_json::Value::Bool(is_set) => is_set.to_string(),
            _ => return None,
        };
        let is_short = value.len() <= MAX_FIELD_BYTES && !value.contains('\n');
        ((is_short || name == "path") && value != preview).then_some((name, value))
    });
    shown.collect()
}
