//! The lines about what zot is doing, and the footer.

use zot_sdk::ApprovalScope;
use zot_sdk::sandbox::Level;

use super::{Retry, Status};
use crate::app::Context;
use crate::text::Line;

/// How often the spinner moves.
pub(crate) const SPINNER_MS: u64 = 120;
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Percentage of the context above which the footer suggests compaction.
const FULL_CONTEXT_PERCENT: u64 = 80;

/// Returns what zot is doing, and the remark. `runs_shell` is whether a `!command` is running.
pub(crate) fn lines(status: &Status, context: &Context, runs_shell: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(work) = &status.work {
        let activity = match work.is_cancelling {
            true => "stopping",
            false => work.activity,
        };
        let elapsed = duration(context.now_ms.saturating_sub(work.started_ms));
        // If they do not all fit, the last are dropped first.
        let mut parts = vec![format!("{activity} {elapsed}"), "esc to stop".to_owned()];
        if let Some(rate) = work.tokens_per_second(context.now_ms) {
            parts.push(format!("{rate} tokens/s"));
        }
        let cost = work.own_cost(context.info.cost_usd);
        if cost > 0.0 {
            parts.push(format!("${cost:.4}"));
        }
        lines.push(spinning(&parts, context));
        lines.extend(work.retry.as_ref().map(|retry| retrying(retry, context)));
    } else if runs_shell {
        let parts = ["running your command", "esc to stop"].map(str::to_owned);
        lines.push(spinning(&parts, context));
    }
    if let Some(remark) = status.remark() {
        lines.push(Line::styled(remark, context.theme.warning).clipped(context.columns));
    }
    lines
}

/// Returns the spinner as it looks now.
pub(crate) fn spinner(context: &Context) -> Line {
    let frame = (context.now_ms / SPINNER_MS) as usize % SPINNER.len();
    Line::styled(SPINNER[frame], context.theme.accent)
}

/// Returns a spinner and as many of `parts` as fit. The second part names the key to press and is
/// shown last.
fn spinning(parts: &[String], context: &Context) -> Line {
    let mut count = parts.len();
    loop {
        let mut line = spinner(context);
        let (first, rest) = parts[..count].split_at(1.min(count));
        let (key, more) = rest.split_at(1.min(rest.len()));
        let text = [first, more, key].concat().join(" · ");
        line.push(format!(" {text}"), context.theme.muted);
        if line.width() <= context.columns || count <= 1 {
            return line.clipped(context.columns);
        }
        count -= 1;
    }
}

/// Formats a duration: `7s`, `2m 05s`, `1h 02m`.
fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match (seconds / 3_600, seconds / 60 % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m {:02}s", seconds % 60),
        (hours, minutes) => format!("{hours}h {minutes:02}m"),
    }
}

/// Returns why a request failed and when it is sent again.
fn retrying(retry: &Retry, context: &Context) -> Line {
    let seconds = retry.at_ms.saturating_sub(context.now_ms).div_ceil(1_000);
    let when = match seconds {
        0 => "retrying".to_owned(),
        seconds => format!("retrying in {seconds}s"),
    };
    let text = format!(
        "  attempt {} failed, {when}: {}",
        retry.failures, retry.message
    );
    Line::styled(text, context.theme.warning).clipped(context.columns)
}

/// Returns the footer: the model, the context and the cost.
pub(crate) fn footer(context: &Context) -> Line {
    let info = &context.info;
    let muted = context.theme.muted;
    let mut line = Line::styled(&info.model, muted);
    if info.context_window > 0 && info.context_used > 0 {
        let percent = info.context_used.saturating_mul(100) / info.context_window;
        line.push(" · ", muted);
        match percent {
            FULL_CONTEXT_PERCENT.. => {
                line.push(
                    format!("context {percent} %, /compact"),
                    context.theme.warning,
                );
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
    if info.sandbox != Level::Off {
        text.push_str(&format!(" · sandbox {}", info.sandbox));
    }
    if info.is_jailed {
        text.push_str(" · jailed");
    }
    line.push(text, muted);
    line.clipped(context.columns)
}
