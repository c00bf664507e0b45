//! The list and the preview of its selected choice.

use unicode_segmentation::UnicodeSegmentation as _;

use super::{Choice, ChoiceList, PickerKind, Preview, PreviewBody};
use crate::app::Context;
use crate::highlight::Highlighter;
use crate::style::{Style, Theme};
use crate::text::{Line, width, wrap};

const LIST_ROWS: usize = 8;
/// Other rows on the screen with a list: the editor, the footer, the list's title and position.
const OTHER_ROWS: usize = 6;
/// With at least this many columns, the preview is next to the list.
const WIDE_COLUMNS: usize = 90;
/// With fewer rows there is only the list.
const MIN_PREVIEW_ROWS: usize = 14;
/// A preview takes at most one in this many rows.
const PREVIEW_SHARE: usize = 3;
/// Separates the preview from the list.
const BAR: &str = "│ ";

/// Where the preview is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pane {
    is_beside: bool,
    columns: usize,
    rows: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    list_columns: usize,
    list_rows: usize,
    pane: Option<Pane>,
}

impl Layout {
    /// `editor_rows` is the height of the editor above the list.
    fn new(context: &Context, editor_rows: usize, kind: PickerKind) -> Self {
        // Fixed, so that nothing jumps while the selection moves.
        let preferred = match kind {
            PickerKind::Commands | PickerKind::History | PickerKind::ServerActions => 0,
            PickerKind::LogIn | PickerKind::LogOut => 4,
            PickerKind::Models => 6,
            PickerKind::Themes => 8,
            _ => usize::MAX,
        };
        let rows = preferred.min(context.rows / PREVIEW_SHARE);
        // The editor is above.
        let free = (context.rows + 1).saturating_sub(editor_rows);
        if rows == 0 || free < MIN_PREVIEW_ROWS {
            return Self {
                list_columns: context.columns,
                list_rows: list_rows(free),
                pane: None,
            };
        }
        let is_beside = context.columns >= WIDE_COLUMNS;
        let list_columns = match is_beside {
            true => context.columns / 2,
            false => context.columns,
        };
        let columns = match is_beside {
            true => context.columns - list_columns,
            false => context.columns,
        };
        Self {
            list_columns,
            list_rows: list_rows(match is_beside {
                true => free,
                false => free - rows,
            }),
            pane: Some(Pane {
                is_beside,
                columns,
                rows,
            }),
        }
    }
}

fn list_rows(rows: usize) -> usize {
    LIST_ROWS.min(rows.saturating_sub(OTHER_ROWS).max(1))
}

/// Returns whether the selected choice is previewed on this screen.
pub(super) fn has_preview(context: &Context, editor_rows: usize, kind: PickerKind) -> bool {
    // The colours of a theme can be seen in the list itself.
    kind == PickerKind::Themes || Layout::new(context, editor_rows, kind).pane.is_some()
}

/// Returns how many choices are visible, which is the length of a page.
pub(super) fn page(context: &Context, editor_rows: usize, kind: PickerKind) -> usize {
    Layout::new(context, editor_rows, kind).list_rows
}

/// Returns the list with its preview, and where the cursor is in it if typed characters go there.
pub(crate) fn lines(
    picker: &ChoiceList,
    context: &Context,
    editor_rows: usize,
) -> (Vec<Line>, Option<(usize, usize)>) {
    if picker.is_empty() && !picker.kind.takes_keys() {
        return (Vec::new(), None);
    }
    let layout = Layout::new(context, editor_rows, picker.kind);
    let preview = picker.preview(context.now_ms);
    let theme = match preview.map(|preview| &preview.body) {
        Some(PreviewBody::Colours(theme)) => theme,
        _ => &context.theme,
    };
    let (mut lines, cursor) = list(picker, layout, theme);
    let Some(pane) = layout.pane else {
        return (lines, cursor);
    };
    let columns = pane.columns.saturating_sub(width(BAR));
    let mut shown = preview.map_or_else(Vec::new, |preview| {
        contents(preview, columns, pane.rows, theme)
    });
    shown.resize(pane.rows, Line::default());
    if pane.is_beside {
        lines.resize(lines.len().max(pane.rows), Line::default());
    }
    for (index, content) in shown.into_iter().enumerate() {
        let mut bar = Line::styled(BAR, theme.muted);
        bar.append(content);
        match lines.get_mut(index).filter(|_| pane.is_beside) {
            Some(line) => {
                let missing = layout.list_columns.saturating_sub(line.width());
                line.push(" ".repeat(missing), Style::PLAIN);
                line.append(bar);
            }
            None => lines.push(bar),
        }
    }
    (lines, cursor)
}

fn list(picker: &ChoiceList, layout: Layout, theme: &Theme) -> (Vec<Line>, Option<(usize, usize)>) {
    let Layout {
        list_columns: columns,
        list_rows: rows,
        ..
    } = layout;
    // Leaves a space before the bar of a preview next to it.
    let columns = match layout.pane {
        Some(pane) if pane.is_beside => columns.saturating_sub(1),
        _ => columns,
    };
    let mut lines = Vec::new();
    let mut cursor = None;
    if let Some(title) = title(picker.kind) {
        let mut line = Line::styled(title, theme.accent);
        line.push(&picker.query, Style::PLAIN);
        cursor = Some((0, line.width().min(columns.saturating_sub(1))));
        lines.push(line.clipped(columns));
        if picker.is_empty() {
            lines.push(Line::styled("  no matches", theme.muted).clipped(columns));
        }
    }
    let count = picker.matches().len();
    let first = picker.selected.saturating_sub(rows / 2);
    let first = first.min(count.saturating_sub(rows));
    let in_view = || picker.matches().enumerate().skip(first).take(rows);
    let names = in_view().map(|(_, (choice, _))| width(choice.name));
    let widest = names.max().unwrap_or(0);
    for (index, (choice, positions)) in in_view() {
        let is_selected = index == picker.selected;
        let mut line = Line::styled(if is_selected { "▸ " } else { "  " }, theme.accent);
        let room = columns.saturating_sub(2);
        line.append(name(
            picker.kind,
            choice,
            positions,
            is_selected,
            room,
            theme,
        ));
        if !choice.description.is_empty() {
            let gap = (widest + 4).saturating_sub(line.width());
            line.push(" ".repeat(gap), Style::PLAIN);
            line.push(choice.description, theme.muted);
        }
        lines.push(line.clipped(columns));
    }
    if count > rows {
        let mut position = format!("  {} of {count}", picker.selected + 1);
        if picker.match_count() > count {
            position.push_str(&format!(", {} match", picker.match_count()));
        }
        lines.push(Line::styled(position, theme.muted).clipped(columns));
    }
    (lines, cursor)
}

/// Returns the label before the query of a list that receives the keys.
fn title(kind: PickerKind) -> Option<&'static str> {
    Some(match kind {
        PickerKind::Models => "model: ",
        PickerKind::Prompts => "jump to: ",
        PickerKind::ForkPoints => "fork before: ",
        PickerKind::Settings => "settings: ",
        PickerKind::Sessions => "resume: ",
        PickerKind::History => "history: ",
        PickerKind::Skills => "skill: ",
        PickerKind::Themes => "theme: ",
        PickerKind::Servers => "mcp servers: ",
        PickerKind::ServerActions => "do: ",
        PickerKind::LogIn => "log in to: ",
        PickerKind::LogOut => "log out of: ",
        PickerKind::Commands | PickerKind::Files => return None,
    })
}

/// Returns the name of a choice, with what matches the query highlighted.
fn name(
    kind: PickerKind,
    choice: Choice<'_>,
    positions: &[u32],
    is_selected: bool,
    columns: usize,
    theme: &Theme,
) -> Line {
    let (plain, found) = match is_selected {
        true => (theme.accent.bold(), theme.accent.bold().underline()),
        false => (Style::PLAIN, theme.accent.bold()),
    };
    // An escape sequence must not be split.
    if choice.name.contains(char::is_control) {
        return Line::styled(choice.name, plain);
    }
    let clusters = choice.name.graphemes(true).enumerate();
    let mut line = Line::default();
    let mut surplus = match kind {
        // The end of a path matters most.
        PickerKind::Files => width(choice.name).saturating_sub(columns),
        _ => 0,
    };
    if surplus > 0 {
        line.push("…", plain);
        surplus += 1;
    }
    for (index, cluster) in clusters {
        if surplus > 0 {
            surplus = surplus.saturating_sub(width(cluster));
            continue;
        }
        let is_found =
            u32::try_from(index).is_ok_and(|index| positions.binary_search(&index).is_ok());
        line.push(cluster, if is_found { found } else { plain });
    }
    line
}

fn contents(preview: &Preview, columns: usize, rows: usize, theme: &Theme) -> Vec<Line> {
    let facts = preview.facts.iter();
    let facts = facts.map(|fact| Line::styled(fact, theme.muted).clipped(columns));
    let mut lines: Vec<Line> = facts.take(rows).collect();
    let left = rows - lines.len();
    match &preview.body {
        PreviewBody::Nothing => {}
        PreviewBody::Prose(text) => {
            let wrapped = text.lines().take(left);
            let wrapped = wrapped.flat_map(|line| wrap(&Line::plain(line), columns, 0));
            lines.extend(wrapped.take(left).map(|line| line.clipped(columns)));
        }
        PreviewBody::Code { language, text } => {
            let mut highlighter = Highlighter::new(language);
            let coloured = text.lines().take(left);
            lines.extend(coloured.map(|line| highlighter.line(line, theme).clipped(columns)));
        }
        PreviewBody::Colours(_) => {
            lines.extend(sample(theme).map(|line| line.clipped(columns)));
            lines.truncate(rows);
        }
    }
    lines
}

/// Returns a sample of all colours.
fn sample(theme: &Theme) -> [Line; 6] {
    let line = |parts: &[(&str, Style)]| {
        let mut line = Line::default();
        for (text, style) in parts {
            line.push(text, *style);
        }
        line
    };
    let mut rust = Highlighter::new("rust");
    [
        line(&[("❯ what you type", theme.user)]),
        line(&[
            ("A heading", theme.heading),
            (" with ", Style::PLAIN),
            ("code", theme.code),
            (" and ", Style::PLAIN),
            ("a link", theme.link),
        ]),
        rust.line("let answer = (\"six\", 42); // so", theme),
        line(&[
            ("+ added", theme.added),
            ("  ", Style::PLAIN),
            ("- removed", theme.removed),
        ]),
        line(&[
            ("error", theme.error),
            ("  ", Style::PLAIN),
            ("warning", theme.warning),
            ("  ", Style::PLAIN),
            ("success", theme.success),
        ]),
        line(&[
            ("muted", theme.muted),
            ("  ", Style::PLAIN),
            ("selected", theme.selected),
        ]),
    ]
}
