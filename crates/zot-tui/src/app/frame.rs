//! Builds the live part of the screen from the state.

use super::{
    App, StepLimit, approvals, composer, login, mcp, panels, picker, questions, status, transcript,
};
use crate::renderer::Frame;
use crate::text::Line;

/// Returns the part below the finished lines, which is drawn again for every frame.
pub(crate) fn live_frame(app: &App) -> Frame {
    let context = &app.context;
    let mut live = app.transcript.tail(context);
    let tail = live.len();
    live.extend(transcript::thoughts(&app.transcript.thinking, context));
    // A long answer scrolls off the top, but what is below it stays visible.
    for tool in app
        .transcript
        .tools
        .iter()
        .chain(&app.composer.shell.running)
    {
        live.extend(transcript::tool(tool, context));
    }
    let runs_shell = app.composer.shell.running.is_some();
    let status = || status::lines(&app.status, context, runs_shell);
    // The login dialog receives all keys, whatever else is open.
    if let Some(dialog) = &app.login.dialog {
        return login::frame(dialog, context, status(), live);
    }
    if let Some(project) = &app.mcp.project {
        return mcp::project_frame(project, context, live);
    }
    if let StepLimit::Asked(limit) = app.approvals.step_limit {
        let below = match app.composer.editor.is_empty() {
            true => Vec::new(),
            false => composer::editor(&app.composer.editor, context).0,
        };
        return approvals::step_limit_frame(limit, context, live, below, footer(app));
    }
    // A question covers everything else: the user must see it before answering.
    if let Some(approval) = &app.approvals.current {
        return Frame {
            tail,
            ..approvals::frame(approval, context, &app.composer.editor, live)
        };
    }
    if let Some(asked) = &app.questions.current {
        return Frame {
            tail,
            ..questions::frame(asked, context, &app.composer.editor, live)
        };
    }
    if let Some(panel) = app.panels.top() {
        live.extend(panels::lines(panel, context));
        return Frame {
            live,
            tail,
            ..Frame::default()
        };
    }
    live.push(Line::default());
    if let Some(aside) = &app.transcript.aside {
        live.extend(transcript::aside(aside, context, app.status.is_working()));
    }
    live.extend(status());
    live.extend(composer::queue(&app.composer, context));
    let top = live.len();
    let (rows, mut cursor) = composer::editor(&app.composer.editor, context);
    let editor_rows = rows.len();
    live.extend(rows);
    if let Some(list) = app.picker.list() {
        let (rows, typing) = picker::lines(list, context, editor_rows);
        live.extend(rows);
        // A list that receives the keys has the cursor.
        if let Some((row, column)) = typing {
            cursor = (editor_rows + row, column);
        }
    }
    live.push(footer(app));
    Frame {
        live,
        tail,
        cursor: Some((top + cursor.0, cursor.1)),
        ..Frame::default()
    }
}

/// Returns the last line: the model, its context, the cost, and servers that need attention.
fn footer(app: &App) -> Line {
    let mut line = status::footer(&app.context);
    mcp::footer(&app.mcp, &app.context, &mut line);
    line.clipped(app.context.columns)
}
