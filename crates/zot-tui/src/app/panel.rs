//! Panels of extensions: a few lines each, the last opened on top, where the keys go.
//!
//! Only a command that the user has run opens one: nobody else can take the keyboard away.

use super::{App, Effect, Key, KeyCode};

/// More than this many are not opened: nobody could find the lower ones again.
///
/// Limit: the next panel is refused.
const MAX_PANELS: usize = 16;

/// What a panel is told of a paste.
///
/// Limit: the panel receives the beginning of a paste.
const MAX_PANEL_PASTE_BYTES: usize = 64 * 1024;

/// What is around the lines: a blank line and the head above, the foot below, and a line of the
/// conversation.
const SURROUNDING_ROWS: usize = 4;
const SURROUNDING_COLUMNS: usize = 2;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Panel {
    pub(crate) extension: String,
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) lines: Vec<String>,
    pub(crate) footer: String,
    /// The first line that is shown, when not all can be.
    pub(crate) top: usize,
    /// Columns and lines that the extension believes there are.
    told: (usize, usize),
}

/// What a panel is to show.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PanelView {
    pub extension: String,
    pub id: String,
    pub title: String,
    pub lines: Vec<String>,
    pub footer: String,
}

impl Panel {
    fn is(&self, extension: &str, id: &str) -> bool {
        self.extension == extension && self.id == id
    }

    /// How many of its lines there is no room for.
    fn surplus(&self, room: usize) -> usize {
        self.lines.len().saturating_sub(room)
    }
}

impl App {
    /// Columns and lines there are for what is in a panel.
    pub(crate) fn panel_room(&self) -> (usize, usize) {
        (
            self.columns.saturating_sub(SURROUNDING_COLUMNS).max(1),
            self.rows.saturating_sub(SURROUNDING_ROWS).max(1),
        )
    }

    /// A command opens a panel, or brings one up that is open already.
    pub(super) fn open_panel(&mut self, view: PanelView) -> Vec<Effect> {
        self.panels
            .retain(|panel| !panel.is(&view.extension, &view.id));
        if self.panels.len() >= MAX_PANELS {
            self.note(
                format!(
                    "{}: {MAX_PANELS} panels are open, close one",
                    view.extension
                ),
                true,
            );
            return vec![Effect::PanelClose {
                extension: view.extension,
                panel: view.id,
            }];
        }
        self.panels.push(Panel {
            extension: view.extension,
            id: view.id,
            title: view.title,
            lines: view.lines,
            footer: view.footer,
            top: 0,
            told: (0, 0),
        });
        Vec::new()
    }

    /// What an open panel shows now. One that the user has closed stays closed.
    pub(super) fn draw_panel(&mut self, view: PanelView) {
        let (_, room) = self.panel_room();
        let mut panels = self.panels.iter_mut();
        if let Some(panel) = panels.find(|panel| panel.is(&view.extension, &view.id)) {
            panel.title = view.title;
            panel.lines = view.lines;
            panel.footer = view.footer;
            panel.top = panel.top.min(panel.surplus(room));
        }
    }

    pub(super) fn close_panel(&mut self, extension: &str, id: &str) {
        self.panels.retain(|panel| !panel.is(extension, id));
    }

    /// Tells extensions of the room there is, where that has changed.
    pub(super) fn measure_panels(&mut self) -> Vec<Effect> {
        let room = self.panel_room();
        let mut effects = Vec::new();
        for panel in &mut self.panels {
            if panel.told == room {
                continue;
            }
            panel.told = room;
            panel.top = panel.top.min(panel.surplus(room.1));
            effects.push(Effect::PanelResize {
                extension: panel.extension.clone(),
                panel: panel.id.clone(),
                width: room.0,
                height: room.1,
            });
        }
        effects
    }

    /// Takes a key while a panel is open.
    pub(super) fn press_panel(&mut self, key: &Key) -> Option<Vec<Effect>> {
        let (_, room) = self.panel_room();
        let panel = self.panels.last_mut()?;
        if *key == Key::control('z') {
            return Some(vec![Effect::Suspend]);
        }
        // Every extension can rely on it that the user gets away with these.
        if *key == Key::control('c') || *key == Key::plain(KeyCode::Escape) {
            let panel = self.panels.pop()?;
            return Some(vec![Effect::PanelClose {
                extension: panel.extension,
                panel: panel.id,
            }]);
        }
        // Who draws more than there is room for is scrolled.
        let most = panel.surplus(room);
        if key.alt && !key.control && most > 0 {
            let top = match key.code {
                KeyCode::Up => Some(panel.top.saturating_sub(1)),
                KeyCode::Down => Some(panel.top + 1),
                KeyCode::PageUp => Some(panel.top.saturating_sub(room)),
                KeyCode::PageDown => Some(panel.top + room),
                _ => None,
            };
            if let Some(top) = top {
                panel.top = top.min(most);
                return Some(Vec::new());
            }
        }
        let (name, text) = key.name();
        Some(vec![Effect::PanelKey {
            extension: panel.extension.clone(),
            panel: panel.id.clone(),
            key: name,
            text,
        }])
    }

    /// A paste is one key that writes all of it.
    pub(super) fn paste_into_panel(&mut self, text: &str) -> Option<Vec<Effect>> {
        let panel = self.panels.last()?;
        let end = text.floor_char_boundary(MAX_PANEL_PASTE_BYTES.min(text.len()));
        Some(vec![Effect::PanelKey {
            extension: panel.extension.clone(),
            panel: panel.id.clone(),
            key: "paste".to_owned(),
            // Terminals send the return key for a line break.
            text: text[..end].replace("\r\n", "\n").replace('\r', "\n"),
        }])
    }
}
