//! A tool call: what it is, what it does, what came of it.

mod arguments;
#[cfg(test)]
mod tests;

use crate::app::{App, Tool, ToolState};
use crate::highlight::{Highlighter, diff_line};
use crate::style::{Style, Theme};
use crate::text::{Line, wrap};

use arguments::field;

/// Lines of a folded result, and of what a running tool printed last.
const FOLDED_LINES: usize = 6;
const PROGRESS_LINES: usize = 6;

/// A call that is being written or runs.
pub(super) fn running(tool: &Tool, app: &App) -> Vec<Line> {
    let theme = &app.theme;
    let mut lines = vec![Line::default()];
    let mut head = Line::styled("● ", theme.accent);
    push_title(&mut head, tool, theme);
    if tool.state == ToolState::Running {
        let seconds = app.now_ms.saturating_sub(tool.started_ms) / 1_000;
        head.push(format!("  {seconds}s"), theme.muted);
    }
    lines.push(head.clipped(app.columns));
    let body = match tool.state {
        ToolState::Written => written(tool, theme),
        _ => output_lines(&tool.output, theme),
    };
    let surplus = body.len().saturating_sub(PROGRESS_LINES);
    for line in body.into_iter().skip(surplus) {
        lines.push(indented(line).clipped(app.columns));
    }
    lines
}

pub(super) fn finished(tool: &Tool, columns: usize, theme: &Theme, expanded: bool) -> Vec<Line> {
    let style = match tool.state {
        ToolState::Failed => theme.error,
        _ => theme.success,
    };
    let mut head = Line::styled("● ", style);
    push_title(&mut head, tool, theme);
    if tool.took_ms >= 1_000 {
        head.push(format!("  {:.1}s", tool.took_ms as f64 / 1e3), theme.muted);
    }
    let mut lines = vec![head.clipped(columns)];
    let changes = written(tool, theme);
    let body = match tool.state {
        ToolState::Succeeded if !changes.is_empty() => changes,
        _ => output_lines(&tool.output, theme),
    };
    let shown = match expanded {
        true => body.len(),
        false => FOLDED_LINES,
    };
    let hidden = body.len().saturating_sub(shown);
    for line in body.into_iter().take(shown) {
        let line = indented(line);
        match expanded {
            true => lines.extend(wrap(&line, columns, 2)),
            false => lines.push(line.clipped(columns)),
        }
    }
    if hidden > 0 {
        let noun = if hidden == 1 { "line" } else { "lines" };
        lines.push(Line::styled(
            format!("  … {hidden} more {noun} (ctrl+o)"),
            theme.muted,
        ));
    }
    lines
}

/// `bash  ls -la`, `edit  src/main.rs`.
fn push_title(line: &mut Line, tool: &Tool, theme: &Theme) {
    line.push(&tool.name, Style::PLAIN.bold());
    let subject = ["command", "path", "name"]
        .iter()
        .find_map(|name| field(&tool.arguments, name));
    let subject = subject.unwrap_or_else(|| match tool.arguments.as_str() {
        "{}" => String::new(),
        arguments => arguments.to_owned(),
    });
    let first = subject.lines().next().unwrap_or("");
    line.push(format!("  {first}"), theme.code);
    if subject.lines().nth(1).is_some() {
        line.push(" …", theme.muted);
    }
}

/// What a `write` or an `edit` is about to put into a file.
fn written(tool: &Tool, theme: &Theme) -> Vec<Line> {
    match tool.name.as_str() {
        "write" => {
            let path = field(&tool.arguments, "path").unwrap_or_default();
            let ending = path.rsplit('.').next().unwrap_or("");
            let mut highlighter = Highlighter::new(ending);
            let content = field(&tool.arguments, "content").unwrap_or_default();
            let lines = content.lines();
            lines.map(|line| highlighter.line(line, theme)).collect()
        }
        "edit" => arguments::edits(&tool.arguments)
            .iter()
            .flat_map(|(old, new)| {
                let removed = old.lines().map(|line| format!("-{line}"));
                let added = new.lines().map(|line| format!("+{line}"));
                removed.chain(added).collect::<Vec<_>>()
            })
            .map(|line| diff_line(&line, theme))
            .collect(),
        _ => Vec::new(),
    }
}

fn output_lines(output: &str, theme: &Theme) -> Vec<Line> {
    let output = output.trim_end();
    let lines = output.lines().filter(|line| !line.is_empty());
    lines.map(|line| Line::styled(line, theme.muted)).collect()
}

fn indented(line: Line) -> Line {
    let mut indented = Line::plain("  ");
    for span in line.0 {
        indented.push(&span.text, span.style);
    }
    indented
}
