//! The fields of a form.

use unicode_segmentation::UnicodeSegmentation as _;

use super::Contents;
use crate::app::Context;
use crate::app::questions::field::{Entry, Field, FieldOption};
use crate::app::questions::form::{Form, Stop};
use crate::editor::Editor;
use crate::style::Style;
use crate::text::{Line, reveal, width, wrap};

/// Titles of fields take at most this many columns, and a third of the screen.
const MAX_TITLE_COLUMNS: usize = 28;

/// Options of a field are beside one another only if none takes more columns.
const MAX_INLINE_COLUMNS: usize = 24;

/// Columns of the mark before a title, and of the gap after it.
const MARK_COLUMNS: usize = 2;
const GAP_COLUMNS: usize = 2;

/// Adds the fields below the message.
pub(super) fn push(form: &Form, context: &Context, mut lines: Vec<Line>) -> Contents {
    let theme = &context.theme;
    let mut focus = lines.len()..lines.len();
    let mut cursor = None;
    if let Some(obstacle) = &form.obstacle {
        let line = Line::styled(format!("  {}", reveal(&obstacle.to_string())), theme.error);
        lines.extend(wrap(&line, context.columns, 2));
    }
    let title_columns = title_columns(form, context);
    for (index, field) in form.fields.iter().enumerate() {
        let is_selected = form.stop == Stop::Field(index);
        let start = lines.len();
        let column = push_field(&mut lines, field, is_selected, title_columns, context);
        if is_selected {
            focus = start..lines.len();
            cursor = column.map(|column| (start, column));
        }
    }
    let send = form.obstacle.is_none().then_some((Stop::Send, "send"));
    for (stop, text) in send.into_iter().chain([(Stop::Decline, "decline")]) {
        let is_selected = form.stop == stop;
        if is_selected {
            focus = lines.len()..lines.len() + 1;
        }
        let style = if is_selected {
            theme.accent.bold()
        } else {
            Style::PLAIN
        };
        let mut line = mark(is_selected, context);
        line.push(format!("[{text}]"), style);
        lines.push(line.clipped(context.columns));
    }
    Contents {
        lines,
        focus,
        cursor,
    }
}

fn title_columns(form: &Form, context: &Context) -> usize {
    let titles = form.fields.iter().map(|field| width(&reveal(&field.title)));
    let most = MAX_TITLE_COLUMNS.min(context.columns / 3);
    titles.max().unwrap_or(0).min(most)
}

/// Returns whether each option of the selected field has a line of its own.
pub(super) fn is_stacked(form: &Form, context: &Context) -> bool {
    let indent = MARK_COLUMNS + title_columns(form, context) + GAP_COLUMNS;
    let room = context.columns.saturating_sub(indent);
    match form.current().map(|field| &field.entry) {
        Some(Entry::One { options, .. } | Entry::Several { options, .. }) => {
            has_long(options, room)
        }
        Some(Entry::Text { .. }) | None => false,
    }
}

/// Returns whether an option is a sentence, or takes more than half a line. Most questions then have the same
/// keys at every width of the window.
fn has_long(options: &[FieldOption], room: usize) -> bool {
    let is_long = |option: &FieldOption| {
        let columns = width(&reveal(&option.title));
        columns > MAX_INLINE_COLUMNS || 2 * columns > room
    };
    options.iter().any(is_long)
}

/// Adds one field, and returns the column of the cursor in its first line.
fn push_field(
    lines: &mut Vec<Line>,
    field: &Field,
    is_selected: bool,
    title_columns: usize,
    context: &Context,
) -> Option<usize> {
    let theme = &context.theme;
    let mut line = mark(is_selected, context);
    let style = if is_selected {
        theme.accent.bold()
    } else {
        Style::PLAIN
    };
    let title = Line::styled(reveal(&field.title), style).clipped(title_columns);
    let missing = title_columns.saturating_sub(title.width());
    line.append(title);
    line.push(" ".repeat(missing + GAP_COLUMNS), Style::PLAIN);
    let indent = line.width();
    let room = context.columns.saturating_sub(indent + 1).max(1);
    let mut column = None;
    match &field.entry {
        Entry::Text { editor, .. } if is_selected => {
            let (shown, at) = window(editor, room);
            line.push(shown, theme.user);
            column = Some((indent + at).min(context.columns.saturating_sub(1)));
            if editor.is_empty() {
                line.push(placeholder(field), theme.muted);
            }
            lines.push(line.clipped(context.columns));
        }
        Entry::One { options, chosen } if is_selected => {
            let is_chosen = |index| Some(index) == *chosen;
            push_options(lines, line, options, ("●", "○"), is_chosen, None, context);
        }
        Entry::Several {
            options,
            chosen,
            at,
            ..
        } if is_selected => {
            let is_chosen = |index| chosen.contains(&index);
            push_options(
                lines,
                line,
                options,
                ("■", "□"),
                is_chosen,
                Some(*at),
                context,
            );
        }
        _ => {
            let value = summary(field);
            match value.is_empty() {
                true => line.push(placeholder(field), theme.muted),
                false => line.push(value, Style::PLAIN),
            }
            lines.push(line.clipped(context.columns));
        }
    }
    let below = |text: &str, style: Style| {
        let text = text.lines().next().unwrap_or_default();
        wrap(
            &Line::styled(format!("    {}", reveal(text)), style),
            context.columns,
            4,
        )
    };
    if !field.description.is_empty() {
        lines.extend(below(&field.description, theme.muted));
    }
    if let Some(problem) = &field.problem {
        lines.extend(below(problem, theme.error));
    }
    column
}

fn mark(is_selected: bool, context: &Context) -> Line {
    match is_selected {
        true => Line::styled("▸ ", context.theme.accent),
        false => Line::plain("  "),
    }
}

/// Returns what is entered or chosen, on one line.
fn summary(field: &Field) -> String {
    match &field.entry {
        Entry::Text { editor, .. } => reveal(&editor.content()),
        Entry::One { options, chosen } => {
            let option = chosen.and_then(|index| options.get(index));
            option
                .map(|option| reveal(&option.title))
                .unwrap_or_default()
        }
        Entry::Several {
            options, chosen, ..
        } => {
            let titles = chosen.iter().filter_map(|index| options.get(*index));
            let titles: Vec<String> = titles.map(|option| reveal(&option.title)).collect();
            titles.join(", ")
        }
    }
}

/// Returns what an empty field shows.
fn placeholder(field: &Field) -> String {
    let need = match field.is_required {
        true => "required",
        false => "optional",
    };
    match field.expected() {
        Some(expected) => format!("{need}, {expected}"),
        None => need.to_owned(),
    }
}

/// Adds all options after the title, on as many lines as they need. If one of them takes more than half a
/// line, each gets its own: between long ones, a short one would be overlooked.
fn push_options(
    lines: &mut Vec<Line>,
    title: Line,
    options: &[FieldOption],
    (chosen_mark, other_mark): (&str, &str),
    is_chosen: impl Fn(usize) -> bool,
    at: Option<usize>,
    context: &Context,
) {
    let theme = &context.theme;
    let indent = title.width();
    let mut line = title;
    let room = context.columns.saturating_sub(indent);
    let has_long = has_long(options, room);
    for (index, option) in options.iter().enumerate() {
        let (mark, style) = match is_chosen(index) {
            true => (chosen_mark, theme.user.bold()),
            false => (other_mark, Style::PLAIN),
        };
        let style = if at == Some(index) {
            style.underline()
        } else {
            style
        };
        let mut piece = Line::styled(format!("{mark} "), theme.accent);
        piece.push(reveal(&option.title), style);
        let is_full = has_long || line.width() + piece.width() + 2 > context.columns;
        if line.width() > indent && is_full {
            lines.push(line);
            line = Line::plain(" ".repeat(indent));
        }
        if line.width() > indent {
            line.push("  ", Style::PLAIN);
        }
        line.append(piece);
        line = line.clipped(context.columns);
    }
    lines.push(line);
}

/// Returns the part of a text around the cursor that fits, and the column of the cursor in it.
fn window(editor: &Editor, room: usize) -> (String, usize) {
    let before = reveal(editor.before_cursor());
    let after = editor.text().get(editor.before_cursor().len()..);
    let after = reveal(after.unwrap_or_default());
    let mut shown = before.as_str();
    if width(shown) >= room {
        let mut used = 1;
        let clusters = before.grapheme_indices(true).rev();
        let fitting = clusters.take_while(|(_, cluster)| {
            used += width(cluster);
            used < room
        });
        let start = fitting.last().map_or(before.len(), |(at, _)| at);
        shown = &before[start..];
        let shown = format!("…{shown}");
        let column = width(&shown);
        return (shown + &after, column);
    }
    (format!("{shown}{after}"), width(shown))
}

/// Explains the keys.
pub(super) fn keys(form: &Form, is_roomy: bool) -> &'static str {
    let entry = form.current().map(|field| &field.entry);
    match (&form.obstacle, entry) {
        (Some(_), _) => "enter declines · esc cancel",
        (None, None) if !is_roomy => "enter · ctrl+s sends · esc",
        (None, Some(Entry::Text { .. })) if !is_roomy => "enter next · ctrl+s sends · esc",
        (None, Some(Entry::One { .. })) if !is_roomy && form.is_stacked => {
            "up, down · ctrl+s sends · esc"
        }
        (None, Some(Entry::One { .. })) if !is_roomy => "left, right · ctrl+s sends · esc",
        (None, Some(Entry::Several { .. })) if !is_roomy => "space · ctrl+s sends · esc",
        (None, None) => "enter chooses · up, down · ctrl+s sends · esc cancel",
        (None, Some(Entry::Text { .. })) => "enter next · up, down · ctrl+s sends · esc cancel",
        (None, Some(Entry::One { .. })) if form.is_stacked => {
            "up, down choose · enter next · ctrl+s sends · esc cancel"
        }
        (None, Some(Entry::Several { .. })) if form.is_stacked => {
            "up, down · space chooses · enter next · ctrl+s sends · esc cancel"
        }
        (None, Some(Entry::One { .. })) => {
            "left, right choose · enter next · up, down · ctrl+s sends · esc cancel"
        }
        (None, Some(Entry::Several { .. })) => {
            "left, right · space chooses · enter next · up, down · ctrl+s sends · esc cancel"
        }
    }
}
