//! The question whether zot may go on beyond a limit on steps.

use crate::app::{App, steps};
use crate::renderer::Frame;
use crate::style::Style;
use crate::text::{Line, wrap};

pub(super) fn frame(limit: u64, app: &App, mut live: Vec<Line>) -> Frame {
    let theme = &app.theme;
    live.push(Line::default());
    let question = format!(
        "the limit of {} is reached: continue for {} more?",
        steps(limit),
        steps(limit)
    );
    live.extend(wrap(&Line::styled(question, theme.warning), app.columns, 2));
    if !app.editor.is_empty() {
        let (rows, _) = super::live::editor(app);
        live.extend(rows);
    }
    let keys = "y yes · a yes, without a limit for this prompt · n no, stop here";
    live.extend(wrap(&Line::styled(keys, Style::PLAIN), app.columns, 2));
    live.push(super::live::footer(app));
    Frame {
        live,
        ..Frame::default()
    }
}
