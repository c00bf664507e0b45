//! The part of the screen that is drawn again and again.

use zot_sdk::ApprovalScope;

use zot_sdk::context::Part;

use crate::app::{App, Retry, ShellOutput};
use crate::text::{Line, wrap};

/// How often something that moves does.
pub(crate) const SPINNER_MS: u64 = 120;
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The editor never takes more of the screen than this part.
const EDITOR_SHARE: usize = 3;
/// So much an answer on the side takes while it comes.
const ASIDE_SHARE: usize = 3;
const SHOWN_QUEUED: usize = 3;
/// Percent of the context from which on it should be made smaller.
const FULL_CONTEXT: u64 = 80;

/// What zot is doing, and what the user should know for a moment.
pub(super) fn status(app: &App) -> Vec<Line> {
    let theme = &app.theme;
    let mut lines = Vec::new();
    if let Some(work) = &app.work {
        let doing = match work.cancelling {
            true => "stopping",
            false => work.doing,
        };
        let elapsed = duration(app.now_ms.saturating_sub(work.started_ms));
        // What there is no room for is left out, the last first.
        let mut parts = vec![format!("{doing} {elapsed}"), "esc to stop".to_owned()];
        if let Some(rate) = work.tokens_per_second(app.now_ms) {
            parts.push(format!("{rate} tokens/s"));
        }
        let cost = work.cost_of(app.info.cost_usd);
        if cost > 0.0 {
            parts.push(format!("${cost:.4}"));
        }
        lines.push(spinning(&parts, app));
        lines.extend(work.retry.as_ref().map(|retry| retrying(retry, app)));
    } else if app.shell.running.is_some() {
        let parts = ["running your command", "esc to stop"].map(str::to_owned);
        lines.push(spinning(&parts, app));
    }
    if let Some((remark, _)) = &app.remark {
        lines.push(Line::styled(remark, theme.warning).clipped(app.columns));
    }
    lines
}

/// As many of `parts` as there is room for, behind something that moves. The second is the key
/// to press and comes last.
fn spinning(parts: &[String], app: &App) -> Line {
    let frame = (app.now_ms / SPINNER_MS) as usize % SPINNER.len();
    let mut count = parts.len();
    loop {
        let mut line = Line::styled(SPINNER[frame], app.theme.accent);
        let (first, rest) = parts[..count].split_at(1.min(count));
        let (key, more) = rest.split_at(1.min(rest.len()));
        let text = [first, more, key].concat().join(" · ");
        line.push(format!(" {text}"), app.theme.muted);
        if line.width() <= app.columns || count <= 1 {
            return line.clipped(app.columns);
        }
        count -= 1;
    }
}

/// `7s`, `2m 05s`, `1h 02m`.
fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match (seconds / 3_600, seconds / 60 % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m {:02}s", seconds % 60),
        (hours, minutes) => format!("{hours}h {minutes:02}m"),
    }
}

/// Why nothing comes, and when it is tried again.
fn retrying(retry: &Retry, app: &App) -> Line {
    let seconds = retry.at_ms.saturating_sub(app.now_ms).div_ceil(1_000);
    let when = match seconds {
        0 => "trying again".to_owned(),
        seconds => format!("trying again in {seconds}s"),
    };
    let text = format!(
        "  attempt {} failed, {when}: {}",
        retry.failures, retry.message
    );
    Line::styled(text, app.theme.warning).clipped(app.columns)
}

/// A question on the side, while its answer comes.
pub(super) fn aside(app: &App) -> Vec<Line> {
    let Some(aside) = &app.aside else {
        return Vec::new();
    };
    let answer = aside.lines(app.columns, &app.theme);
    let mut lines = super::item::aside(&aside.question, answer, app.columns, &app.theme);
    let rows = (app.rows / ASIDE_SHARE).max(2);
    let surplus = lines.len().saturating_sub(rows);
    lines.drain(..surplus);
    // Code is broken by the terminal once it is final; here it would disturb the rows.
    let mut lines: Vec<Line> = lines
        .into_iter()
        .map(|line| line.clipped(app.columns))
        .collect();
    if app.work.is_none() {
        let frame = (app.now_ms / SPINNER_MS) as usize % SPINNER.len();
        let mut line = Line::styled(SPINNER[frame], app.theme.accent);
        line.push(" answering on the side · esc to stop", app.theme.muted);
        lines.push(line.clipped(app.columns));
    }
    lines
}

/// Prompts that wait, and what goes along with the next one.
pub(super) fn queue(app: &App) -> Vec<Line> {
    let theme = &app.theme;
    let titled = |title: &str, text: &str| {
        let mut line = Line::styled(title, theme.accent);
        line.push(text, theme.muted);
        line.clipped(app.columns)
    };
    let mut lines = Vec::new();
    for text in app.steered.iter().take(SHOWN_QUEUED) {
        lines.push(titled("steers: ", text.lines().next().unwrap_or("")));
    }
    for queued in app.queued.iter().take(SHOWN_QUEUED) {
        lines.push(titled("queued: ", &queued.title()));
    }
    if app.queued.len() > SHOWN_QUEUED {
        let more = format!("and {} more", app.queued.len() - SHOWN_QUEUED);
        lines.push(Line::styled(more, theme.muted));
    }
    if !app.queued.is_empty() {
        lines.push(Line::styled("alt+up to edit the last", theme.muted).clipped(app.columns));
    }
    lines.extend(attached(app));
    lines
}

/// What goes along with the next prompt, and what was mentioned and does not.
fn attached(app: &App) -> Vec<Line> {
    let theme = &app.theme;
    let outputs: Vec<String> = app.shell.outputs.iter().map(ShellOutput::chip).collect();
    let mut lines = Vec::new();
    if !outputs.is_empty() {
        let mut line = Line::styled("goes with the next prompt: ", theme.accent);
        super::push_chips(&mut line, &outputs, theme);
        line.push(" · ctrl+x drops it", theme.muted);
        lines.extend(wrap(&line, app.columns, 2));
    }
    let (attached, others): (Vec<_>, Vec<_>) = app
        .attachments
        .parts
        .iter()
        .partition(|part| part.is_attached());
    let told =
        |parts: Vec<&Part>| -> Vec<String> { parts.iter().map(ToString::to_string).collect() };
    if !attached.is_empty() {
        let mut line = Line::styled("attached: ", theme.accent);
        super::push_chips(&mut line, &told(attached), theme);
        lines.extend(wrap(&line, app.columns, 2));
    }
    if !others.is_empty() {
        let text = format!("not attached: {}", told(others).join(" · "));
        lines.extend(wrap(&Line::styled(text, theme.warning), app.columns, 2));
    }
    // The editor stays in sight.
    lines.truncate((app.rows / EDITOR_SHARE).max(2));
    lines
}

/// What the editor has of a screen's columns: beside its mark, and with a place for the cursor.
pub(crate) fn editor_columns(columns: usize) -> usize {
    columns.saturating_sub(3)
}

/// How many rows the editor takes.
pub(super) fn editor_rows(app: &App) -> usize {
    editor(app).0.len()
}

/// The rows of the editor and where the cursor is in them.
pub(super) fn editor(app: &App) -> (Vec<Line>, (usize, usize)) {
    const MARK: &str = "❯ ";
    let layout = app.editor.layout(editor_columns(app.columns), &app.theme);
    let most = (app.rows / EDITOR_SHARE).max(1);
    let count = layout.rows.len();
    // The row with the cursor is always among those that are shown.
    let first = (layout.cursor.0 + 1)
        .saturating_sub(most)
        .min(count.saturating_sub(1));
    let rows = layout.rows.into_iter().enumerate().skip(first).take(most);
    let rows = rows.map(|(index, row)| {
        let mut line = match index {
            0 => Line::styled(MARK, app.theme.user),
            _ => Line::plain("  "),
        };
        line.append(row);
        line
    });
    (
        rows.collect(),
        (layout.cursor.0 - first, layout.cursor.1 + 2),
    )
}

/// The model, the context and the cost.
pub(super) fn footer(app: &App) -> Line {
    let info = &app.info;
    let muted = app.theme.muted;
    let mut line = Line::styled(&info.model, muted);
    if info.context_window > 0 && info.context_used > 0 {
        let percent = info.context_used.saturating_mul(100) / info.context_window;
        line.push(" · ", muted);
        match percent {
            FULL_CONTEXT.. => {
                line.push(format!("context {percent} %, /compact"), app.theme.warning);
            }
            _ => line.push(format!("context {percent} %"), muted),
        }
    }
    let mut text = String::new();
    if info.cost_usd > 0.0 {
        text.push_str(&format!(" · ${:.4}", info.cost_usd));
    }
    match &info.approval {
        ApprovalScope::Nothing => {}
        ApprovalScope::AllTools => text.push_str(" · asks before tools"),
        ApprovalScope::Tools(names) => {
            text.push_str(&format!(" · asks before {}", names.join(", ")));
        }
    }
    if info.is_jailed {
        text.push_str(" · jailed");
    }
    line.push(text, muted);
    line.clipped(app.columns)
}
