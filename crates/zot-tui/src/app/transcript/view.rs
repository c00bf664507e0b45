//! Items of the transcript as lines.

mod tool;

use super::{Aside, Item, SentPrompt};
use crate::app::Context;
use crate::app::status::spinner;
use crate::markdown::render_answer;
use crate::style::{Style, Theme};
use crate::text::{Line, marked, push_chips, width, wrap};

pub(crate) use tool::running as tool;

/// A folded prompt shows its beginning and its end.
const PROMPT_HEAD_LINES: usize = 8;
const PROMPT_TAIL_LINES: usize = 4;

const ASIDE_EDGE: &str = "│ ";

/// An arriving answer to a side question takes at most one in this many rows.
const ASIDE_SHARE: usize = 3;

/// Rows of a model's thinking that are shown while it thinks.
const THOUGHT_ROWS: usize = 5;

pub(crate) fn item(item: &Item, columns: usize, theme: &Theme, is_unfolded: bool) -> Vec<Line> {
    let mut lines = vec![Line::default()];
    match item {
        Item::Greeting { version, location } => return greeting(version, location, columns, theme),
        Item::User(sent) => lines.extend(prompt(sent, columns, theme, is_unfolded)),
        Item::Assistant(text) => lines.extend(render_answer(text, columns, theme)),
        Item::Thinking(text) => lines.extend(thinking(text, columns, theme, is_unfolded)),
        Item::Tool(call) => lines.extend(tool::finished(call, columns, theme, is_unfolded)),
        // The image is drawn over these lines.
        Item::Image(drawing) => {
            let is_shown = drawing.columns <= columns && !drawing.sequence.is_empty();
            return vec![Line::default(); if is_shown { drawing.rows } else { 0 }];
        }
        Item::Aside { question, answer } => {
            let answer = render_answer(answer, aside_columns(columns), theme);
            lines.extend(aside_lines(question, answer, columns, theme));
        }
        Item::Note(text) => {
            lines.extend(marked("· ", text, columns, theme.accent, Style::PLAIN));
        }
        Item::Error(text) => lines.extend(marked("✗ ", text, columns, theme.error, theme.error)),
    }
    lines
}

/// Returns a prompt with chips for its attachments.
fn prompt(sent: &SentPrompt, columns: usize, theme: &Theme, is_unfolded: bool) -> Vec<Line> {
    let marked = |mark: &str, text: &str| marked(mark, text, columns, theme.user, theme.user);
    let mut lines = Vec::new();
    let text = if is_unfolded { &sent.text } else { &sent.shown };
    let count = text.lines().count();
    let hidden = count.saturating_sub(PROMPT_HEAD_LINES + PROMPT_TAIL_LINES);
    if is_unfolded || hidden == 0 {
        lines.extend(marked("❯ ", text));
    } else {
        lines.extend(marked("❯ ", first_lines(text, PROMPT_HEAD_LINES)));
        let more = format!("  … {hidden} more lines (ctrl+o)");
        lines.push(Line::styled(more, theme.muted).clipped(columns));
        let mut tail: Vec<&str> = text.lines().rev().take(PROMPT_TAIL_LINES).collect();
        tail.reverse();
        lines.extend(marked("  ", &tail.join("\n")));
    }
    if !sent.chips.is_empty() {
        let mut line = Line::plain("  ");
        push_chips(&mut line, &sent.chips, theme.accent);
        lines.extend(wrap(&line, columns, 2));
    }
    if !sent.not_attached.is_empty() {
        let text = format!("  not attached: {}", sent.not_attached.join(" · "));
        lines.extend(wrap(&Line::styled(text, theme.warning), columns, 2));
    }
    lines
}

fn greeting(version: &str, location: &str, columns: usize, theme: &Theme) -> Vec<Line> {
    let mut line = Line::styled("zot", theme.accent.bold());
    line.push(format!(" {version}  {location}"), theme.muted);
    let mut hint = Line::styled("/help", theme.code);
    hint.push(" for commands and keys", theme.muted);
    vec![line.clipped(columns), hint.clipped(columns)]
}

/// Returns the thinking, dimmed: its first line, or all of it.
fn thinking(text: &str, columns: usize, theme: &Theme, is_unfolded: bool) -> Vec<Line> {
    let style = theme.muted.dim().italic();
    let text = text.trim();
    if is_unfolded {
        return marked("✻ ", text, columns, theme.muted, style);
    }
    let mut line = Line::styled("✻ ", theme.muted);
    line.push(text.lines().next().unwrap_or(""), style);
    let is_cut = line.width() > columns || text.lines().nth(1).is_some();
    const MORE: &str = " (ctrl+o)";
    if !is_cut || columns <= 2 * MORE.len() {
        return vec![line.clipped(columns)];
    }
    if line.width() < columns - MORE.len() {
        line.push("…", style);
    }
    let mut line = line.clipped(columns - MORE.len());
    line.push(MORE, theme.muted);
    vec![line]
}

/// Returns the end of what the model is thinking now.
pub(crate) fn thoughts(text: &str, context: &Context) -> Vec<Line> {
    let (rows, columns, theme) = (THOUGHT_ROWS, context.columns, &context.theme);
    // Enough to fill the rows whatever the width of the characters.
    let start = text.len().saturating_sub(rows * columns * 4);
    let text = text[text.ceil_char_boundary(start)..].trim();
    if text.is_empty() {
        return Vec::new();
    }
    let style = theme.muted.dim().italic();
    let mut lines = marked("✻ ", text, columns, theme.muted, style);
    let surplus = lines.len().saturating_sub(rows);
    lines.drain(..surplus);
    lines.insert(0, Line::default());
    lines
}

/// Returns the columns available to the answer to a side question.
pub(super) fn aside_columns(columns: usize) -> usize {
    columns.saturating_sub(width(ASIDE_EDGE)).max(2)
}

/// Returns a side question while its answer arrives. `is_working` is whether a prompt is running too.
pub(crate) fn aside(aside: &Aside, context: &Context, is_working: bool) -> Vec<Line> {
    let answer = aside.lines(context.columns, &context.theme);
    let mut lines = aside_lines(&aside.question, answer, context.columns, &context.theme);
    let rows = (context.rows / ASIDE_SHARE).max(2);
    let surplus = lines.len().saturating_sub(rows);
    lines.drain(..surplus);
    // The terminal wraps final code, but here that would break the count of rows.
    let mut lines: Vec<Line> = lines
        .into_iter()
        .map(|line| line.clipped(context.columns))
        .collect();
    if !is_working {
        let mut line = spinner(context);
        line.push(
            " answering a side question · esc to stop",
            context.theme.muted,
        );
        lines.push(line.clipped(context.columns));
    }
    lines
}

/// Returns a side question with its answer, set apart from the conversation.
fn aside_lines(question: &str, answer: Vec<Line>, columns: usize, theme: &Theme) -> Vec<Line> {
    let mut lines = marked(
        "│ btw ",
        question,
        columns,
        theme.accent,
        theme.muted.italic(),
    );
    for line in answer {
        let mut edged = Line::styled(ASIDE_EDGE, theme.accent);
        edged.append(line);
        lines.push(edged);
    }
    lines
}

/// Returns the first lines of `text`.
fn first_lines(text: &str, lines: usize) -> &str {
    let mut ends = text.match_indices('\n').skip(lines.saturating_sub(1));
    ends.next().map_or(text, |(end, _)| &text[..end])
}
