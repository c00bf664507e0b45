//! The transcript in a screen of its own, over the chat.

use super::{App, Effect, Key};
use crate::pager::{Pager, Reading};
use crate::text::Line;
use crate::view;

impl App {
    /// Opens it at the end, or at the thing that is so far from the end of the log.
    pub(super) fn open_pager(&mut self, from_end: Option<usize>) {
        let size = (self.columns, self.rows);
        let mut pager = Pager::new(&self.chat.log, self.arriving(), size, &self.theme);
        if let Some(from_end) = from_end {
            pager.show(from_end);
        }
        self.picker = None;
        self.pager = Some(pager);
    }

    /// A page back.
    pub(super) fn page_back(&mut self) -> Vec<Effect> {
        self.open_pager(None);
        self.press_pager(&Key::plain(super::KeyCode::PageUp));
        Vec::new()
    }

    /// Takes a key while it is open.
    pub(super) fn press_pager(&mut self, key: &Key) -> Option<Vec<Effect>> {
        if self.pager.as_mut()?.press(key) == Reading::Ends {
            self.pager = None;
        }
        Some(Vec::new())
    }

    pub(super) fn resize_pager(&mut self) {
        if let Some(pager) = &mut self.pager {
            pager.resize(&self.chat.log, (self.columns, self.rows), &self.theme);
        }
    }

    /// A question must not be answered unseen.
    pub(super) fn close_pager_for_question(&mut self) {
        if self.approval.is_some() {
            self.pager = None;
        }
    }

    /// What it shows, and where the cursor is; `None` when it is not open.
    pub(crate) fn pager_frame(&mut self) -> Option<view::Screen> {
        let mut pager = self.pager.take()?;
        pager.update(&self.chat.log, self.arriving(), &self.theme);
        let frame = view::pager(&pager, &self.theme);
        self.pager = Some(pager);
        Some(frame)
    }

    /// What is not in the log yet.
    fn arriving(&self) -> Vec<Line> {
        let mut lines = self.chat.answer.clone();
        lines.extend(self.chat.tail(self.columns, &self.theme));
        lines
    }
}
