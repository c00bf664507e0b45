//! Redraws what is on the screen when it is out of date.

use super::{Item, Transcript, view};
use crate::app::Context;
use crate::renderer::Replaces;
use crate::text::Line;

/// How much is redrawn, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Redraw {
    /// The visible part of the conversation.
    Visible,
    /// The same, or the pager if the last folded item has scrolled away.
    Unfolded,
    /// The screen, whatever is on it.
    Screen,
    /// The conversation from its beginning, replacing the terminal's scrollback.
    Everything,
}

/// The result of a redraw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redrawn {
    Lines(Replaces),
    /// The pager has to show the item this far from the end of the log.
    InPager(usize),
}

impl Transcript {
    /// Puts redrawn lines before the new ones. `above` is how many finished rows are on the screen,
    /// `live_rows` how many rows are drawn below them.
    pub(crate) fn redraw(
        &mut self,
        context: &Context,
        redraw: Redraw,
        above: usize,
        live_rows: usize,
    ) -> Redrawn {
        if redraw == Redraw::Unfolded
            && let Some(from_end) =
                self.folded_out_of_view(context, above + self.output.lines.len())
        {
            // It cannot be unfolded in place, and writing it again would show it twice.
            self.is_unfolded = false;
            return Redrawn::InPager(from_end);
        }
        if self.output.out_of_order > 0 && matches!(redraw, Redraw::Visible | Redraw::Unfolded) {
            return Redrawn::Lines(Replaces::Nothing);
        }
        // The log contains the new lines too.
        let new = std::mem::take(&mut self.output.lines).len();
        let new_images = std::mem::take(&mut self.output.images);
        let replaces = match redraw {
            Redraw::Visible | Redraw::Unfolded => {
                let (lines, covered) = self.last_rows(context, above + new);
                self.output.lines = lines;
                Replaces::Rows(covered.saturating_sub(new).min(above))
            }
            Redraw::Screen => {
                self.redraw_screen(context, context.rows.saturating_sub(live_rows));
                Replaces::Screen
            }
            Redraw::Everything => {
                self.redraw_everything(context);
                Replaces::Everything
            }
        };
        for (_, drawing) in &mut self.output.images {
            let new = new_images.iter().find(|(_, new)| new.is_same(drawing));
            if let Some((_, new)) = new {
                drawing.preamble.clone_from(&new.preamble);
            }
        }
        Redrawn::Lines(replaces)
    }

    fn redraw_screen(&mut self, context: &Context, room: usize) {
        // More would push the first lines into the scrollback, where they already are.
        let (mut lines, _) = self.last_rows(context, room);
        let surplus = lines.len().saturating_sub(room);
        self.output.lines = lines.split_off(surplus);
        // An image is drawn whole or not at all.
        let images = &mut self.output.images;
        images.retain(|(line, _)| *line >= surplus);
        for (line, _) in images {
            *line -= surplus;
        }
    }

    fn redraw_everything(&mut self, context: &Context) {
        let (lines, _) = self.last_rows(context, usize::MAX);
        if self.log.is_cut {
            let text = "… the beginning is in the session: /jump or /export show it";
            let note = Line::styled(text, context.theme.muted);
            self.output.lines.push(note.clipped(context.columns));
            for (line, _) in &mut self.output.images {
                *line += 1;
            }
        }
        self.output.lines.extend(lines);
    }

    /// Returns whether the first rows of an item are the same folded and unfolded.
    fn has_same_start(&self, context: &Context, index: usize, rows: usize) -> bool {
        let Some(entry) = self.log.get(index) else {
            return false;
        };
        let lines = |unfolded| view::item(&entry.item, context.columns, &context.theme, unfolded);
        let (folded, unfolded) = (lines(false), lines(true));
        let begins = |lines: &[Line]| lines.get(..rows).map(<[Line]>::to_vec);
        begins(&folded).is_some() && begins(&folded) == begins(&unfolded)
    }

    /// Returns how far from the end of the log the last folded item is, unless all of it is among the
    /// `visible` rows.
    fn folded_out_of_view(&self, context: &Context, visible: usize) -> Option<usize> {
        let is_out_of_order = self.output.out_of_order > 0 || self.answer.is_interrupted;
        let mut below = self.answer.lines().len();
        for (from_end, entry) in self.log.newest_first().enumerate() {
            let rows = below + entry.rows;
            if entry.item.folds() {
                let lines =
                    |unfolded| view::item(&entry.item, context.columns, &context.theme, unfolded);
                if lines(false) != lines(true) {
                    let above = rows.saturating_sub(visible);
                    let index = self.log.len() - 1 - from_end;
                    let fits = above == 0
                        || (below < visible && self.has_same_start(context, index, above));
                    return (!fits || is_out_of_order).then_some(from_end);
                }
            }
            below = rows;
        }
        None
    }

    /// Returns what the last `rows_back` rows showed as it looks now, and how many rows it took. Its
    /// images are drawn again.
    fn last_rows(&mut self, context: &Context, rows_back: usize) -> (Vec<Line>, usize) {
        let mut answer = match rows_back {
            usize::MAX => self.answer.rewrap(context.columns, &context.theme),
            // If it were wrapped again, its length might change.
            _ => self.answer.lines().to_vec(),
        };
        let answer_rows = answer.len();
        if answer_rows >= rows_back {
            // It began above these rows, and no part of it is folded.
            let surplus = answer.len().saturating_sub(rows_back);
            return (answer.split_off(surplus), rows_back);
        }
        let (mut first, found) = self.log.find_from_end(rows_back - answer_rows);
        let mut covered = found + answer_rows;
        // An item that begins above these rows and has a different height now is left alone.
        if let Some(entry) = self.log.get(first)
            && covered > rows_back
            && self.lines_of(context, &entry.item).len() != entry.rows
            && !self.has_same_start(context, first, covered - rows_back)
        {
            first += 1;
            covered -= entry.rows;
        }
        let mut lines = Vec::new();
        for index in first..self.log.len() {
            let Some(entry) = self.log.get(index) else {
                break;
            };
            let now = self.lines_of(context, &entry.item);
            let rows = now.len();
            // The part above these rows is left alone.
            let skipped = match index == first {
                true => covered.saturating_sub(rows_back),
                false => 0,
            };
            if let Item::Image(drawing) = &entry.item
                && skipped == 0
                && (1..context.rows).contains(&rows)
            {
                self.output.images.push((lines.len(), drawing.redrawn()));
            }
            lines.extend(now.into_iter().skip(skipped));
            self.log.set_rows(index, rows);
        }
        lines.extend(answer);
        (lines, covered)
    }
}
