//! What the footer says about servers, and the question about a project's servers.

use super::{Mcp, McpState, ProjectServers};
use crate::app::Context;
use crate::renderer::Frame;
use crate::style::Style;
use crate::text::{Line, marked, reveal, wrap};

/// Below this many rows, the keys are explained in fewer words.
const ROOMY_ROWS: usize = 14;

/// Adds to the footer which servers are starting, and which need attention.
pub(crate) fn footer(mcp: &Mcp, context: &Context, line: &mut Line) {
    let named = |is_meant: fn(&McpState) -> bool| -> Vec<&str> {
        let servers = mcp.servers.iter();
        let servers = servers.filter(|server| is_meant(&server.state));
        servers.map(|server| server.name.as_str()).collect()
    };
    let starting = named(|state| matches!(state, McpState::Starting | McpState::Restarting(_)));
    if !starting.is_empty() {
        line.push(
            format!(" · starting {}", listed(&starting)),
            context.theme.muted,
        );
    }
    let failed = named(|state| matches!(state, McpState::Failed(_)));
    if !failed.is_empty() {
        line.push(
            format!(" · {} failed, /mcp", listed(&failed)),
            context.theme.warning,
        );
    }
    let waiting = named(|state| *state == McpState::NeedsLogin);
    if !waiting.is_empty() {
        let text = format!(" · {} wants a login, /mcp", listed(&waiting));
        line.push(text, context.theme.warning);
    }
}

/// Names one or two, and counts more.
fn listed(names: &[&str]) -> String {
    match names {
        [one] => (*one).to_owned(),
        [one, other] => format!("{one} and {other}"),
        [one, rest @ ..] => format!("{one} and {} others", rest.len()),
        [] => String::new(),
    }
}

/// The parts of the question.
struct Parts {
    head: Vec<Line>,
    /// The servers, which scroll.
    body: Vec<Line>,
    foot: Vec<Line>,
    /// How many lines of the body fit.
    room: usize,
}

/// Returns how many lines do not fit on the screen.
pub(super) fn surplus(project: &ProjectServers, context: &Context) -> usize {
    let parts = parts(project, context);
    parts.body.len().saturating_sub(parts.room)
}

fn parts(project: &ProjectServers, context: &Context) -> Parts {
    let theme = &context.theme;
    let columns = context.columns;
    let count = match project.servers.len() {
        1 => "1 MCP server".to_owned(),
        count => format!("{count} MCP servers"),
    };
    let head = Line::styled(
        format!("this project wants to start {count}. Do you trust it?"),
        theme.warning.bold(),
    );
    let mut head = wrap(&head, columns, 0);
    let path = Line::styled(format!("  {}", reveal(&project.path)), theme.muted);
    head.push(path.clipped(columns));
    let keys = match context.rows {
        ..ROOMY_ROWS => "y start them · n never · esc not now",
        _ => {
            "y start them, and remember it as long as the file stays the same · n never · esc not now"
        }
    };
    let foot = marked("", keys, columns, theme.muted, theme.muted);
    let mut body = Vec::new();
    for (name, facts) in &project.servers {
        let name = Line::styled(format!("  {}", reveal(name)), Style::PLAIN.bold());
        body.extend(wrap(&name, columns, 2));
        for fact in facts {
            let line = Line::styled(format!("    {}", reveal(fact)), theme.code);
            body.extend(wrap(&line, columns, 6));
        }
    }
    // A row above, and one for the position.
    let room = context.rows.saturating_sub(head.len() + foot.len() + 2);
    Parts {
        head,
        body,
        foot,
        room: room.max(1),
    }
}

/// Draws the question below `live`.
pub(crate) fn project_frame(
    project: &ProjectServers,
    context: &Context,
    mut live: Vec<Line>,
) -> Frame {
    let Parts {
        head,
        body,
        foot,
        room,
    } = parts(project, context);
    let all = body.len();
    let first = project.top.min(all.saturating_sub(room));
    live.push(Line::default());
    live.extend(head);
    live.extend(body.into_iter().skip(first).take(room));
    if all > room {
        let last = first + room;
        let position = format!(
            "  lines {}–{last} of {all} · up, down, pgup, pgdn",
            first + 1
        );
        live.push(Line::styled(position, context.theme.warning).clipped(context.columns));
    }
    live.extend(foot);
    Frame {
        live,
        ..Frame::default()
    }
}
