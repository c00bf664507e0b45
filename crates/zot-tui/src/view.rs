//! What the screen looks like, from the state alone.

mod approval;
mod item;
mod key_entry;
mod live;
mod pager;
mod panel;
mod picker;
mod step_limit;
mod tool;

use crate::app::{App, StepLimit};
use crate::renderer::Frame;
use crate::style::{Style, Theme};
use crate::text::{Line, wrap};

/// What is shown of a model's thinking while it thinks.
const THOUGHT_ROWS: usize = 5;

pub(crate) use approval::{preview, room as approval_room};
pub(crate) use item::{aside_columns, item};
pub(crate) use live::{SPINNER_MS, editor_columns};
pub(crate) use pager::{Screen, pager};
pub(crate) use picker::{has_preview, page};

pub(crate) fn frame(app: &App) -> Frame {
    let mut live = app.chat.tail(app.columns, &app.theme);
    let tail = live.len();
    let thinking = &app.chat.thinking;
    live.extend(item::thoughts(
        thinking,
        THOUGHT_ROWS,
        app.columns,
        &app.theme,
    ));
    // The answer grows upwards out of the screen, but what is below it always shows.
    for tool in app.chat.tools.iter().chain(&app.shell.running) {
        live.extend(tool::running(tool, app));
    }
    // What is typed goes there, whatever else there is.
    if let Some(entry) = &app.key_entry {
        return key_entry::frame(entry, app, live);
    }
    if let StepLimit::Asked(limit) = app.step_limit {
        return step_limit::frame(limit, app, live);
    }
    // A question is above everything else: it must not be answered unseen.
    if let Some(approval) = &app.approval {
        return Frame {
            tail,
            ..approval::frame(approval, app, live)
        };
    }
    if let Some(panel) = app.panels.last() {
        live.extend(panel::lines(panel, app));
        return Frame {
            live,
            tail,
            ..Frame::default()
        };
    }
    live.push(Line::default());
    live.extend(live::aside(app));
    live.extend(live::status(app));
    live.extend(live::queue(app));
    let top = live.len();
    let (rows, mut cursor) = live::editor(app);
    let editor_rows = rows.len();
    live.extend(rows);
    let (rows, typing) = picker::picker(app);
    live.extend(rows);
    live.push(live::footer(app));
    // A list that takes the keys has the cursor.
    if let Some((row, column)) = typing {
        cursor = (editor_rows + row, column);
    }
    Frame {
        live,
        tail,
        cursor: Some((top + cursor.0, cursor.1)),
        ..Frame::default()
    }
}

/// Puts `[chip] [chip]` behind a line.
fn push_chips(line: &mut Line, chips: &[String], theme: &Theme) {
    for (index, chip) in chips.iter().enumerate() {
        if index > 0 {
            line.push(" ", Style::PLAIN);
        }
        line.push(format!("[{chip}]"), theme.accent);
    }
}

/// `text` in lines of their own, each broken to fit, behind `mark`.
fn marked(mark: &str, text: &str, columns: usize, mark_style: Style, style: Style) -> Vec<Line> {
    let indent = crate::text::width(mark);
    let mut lines = Vec::new();
    for (index, part) in text.lines().enumerate() {
        let mut line = match index {
            0 => Line::styled(mark, mark_style),
            _ => Line::plain(" ".repeat(indent)),
        };
        line.push(part, style);
        let hanging = indent + column_of_explanation(part);
        let hanging = if hanging > columns / 2 {
            indent
        } else {
            hanging
        };
        lines.extend(wrap(&line, columns, hanging));
    }
    lines
}

/// Where the second column of a line like `/name     what it does` begins; zero without one.
fn column_of_explanation(text: &str) -> usize {
    let Some(gap) = text.trim_start().find("  ") else {
        return 0;
    };
    let gap = gap + text.len() - text.trim_start().len();
    let behind = text[gap..].trim_start();
    crate::text::width(&text[..text.len() - behind.len()])
}
