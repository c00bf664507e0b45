//! The editor, and what is sent with its prompt or after it.

use zot_sdk::context::Part;

use super::{Composer, ShellOutput};
use crate::app::Context;
use crate::editor::Editor;
use crate::text::{Line, push_chips, wrap};

/// The editor takes at most one in this many rows of the screen.
const EDITOR_SHARE: usize = 3;
const SHOWN_QUEUED: usize = 3;

/// Returns the queued prompts, and what is attached to the next one.
pub(crate) fn queue(composer: &Composer, context: &Context) -> Vec<Line> {
    let theme = &context.theme;
    let titled = |title: &str, text: &str| {
        let mut line = Line::styled(title, theme.accent);
        line.push(text, theme.muted);
        line.clipped(context.columns)
    };
    let mut lines = Vec::new();
    for text in composer.queue.steering().take(SHOWN_QUEUED) {
        lines.push(titled("steers: ", text.lines().next().unwrap_or("")));
    }
    for queued in composer.queue.waiting().take(SHOWN_QUEUED) {
        lines.push(titled("queued: ", &queued.title()));
    }
    let count = composer.queue.waiting().len();
    if count > SHOWN_QUEUED {
        let more = format!("and {} more", count - SHOWN_QUEUED);
        lines.push(Line::styled(more, theme.muted));
    }
    if count > 0 {
        lines.push(Line::styled("alt+up to edit the last", theme.muted).clipped(context.columns));
    }
    lines.extend(attached(composer, context));
    lines
}

/// Returns what is attached to the next prompt, and which mentioned files are not.
fn attached(composer: &Composer, context: &Context) -> Vec<Line> {
    let theme = &context.theme;
    let outputs = composer.shell.outputs.iter();
    let outputs: Vec<String> = outputs.map(ShellOutput::chip).collect();
    let mut lines = Vec::new();
    if !outputs.is_empty() {
        let mut line = Line::styled("attached to the next prompt: ", theme.accent);
        push_chips(&mut line, &outputs, theme.accent);
        line.push(" · ctrl+x drops it", theme.muted);
        lines.extend(wrap(&line, context.columns, 2));
    }
    let parts = composer.attachments.parts.iter();
    let (attached, others): (Vec<_>, Vec<_>) = parts.partition(|part| part.is_attached());
    let names =
        |parts: Vec<&Part>| -> Vec<String> { parts.iter().map(ToString::to_string).collect() };
    if !attached.is_empty() {
        let mut line = Line::styled("attached: ", theme.accent);
        push_chips(&mut line, &names(attached), theme.accent);
        lines.extend(wrap(&line, context.columns, 2));
    }
    if !others.is_empty() {
        let text = format!("not attached: {}", names(others).join(" · "));
        let line = Line::styled(text, theme.warning);
        lines.extend(wrap(&line, context.columns, 2));
    }
    // The editor must stay visible.
    lines.truncate((context.rows / EDITOR_SHARE).max(2));
    lines
}

/// Returns the width of the editor, without its mark and the column kept for the cursor.
pub(crate) fn editor_columns(columns: usize) -> usize {
    columns.saturating_sub(3)
}

/// Returns the rows of the editor, and where the cursor is in them.
pub(crate) fn editor(editor: &Editor, context: &Context) -> (Vec<Line>, (usize, usize)) {
    const MARK: &str = "❯ ";
    let layout = editor.layout(editor_columns(context.columns), &context.theme);
    let visible = (context.rows / EDITOR_SHARE).max(1);
    let count = layout.rows.len();
    // The row with the cursor is always shown.
    let first = (layout.cursor.0 + 1)
        .saturating_sub(visible)
        .min(count.saturating_sub(1));
    let rows = layout
        .rows
        .into_iter()
        .enumerate()
        .skip(first)
        .take(visible);
    let rows = rows.map(|(index, row)| {
        let mut line = match index {
            0 => Line::styled(MARK, context.theme.user),
            _ => Line::plain("  "),
        };
        line.append(row);
        line
    });
    (
        rows.collect(),
        (layout.cursor.0 - first, layout.cursor.1 + 2),
    )
}
