//! A tool call as a box without a right edge, so that its contents can be copied.

mod changes;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::app::{Context, Tool, ToolState};
use crate::highlight::{Highlighter, diff_line};
use crate::style::{Style, Theme};
use crate::text::{Line, width, wrap};

/// A folded result shows its beginning and its end.
const HEAD_LINES: usize = 3;
const TAIL_LINES: usize = 4;

/// The last lines of a running tool's output that are shown.
const PROGRESS_LINES: usize = 8;

/// Output is binary if one in this many characters of its end is unprintable.
///
/// Limit: output with a larger share of unprintable characters is shown as ASCII and dots.
const BINARY_SHARE: usize = 10;
/// Limit: only the last bytes decide whether output is binary.
const BINARY_SAMPLE_BYTES: usize = 4 * 1024;

const TOP: &str = "╭ ";
const EDGE: &str = "│ ";
const BOTTOM: &str = "╰ ";
const CLOSED: &str = "╰─";
/// The edge of an empty box.
const EMPTY: &str = "─ ";

/// Returns a call that is being written or is running.
pub(crate) fn running(tool: &Tool, context: &Context) -> Vec<Line> {
    let theme = &context.theme;
    let (body, count) = match tool.state {
        ToolState::Writing => writing(tool, theme),
        _ => printed(&tool.output, theme),
    };
    let body = body.into_iter().map(|line| (line, Fit::Clipped)).collect();
    let mut foot = Line::default();
    if tool.state == ToolState::Running {
        let seconds = context.now_ms.saturating_sub(tool.started_ms) / 1_000;
        foot.push(format!("{seconds}s"), theme.muted);
    } else if tool.state == ToolState::AwaitingApproval {
        foot.push("waiting for your approval", theme.muted);
    } else if count > 0 {
        foot.push(line_count(count), theme.muted);
    }
    let mut lines = vec![Line::default()];
    lines.extend(boxed(
        title(tool, theme),
        body,
        foot,
        theme.accent,
        context.columns,
    ));
    lines
}

pub(super) fn finished(tool: &Tool, columns: usize, theme: &Theme, is_unfolded: bool) -> Vec<Line> {
    let style = match tool.state {
        ToolState::Failed => theme.error,
        _ => theme.success,
    };
    let title = title(tool, theme);
    let fits_title = title.width() + width(TOP) <= columns;
    let mut changes = match tool.state {
        ToolState::Succeeded => changes(tool, theme),
        _ => Vec::new(),
    };
    let mut foot = Line::default();
    if changes.is_empty() {
        let (output, ending) = result(tool, fits_title);
        let is_binary = is_binary(output);
        // Only folded results leave lines out.
        changes = output
            .trim_matches('\n')
            .lines()
            .flat_map(|line| overwritten(line, is_unfolded))
            .filter(|line| is_unfolded || !line.is_empty())
            .map(|line| Line::styled(readable(line, is_binary), theme.muted))
            .collect();
        foot.push(ending, theme.muted);
    }
    if foot.is_empty() && tool.took_ms >= 1_000 {
        foot.push(format!("{:.1}s", tool.took_ms as f64 / 1e3), theme.muted);
    }
    let body = match is_unfolded {
        true => changes
            .into_iter()
            .map(|line| (line, Fit::Wrapped))
            .collect(),
        false => folded(changes, theme),
    };
    boxed(title, body, foot, style, columns)
}

/// What happens to a line that is too long.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    Clipped,
    Wrapped,
}

fn boxed(
    title: Line,
    body: Vec<(Line, Fit)>,
    foot: Line,
    edge: Style,
    columns: usize,
) -> Vec<Line> {
    let marked = |mark: &str, line: Line| {
        let mut whole = Line::styled(mark, edge);
        whole.append(line);
        whole.clipped(columns)
    };
    if body.is_empty() && foot.is_empty() {
        return vec![marked(EMPTY, title)];
    }
    let inner = columns.saturating_sub(width(EDGE)).max(2);
    let mut lines = vec![marked(TOP, title)];
    for (line, fit) in body {
        match fit {
            Fit::Clipped => lines.push(marked(EDGE, line)),
            Fit::Wrapped => {
                let wrapped = wrap(&line, inner, 0).into_iter();
                lines.extend(wrapped.map(|line| marked(EDGE, line)));
            }
        }
    }
    let bottom = if foot.is_empty() { CLOSED } else { BOTTOM };
    lines.push(marked(bottom, foot));
    lines
}

/// Returns the beginning and the end, which has the outcome.
fn folded(body: Vec<Line>, theme: &Theme) -> Vec<(Line, Fit)> {
    let hidden = body.len().saturating_sub(HEAD_LINES + TAIL_LINES);
    // A note about one hidden line takes as much room as the line.
    let hidden = if hidden <= 1 { 0 } else { hidden };
    let mut lines = Vec::new();
    for (index, line) in body.into_iter().enumerate() {
        if hidden > 0 && index == HEAD_LINES {
            let more = format!("… {hidden} more lines (ctrl+o)");
            lines.push((Line::styled(more, theme.muted), Fit::Clipped));
        }
        if index < HEAD_LINES || index >= HEAD_LINES + hidden {
            lines.push((line, Fit::Clipped));
        }
    }
    lines
}

/// Splits a result into its output, without the command shown in the title, and how it ended.
fn result(tool: &Tool, fits_title: bool) -> (&str, String) {
    let output = tool.output.trim_end();
    if tool.name == "!" {
        let end = output.rsplit_once('\n').unwrap_or(("", output));
        let ending = end
            .1
            .strip_prefix('[')
            .and_then(|end| end.strip_suffix(']'));
        return match ending {
            Some(ending) => (end.0, ending.to_owned()),
            None => (output, String::new()),
        };
    }
    let command = tool.arguments.command();
    let Some(command) = command.filter(|_| tool.name == "bash") else {
        return (output, String::new());
    };
    let (output, ending) = match output.rsplit_once("\n[exit ") {
        Some((before, ending)) if !ending.contains('\n') => {
            let ending = ending.replacen("]  Took ", " · ", 1);
            // A command that was stopped, timed out or was killed has no exit code.
            let ending = match ending.strip_prefix("-1") {
                Some(time) => format!("killed{time}"),
                None => format!("exit {ending}"),
            };
            (before, ending)
        }
        _ => (output, String::new()),
    };
    let rest = output.strip_prefix("$ ");
    let rest = rest.and_then(|rest| rest.strip_prefix(command));
    match rest {
        Some(rest) if fits_title && !command.contains('\n') => (rest, ending),
        _ => (output, ending),
    }
}

/// Splits a line that a program overwrote to show progress: its last state, or all of them.
fn overwritten(line: &str, all: bool) -> impl Iterator<Item = &str> {
    let states = line.trim_end_matches('\r').rsplit('\r');
    let mut states: Vec<&str> = states.take(if all { usize::MAX } else { 1 }).collect();
    states.reverse();
    states.into_iter()
}

/// Returns whether output is binary, judged by its end.
fn is_binary(output: &str) -> bool {
    let start = output.len().saturating_sub(BINARY_SAMPLE_BYTES);
    let sample = &output[output.ceil_char_boundary(start)..];
    let is_unprintable = |character: &char| match character {
        '\n' | '\r' | '\t' | '\x08' | '\x1b' => false,
        '\u{fffd}' => true,
        character => character.is_control(),
    };
    let unprintable = sample.chars().filter(is_unprintable).count();
    unprintable * BINARY_SHARE > sample.chars().count()
}

/// Replaces what is not ASCII in binary output: terminals disagree on the width of such characters.
fn readable(line: &str, is_binary: bool) -> Cow<'_, str> {
    match is_binary {
        false => Cow::Borrowed(line),
        true => line
            .chars()
            .map(|character| match character {
                ' '..='~' => character,
                _ => '·',
            })
            .collect(),
    }
}

fn line_count(count: usize) -> String {
    match count {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    }
}

/// Returns the title: `bash  ls -la`, `edit  src/main.rs`.
fn title(tool: &Tool, theme: &Theme) -> Line {
    let mut line = Line::styled(&tool.name, Style::PLAIN.bold());
    let subject = tool.arguments.subject();
    let first = subject.lines().next().unwrap_or("");
    line.push(format!("  {first}"), theme.code);
    if subject.lines().nth(1).is_some() {
        line.push(" …", theme.muted);
    }
    line
}

/// Returns the lines that a `write` or an `edit` changed.
fn changes(tool: &Tool, theme: &Theme) -> Vec<Line> {
    let text = tool.arguments.text();
    match tool.name.as_str() {
        "write" => {
            let content = changes::content(text).unwrap_or_default();
            highlighted(tool, content.lines(), theme)
        }
        "edit" => {
            let diff = changes::diff(text);
            diff.iter().map(|line| diff_line(line, theme)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the end of what the model is writing, and the number of lines so far.
fn writing(tool: &Tool, theme: &Theme) -> (Vec<Line>, usize) {
    let written = tool.arguments.last_lines();
    let lines = match tool.name.as_str() {
        "write" => highlighted(tool, written, theme),
        "edit" => written.map(|line| diff_line(line, theme)).collect(),
        _ => return (Vec::new(), 0),
    };
    (lines, tool.arguments.line_count())
}

fn highlighted<'a>(tool: &Tool, lines: impl Iterator<Item = &'a str>, theme: &Theme) -> Vec<Line> {
    let path = tool.arguments.path().unwrap_or_default();
    let extension = path.rsplit('.').next().unwrap_or("");
    let mut highlighter = Highlighter::new(extension);
    lines.map(|line| highlighter.line(line, theme)).collect()
}

/// Returns the end of a running tool's output, and how many lines that is.
fn printed(output: &str, theme: &Theme) -> (Vec<Line>, usize) {
    let lines = output.trim_end().lines().filter(|line| !line.is_empty());
    let mut last: Vec<&str> = lines.rev().take(PROGRESS_LINES).collect();
    last.reverse();
    let is_binary = is_binary(output);
    let lines = last.iter().flat_map(|line| overwritten(line, false));
    let lines = lines.map(|line| Line::styled(readable(line, is_binary), theme.muted));
    (lines.collect(), last.len())
}
