//! A login: a key shown as bullets, or a step in a browser.

use super::{Dialog, KeyEntry, PageEntry};
use crate::app::Context;
use crate::renderer::Frame;
use crate::style::Style;
use crate::text::{Line, wrap};

/// Shown instead of each character of the key.
const BULLET: &str = "•";

/// Draws the dialog below `live`.
pub(crate) fn frame(
    dialog: &Dialog,
    context: &Context,
    status: Vec<Line>,
    mut live: Vec<Line>,
) -> Frame {
    live.push(Line::default());
    live.extend(status);
    match dialog {
        Dialog::Key(entry) => key_entry(entry, context, live),
        Dialog::Page(entry) => page_entry(entry, context, live),
        Dialog::Elsewhere { provider, step } => {
            let theme = &context.theme;
            let title = Line::styled(format!("logging in to {provider}"), theme.user);
            live.push(title.clipped(context.columns));
            live.extend(wrap(&Line::styled(step, theme.link), context.columns, 0));
            let hint = Line::styled("waiting for the provider · esc cancels", theme.muted);
            live.push(hint.clipped(context.columns));
            Frame {
                live,
                ..Frame::default()
            }
        }
    }
}

fn page_entry(entry: &PageEntry, context: &Context, mut live: Vec<Line>) -> Frame {
    let theme = &context.theme;
    let title = Line::styled(format!("signing in to {}", entry.server), theme.user);
    live.push(title.clipped(context.columns));
    let page = Line::styled(&entry.page, theme.link);
    live.extend(wrap(&page, context.columns, 0));
    let hint = "open this page and agree there; zot goes on by itself (ctrl+y copies it). If the browser is on \
                another machine, paste the address it ends at here · esc cancels";
    live.extend(wrap(&Line::styled(hint, theme.muted), context.columns, 0));
    let row = live.len();
    let mut line = Line::styled("address: ", theme.user);
    let room = context.columns.saturating_sub(line.width() + 1);
    line.push(BULLET.repeat(entry.address.count().min(room)), Style::PLAIN);
    let column = line.width().min(context.columns.saturating_sub(1));
    live.push(line.clipped(context.columns));
    Frame {
        live,
        cursor: Some((row, column)),
        ..Frame::default()
    }
}

fn key_entry(entry: &KeyEntry, context: &Context, mut live: Vec<Line>) -> Frame {
    let theme = &context.theme;
    let row = live.len();
    let mut line = Line::styled(format!("key of {}: ", entry.provider), theme.user);
    let room = context.columns.saturating_sub(line.width() + 1);
    line.push(BULLET.repeat(entry.key.count().min(room)), Style::PLAIN);
    let column = line.width().min(context.columns.saturating_sub(1));
    live.push(line.clipped(context.columns));
    let hint = match entry.is_checking {
        true => "checking it with the provider · esc cancels",
        false => "type or paste it; it is not shown · enter stores it · esc cancels",
    };
    live.push(Line::styled(hint, theme.muted).clipped(context.columns));
    if let Some(page) = entry.page.as_deref().filter(|_| !entry.is_checking) {
        let line = Line::styled("or paste it in a browser on this machine:", theme.muted);
        live.push(line.clipped(context.columns));
        live.extend(wrap(&Line::styled(page, theme.link), context.columns, 0));
    }
    Frame {
        live,
        cursor: Some((row, column)),
        ..Frame::default()
    }
}
