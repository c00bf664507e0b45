//! The question whether zot may continue beyond the step limit.

use crate::app::{Context, step_count};
use crate::renderer::Frame;
use crate::style::Style;
use crate::text::{Line, wrap};

/// `below` is the editor with what is being typed; `footer` is the last line.
pub(crate) fn step_limit(
    limit: u64,
    context: &Context,
    mut live: Vec<Line>,
    below: Vec<Line>,
    footer: Line,
) -> Frame {
    let theme = &context.theme;
    live.push(Line::default());
    let steps = step_count(limit);
    let question = format!("the limit of {steps} is reached: continue for {steps} more?");
    let question = Line::styled(question, theme.warning);
    live.extend(wrap(&question, context.columns, 2));
    live.extend(below);
    let keys = "y yes · a yes, without a limit for this prompt · n no, stop here";
    let keys = Line::styled(keys, Style::PLAIN);
    live.extend(wrap(&keys, context.columns, 2));
    live.push(footer);
    Frame {
        live,
        ..Frame::default()
    }
}
