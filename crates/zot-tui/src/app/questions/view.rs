//! A question of a tool on the screen.
//!
//! Everything of the server is written out as it is: invisible characters are shown, an address is
//! wrapped and never cut, and who asks is always on the screen.

mod fields;

use std::ops::Range;

use super::{Asked, Body};
use crate::app::{Context, KeyCode};
use crate::editor::Editor;
use crate::renderer::Frame;
use crate::style::Style;
use crate::text::{Line, marked, reveal, wrap};

/// Rows that are scrolled at least, on a screen with hardly any room.
const MIN_PAGE: usize = 1;

/// Below this many rows, the keys are explained in fewer words, to leave room for the question.
const ROOMY_ROWS: usize = 12;

/// What can be scrolled: the message and what is below it.
struct Contents {
    lines: Vec<Line>,
    /// The lines that must be visible.
    focus: Range<usize>,
    /// Where the cursor is.
    cursor: Option<(usize, usize)>,
}

impl Asked {
    /// Scrolls by a page.
    pub(super) fn scroll(&mut self, code: KeyCode) {
        let page = self.page.max(MIN_PAGE);
        self.is_scrolled = true;
        self.top = match code {
            KeyCode::PageUp => self.top.saturating_sub(page),
            _ => self.top.saturating_add(page),
        };
    }

    /// Keeps what receives the keys on the screen, unless the user has scrolled.
    pub(super) fn lay_out(&mut self, context: &Context, draft: &Editor) {
        if let Body::Form(form) = &mut self.body {
            form.is_stacked = fields::is_stacked(form, context);
        }
        let contents = contents(self, context);
        let room = room(self, context, draft);
        if !self.is_scrolled {
            self.top = contents.focus.end.saturating_sub(room);
        }
        self.top = self.top.min(contents.lines.len().saturating_sub(room));
        self.page = room.saturating_sub(1);
    }
}

/// Returns how many lines of the contents fit on the screen.
fn room(asked: &Asked, context: &Context, draft: &Editor) -> usize {
    let others = head(asked, context).len() + foot(asked, context, draft).len();
    // One row for the position, one for the line above.
    context.rows.saturating_sub(others + 2).max(1)
}

pub(crate) fn frame(
    asked: &Asked,
    context: &Context,
    draft: &Editor,
    mut live: Vec<Line>,
) -> Frame {
    let Contents { lines, cursor, .. } = contents(asked, context);
    let room = room(asked, context, draft);
    let count = lines.len();
    let first = asked.top.min(count.saturating_sub(room));
    live.push(Line::default());
    live.extend(head(asked, context));
    let above = live.len();
    live.extend(lines.into_iter().skip(first).take(room));
    if count > room {
        let position = format!(
            "  lines {}–{} of {count} · pgup, pgdn",
            first + 1,
            first + room
        );
        live.push(Line::styled(position, context.theme.warning).clipped(context.columns));
    }
    live.extend(foot(asked, context, draft));
    let cursor = cursor.filter(|(row, _)| (first..first + room).contains(row));
    Frame {
        live,
        cursor: cursor.map(|(row, column)| (above + row - first, column)),
        ..Frame::default()
    }
}

fn head(asked: &Asked, context: &Context) -> Vec<Line> {
    let theme = &context.theme;
    let mut head = Line::styled(reveal(&asked.origin), Style::PLAIN.bold());
    head.push(" asks", theme.warning.bold());
    let mut lines = vec![head.clipped(context.columns)];
    // Where nothing can be typed, no secret can be.
    if let Body::Form(form) = &asked.body
        && form.takes_text()
        && context.rows >= ROOMY_ROWS
    {
        let hint = format!(
            "  what you enter is sent to {}: never enter a password or key",
            asked.origin
        );
        lines.push(Line::styled(hint, theme.muted).clipped(context.columns));
    }
    lines
}

fn contents(asked: &Asked, context: &Context) -> Contents {
    let mut lines = Vec::new();
    for text in asked.message.trim_end().lines() {
        let line = Line::plain(format!("  {}", reveal(text)));
        lines.extend(wrap(&line, context.columns, 2));
    }
    match &asked.body {
        Body::Form(form) => fields::push(form, context, lines),
        Body::Page(address) => {
            let theme = &context.theme;
            let mut line = Line::plain("  ");
            line.push(reveal(&address.url), theme.link);
            lines.extend(wrap(&line, context.columns, 2));
            let start = lines.len();
            if let Some(host) = &address.host {
                let mut line = Line::plain("  it leads to ");
                line.push(reveal(host), Style::PLAIN.bold());
                lines.extend(wrap(&line, context.columns, 2));
            }
            for warning in &address.warnings {
                let line = Line::styled(format!("  careful: {warning}"), theme.error);
                lines.extend(wrap(&line, context.columns, 2));
            }
            Contents {
                focus: start..lines.len(),
                lines,
                cursor: None,
            }
        }
    }
}

fn foot(asked: &Asked, context: &Context, draft: &Editor) -> Vec<Line> {
    let theme = &context.theme;
    let mut lines = Vec::new();
    if !draft.is_empty() {
        // Its last line, with chips instead of pastes.
        let written = draft.layout(usize::MAX, theme).rows.pop();
        let mut line = Line::styled("❯ ", theme.muted);
        line.push(written.unwrap_or_default().text(), theme.muted);
        lines.push(line.clipped(context.columns));
    }
    let is_roomy = context.rows >= ROOMY_ROWS;
    let keys = match &asked.body {
        Body::Form(form) => fields::keys(form, is_roomy),
        Body::Page(address) if address.host.is_none() => "c copy it · n no · esc cancel",
        Body::Page(_) if !is_roomy => "o open · y go on · c copy · n no · esc",
        Body::Page(_) => {
            "o open it in a browser · y go on, it is open elsewhere · c copy it · n no · esc cancel"
        }
    };
    match is_roomy {
        true => lines.extend(marked("", keys, context.columns, theme.muted, theme.muted)),
        false => lines.push(Line::styled(keys, theme.muted).clipped(context.columns)),
    }
    lines
}
