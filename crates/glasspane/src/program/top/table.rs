//! Renders the table as lines of text. Pure.

#[cfg(test)]
mod tests;

use super::attention::waiting_since;
use super::view::{View, tokens};
use crate::program::{clip, plain, width};
use crate::{AgentState, Retry, Status, Usage};

/// Names and widths of the columns; the last one, with the current activity, takes the remaining width.
const COLUMNS: [(&str, usize, Align); 9] = [
    ("AGENT", 18, Align::Left),
    ("SOURCE", 11, Align::Left),
    ("STATUS", 22, Align::Left),
    ("FOR", 6, Align::Right),
    ("TURNS", 5, Align::Right),
    ("TOOLS", 5, Align::Right),
    ("ERR", 5, Align::Right),
    ("TOKENS", 7, Align::Right),
    ("COST", 9, Align::Right),
];

/// The columns dropped from a narrow table, in this order, until the last one has [`LAST_COLUMNS`].
const EXPENDABLE: [&str; 6] = ["TURNS", "TOOLS", "TOKENS", "SOURCE", "ERR", "COST"];
const LAST_COLUMNS: usize = 32;
const GAP: usize = 2;

/// Lines other than agents: the totals, the header, and the footer.
const FRAME_ROWS: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Right,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// Returns at most `size.rows` lines, none wider than `size.columns`.
pub(super) fn table(
    agents: &[AgentState],
    view: &View,
    now_ms: u64,
    size: Size,
    color: bool,
) -> Vec<String> {
    let chosen = view.select(agents, now_ms);
    let columns = columns(size.columns);
    let visible = size.rows.saturating_sub(FRAME_ROWS).max(1);
    let scroll = view.scroll.min(chosen.len().saturating_sub(visible));
    let mut lines = vec![
        clip(&sums(agents), size.columns),
        style(&clip(&heads(&columns), size.columns), "7", color),
    ];
    for agent in chosen.iter().skip(scroll).take(visible) {
        let line = clip(&row(agent, &columns, now_ms), size.columns);
        lines.push(style(&line, status_style(agent.status), color));
    }
    if chosen.is_empty() {
        lines.push("  (no agents)".to_owned());
    }
    if size.rows != usize::MAX {
        let below = chosen.len().saturating_sub(scroll + visible);
        lines.push(clip(&foot(view, below), size.columns));
    }
    lines.truncate(size.rows);
    lines
}

fn sums(agents: &[AgentState]) -> String {
    let count =
        |matches: fn(Status) -> bool| agents.iter().filter(|agent| matches(agent.status)).count();
    let mut used = Usage::default();
    for agent in agents {
        used.add(&agent.usage);
    }
    let violations: u64 = agents.iter().map(|agent| agent.violation_count).sum();
    let mut line = format!(
        "{} agents  {} working  {} waiting for approval  {} done  {} failed  {} tokens  {}",
        agents.len(),
        count(|status| status.is_working() && status != Status::WaitingForApproval),
        count(|status| status == Status::WaitingForApproval),
        count(|status| status == Status::Done),
        count(|status| status == Status::Failed),
        short_count(used.tokens()),
        used.cost_words(),
    );
    for status in [Status::Interrupted, Status::NotUnderstood] {
        let number = agents.iter().filter(|agent| agent.status == status).count();
        if number > 0 {
            line.push_str(&format!("  {number} {}", status.words()));
        }
    }
    if violations > 0 {
        line.push_str(&format!("  {violations} protocol violations"));
    }
    line
}

/// Chooses the columns that fit.
fn columns(available: usize) -> [bool; COLUMNS.len()] {
    let mut shown = [true; COLUMNS.len()];
    for dropped in EXPENDABLE {
        let used: usize = COLUMNS
            .iter()
            .zip(shown)
            .filter(|(_, shown)| *shown)
            .map(|((_, width, _), _)| width + GAP)
            .sum();
        if available >= used + LAST_COLUMNS {
            break;
        }
        for (shown, (name, ..)) in shown.iter_mut().zip(COLUMNS) {
            *shown &= name != dropped;
        }
    }
    shown
}

fn heads(columns: &[bool]) -> String {
    let mut line = String::new();
    for (_, (name, width, align)) in columns.iter().zip(COLUMNS).filter(|(shown, _)| **shown) {
        push_cell(&mut line, name, width, align);
    }
    line.push_str("LAST");
    line
}

fn row(agent: &AgentState, columns: &[bool], now_ms: u64) -> String {
    let since_ms = match agent.status {
        Status::WaitingForApproval => waiting_since(agent),
        _ => agent.since_ms,
    };
    let until = agent.ended_ms.unwrap_or(now_ms);
    let cells = [
        plain(&agent.label),
        plain(&agent.source),
        plain(&status(agent)),
        duration(until.saturating_sub(since_ms)),
        short_count(agent.turns),
        short_count(agent.tools),
        short_count(agent.errors + agent.violation_count),
        short_count(tokens(agent)),
        agent.usage.cost_words(),
    ];
    let mut line = String::new();
    for ((cell, (_, width, align)), shown) in cells.iter().zip(COLUMNS).zip(columns) {
        if *shown {
            push_cell(&mut line, cell, width, align);
        }
    }
    line.push_str(&last(agent));
    line
}

fn status(agent: &AgentState) -> String {
    match (agent.status, agent.tools_running.as_slice()) {
        (Status::RunningTool, [one]) => format!("running {one}"),
        (Status::RunningTool, [.., last]) => {
            format!("running {last} +{}", agent.tools_running.len() - 1)
        }
        (Status::NotUnderstood, _) => format!("not understood ({})", agent.unknown),
        (Status::Retrying, _) => agent
            .retry
            .as_ref()
            .map_or_else(|| Status::Retrying.words().to_owned(), Retry::short_words),
        (status, _) => status.words().to_owned(),
    }
}

/// Returns what waits for a person, the arguments of the running tool, or the error of a failed agent;
/// otherwise the last line of its last message.
fn last(agent: &AgentState) -> String {
    let last_line = || agent.last_text.trim_end().lines().next_back().unwrap_or("");
    match (agent.status, &agent.error) {
        (Status::WaitingForApproval, _) if !agent.approvals.is_empty() => {
            oldest_approval(&agent.approvals)
        }
        (Status::RunningTool, _) => match agent.running.last() {
            Some(tool) if !tool.summary.is_empty() => plain(&tool.summary),
            _ => plain(last_line()),
        },
        (Status::Failed, Some(error)) => plain(error),
        _ => plain(last_line()),
    }
}

/// Describes the oldest pending approval and how many more there are.
fn oldest_approval(approvals: &[crate::PendingApproval]) -> String {
    let more = match approvals.len() {
        0 | 1 => String::new(),
        count => format!("(+{}) ", count - 1),
    };
    let oldest = approvals.first();
    let (name, summary) = oldest.map_or(("", ""), |approval| (&*approval.name, &*approval.summary));
    let between = if name.is_empty() || summary.is_empty() {
        ""
    } else {
        ": "
    };
    plain(&format!("{more}{name}{between}{summary}"))
}

fn push_cell(line: &mut String, cell: &str, limit: usize, align: Align) {
    let cell = clip(cell, limit);
    let blank = " ".repeat(limit - width(&cell));
    match align {
        Align::Left => line.extend([cell.as_str(), &blank]),
        Align::Right => line.extend([blank.as_str(), &cell]),
    }
    line.push_str(&" ".repeat(GAP));
}

fn foot(view: &View, below: usize) -> String {
    if view.typing {
        return format!(
            "filter: {}_   enter keeps it, escape clears it",
            plain(&view.filter)
        );
    }
    if let Some(note) = &view.note {
        return plain(note);
    }
    let mut line = format!(
        "q quit  s sort ({}{})  / filter",
        view.sort.name(),
        if view.reversed { ", reversed" } else { "" }
    );
    if !view.filter.is_empty() {
        line.push_str(&format!(" ({})", plain(&view.filter)));
    }
    line.push_str(if view.hide_done {
        "  d show done"
    } else {
        "  d hide done"
    });
    if below > 0 {
        line.push_str(&format!("  ↓ {below} more"));
    }
    line
}

fn status_style(status: Status) -> &'static str {
    match status {
        Status::WaitingForApproval => "1;33",
        Status::Failed => "31",
        Status::Interrupted | Status::NotUnderstood | Status::Retrying => "33",
        Status::RunningTool => "36",
        Status::Writing => "32",
        Status::Thinking => "34",
        Status::Starting | Status::Idle | Status::Done => "2",
    }
}

fn style(line: &str, code: &str, color: bool) -> String {
    if color {
        format!("\x1b[{code}m{line}\x1b[0m")
    } else {
        line.to_owned()
    }
}

fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h{:02}", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d{:02}", seconds / 86_400, seconds / 3600 % 24),
    }
}

fn short_count(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}
