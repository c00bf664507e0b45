//! Shows again what is on the screen already, when that is not right any more.

use super::{App, Item, MIN_COLUMNS, MIN_ROWS};
use crate::renderer::Replaces;
use crate::style::Theme;
use crate::text::Line;
use crate::view;

/// How much is drawn anew, in rising order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Redraw {
    /// What can be seen of the conversation.
    Visible,
    /// The same, or all in a screen of its own if the last thing that is folded has scrolled away.
    Unfolded,
    /// The screen, whatever is on it.
    Screen,
    /// The conversation from its beginning, in place of all that the terminal remembers.
    Everything,
}

impl App {
    pub(super) fn ask_redraw(&mut self, redraw: Redraw) {
        self.redraw = self.redraw.max(Some(redraw));
    }

    /// What has been written stays as it is: the terminal breaks it at the new width, and what was
    /// there before zot is not ours to clear. Only if the user wants that, all is cleared and written
    /// again with lines broken at words.
    pub(super) fn resize(&mut self, columns: usize, rows: usize) {
        let columns = columns.max(MIN_COLUMNS);
        if self.clears_for(columns) {
            self.ask_redraw(Redraw::Everything);
        }
        self.columns = columns;
        self.rows = rows.max(MIN_ROWS);
        self.rewrap_aside();
    }

    /// Whether another width clears all that the terminal remembers.
    pub(crate) fn clears_for(&self, columns: usize) -> bool {
        !self.keeps_scrollback && columns.max(MIN_COLUMNS) != self.columns
    }

    pub(super) fn set_theme(&mut self, theme: Theme) {
        if self.theme != theme {
            self.theme = theme;
            self.rewrap_aside();
            self.ask_redraw(Redraw::Visible);
        }
    }

    pub(super) fn toggle_folding(&mut self) {
        self.chat.expanded = !self.chat.expanded;
        self.ask_redraw(match self.chat.expanded {
            true => Redraw::Unfolded,
            false => Redraw::Visible,
        });
    }

    /// Puts what is to be drawn anew in front of what is new.
    pub(super) fn redraw(&mut self, above: usize) -> Replaces {
        let Some(redraw) = self.redraw.take() else {
            return Replaces::Nothing;
        };
        if redraw == Redraw::Unfolded
            && let Some(from_end) = self.folded_away(above + self.finished.len())
        {
            // It cannot be unfolded where it is, and would be there twice if it was written again.
            self.chat.expanded = false;
            self.open_pager(Some(from_end));
            return Replaces::Nothing;
        }
        if self.mixed > 0 && matches!(redraw, Redraw::Visible | Redraw::Unfolded) {
            return Replaces::Nothing;
        }
        // The entries know what is new as well.
        let new = std::mem::take(&mut self.finished).len();
        let new_images = std::mem::take(&mut self.images);
        let replaces = match redraw {
            Redraw::Visible | Redraw::Unfolded => {
                let (lines, covered) = self.last_rows(above + new);
                self.finished = lines;
                Replaces::Rows(covered.saturating_sub(new).min(above))
            }
            Redraw::Screen => {
                // More would push the first of them out, where they are already.
                let live = view::frame(self).live.len();
                let room = self.rows.saturating_sub(live);
                let (mut lines, _) = self.last_rows(room);
                let surplus = lines.len().saturating_sub(room);
                self.finished = lines.split_off(surplus);
                // Part of an image is none.
                self.images.retain(|(place, _)| *place >= surplus);
                for (place, _) in &mut self.images {
                    *place -= surplus;
                }
                Replaces::Screen
            }
            Redraw::Everything => {
                let (lines, _) = self.last_rows(usize::MAX);
                if self.chat.log.is_cut {
                    let text = "… the beginning is in the session: /jump or /export show it";
                    let line = Line::styled(text, self.theme.muted);
                    self.finished.push(line.clipped(self.columns));
                    for (place, _) in &mut self.images {
                        *place += 1;
                    }
                }
                self.finished.extend(lines);
                Replaces::Everything
            }
        };
        for (_, drawing) in &mut self.images {
            let new = new_images.iter().find(|(_, new)| new.is(drawing));
            if let Some((_, new)) = new {
                drawing.first.clone_from(&new.first);
            }
        }
        replaces
    }

    /// Those that are on the screen no longer fill their cells.
    pub(crate) fn forget_images(&mut self) {
        self.chat.log.forget_images();
    }

    /// Whether the first rows of something do not tell if it is folded.
    fn begins_alike(&self, index: usize, rows: usize) -> bool {
        let Some(entry) = self.chat.log.get(index) else {
            return false;
        };
        let lines = |expanded| view::item(&entry.item, self.columns, &self.theme, expanded);
        let (folded, unfolded) = (lines(false), lines(true));
        let begins = |lines: &[Line]| lines.get(..rows).map(<[Line]>::to_vec);
        begins(&folded).is_some() && begins(&folded) == begins(&unfolded)
    }

    /// How far from the end of the log the last thing is that was folded, if it is not wholly among
    /// the `visible` rows.
    fn folded_away(&self, visible: usize) -> Option<usize> {
        let is_mixed = self.mixed > 0 || self.chat.is_mixed;
        let mut below = self.chat.answer.len();
        for (from_end, entry) in self.chat.log.newest_first().enumerate() {
            let rows = below + entry.rows;
            if entry.item.folds() {
                let lines = |expanded| view::item(&entry.item, self.columns, &self.theme, expanded);
                if lines(false) != lines(true) {
                    let above = rows.saturating_sub(visible);
                    let index = self.chat.log.len() - 1 - from_end;
                    let fits = above == 0 || (below < visible && self.begins_alike(index, above));
                    return (!fits || is_mixed).then_some(from_end);
                }
            }
            below = rows;
        }
        None
    }

    /// What was shown in the last `wanted` rows as it is shown now, and how many rows it was. The
    /// images among them are drawn again.
    fn last_rows(&mut self, wanted: usize) -> (Vec<Line>, usize) {
        let mut answer = match wanted {
            usize::MAX => self.chat.rewrap(self.columns, &self.theme),
            // Laid out anew it might end somewhere else.
            _ => self.chat.answer.clone(),
        };
        let answer_rows = answer.len();
        if answer_rows >= wanted {
            // It began above these rows, and nothing of it is folded.
            let surplus = answer.len().saturating_sub(wanted);
            return (answer.split_off(surplus), wanted);
        }
        let (mut first, found) = self.chat.log.back(wanted - answer_rows);
        let mut covered = found + answer_rows;
        // What is not wholly among these rows and takes others now stays as it is.
        if let Some(entry) = self.chat.log.get(first)
            && covered > wanted
            && self.lines_of(&entry.item).len() != entry.rows
            && !self.begins_alike(first, covered - wanted)
        {
            first += 1;
            covered -= entry.rows;
        }
        let mut lines = Vec::new();
        for index in first..self.chat.log.len() {
            let Some(entry) = self.chat.log.get(index) else {
                break;
            };
            let now = self.lines_of(&entry.item);
            let rows = now.len();
            // The part above these rows stays as it is.
            let skipped = match index == first {
                true => covered.saturating_sub(wanted),
                false => 0,
            };
            if let Item::Image(drawing) = &entry.item
                && skipped == 0
                && (1..self.rows).contains(&rows)
            {
                self.images.push((lines.len(), drawing.again()));
            }
            lines.extend(now.into_iter().skip(skipped));
            self.chat.log.set_rows(index, rows);
        }
        lines.extend(answer);
        (lines, covered)
    }
}
