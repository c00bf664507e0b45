//! Panels of extensions: a stack whose top panel receives the keys.
//!
//! Only a command that the user runs opens a panel: an extension cannot take the keyboard by itself.

mod view;

use super::action::{Action, Handled};
use super::{Context, Effect, ExtensionEffect, Key, KeyCode, PanelInput, TerminalEffect};

pub(super) use view::lines;

/// Panels that may be open; among more, users could not find the lower ones again.
///
/// Limit: the next panel is refused.
const MAX_PANELS: usize = 16;

/// How much of a paste a panel receives.
///
/// Limit: the panel receives the beginning of a paste.
const MAX_PANEL_PASTE_BYTES: usize = 64 * 1024;

/// What surrounds the lines: a blank line and the head above, the foot below, and a line of the
/// conversation.
const SURROUNDING_ROWS: usize = 4;
const SURROUNDING_COLUMNS: usize = 2;

#[derive(Debug, Default)]
pub(crate) struct Panels {
    stack: Vec<Panel>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Panel {
    pub(crate) extension: String,
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) lines: Vec<String>,
    pub(crate) footer: String,
    /// The first line that is shown.
    top: usize,
    /// The columns and lines last reported to the extension.
    reported: (usize, usize),
}

/// What a panel shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PanelView {
    pub extension: String,
    pub id: String,
    pub title: String,
    pub lines: Vec<String>,
    pub footer: String,
}

impl Panel {
    fn has_id(&self, extension: &str, id: &str) -> bool {
        self.extension == extension && self.id == id
    }

    /// Returns how many lines do not fit into `room` rows.
    fn surplus(&self, room: usize) -> usize {
        self.lines.len().saturating_sub(room)
    }
}

/// Returns the columns and lines available to a panel.
fn room(context: &Context) -> (usize, usize) {
    (
        context.columns.saturating_sub(SURROUNDING_COLUMNS).max(1),
        context.rows.saturating_sub(SURROUNDING_ROWS).max(1),
    )
}

impl Panels {
    pub(crate) fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    pub(crate) fn top(&self) -> Option<&Panel> {
        self.stack.last()
    }

    /// Removes and returns all panels, the lowest first.
    pub(crate) fn take_all(&mut self) -> Vec<Panel> {
        std::mem::take(&mut self.stack)
    }

    pub(super) fn update(&mut self, input: PanelInput) -> Vec<Action> {
        match input {
            PanelInput::Opened(view) => self.open(view),
            PanelInput::Lost {
                extension,
                panel,
                reason,
            } => {
                self.close(&extension, &panel);
                vec![Action::error(reason)]
            }
        }
    }

    /// Opens a panel, or brings it up if it is open already.
    fn open(&mut self, view: PanelView) -> Vec<Action> {
        self.close(&view.extension, &view.id);
        if self.stack.len() >= MAX_PANELS {
            let text = format!(
                "{}: {MAX_PANELS} panels are open already: close one first",
                view.extension
            );
            return vec![
                Action::error(text),
                Action::Effect(Effect::Extension(ExtensionEffect::PanelClose {
                    extension: view.extension,
                    panel: view.id,
                })),
            ];
        }
        self.stack.push(Panel {
            extension: view.extension,
            id: view.id,
            title: view.title,
            lines: view.lines,
            footer: view.footer,
            top: 0,
            reported: (0, 0),
        });
        Vec::new()
    }

    /// Changes what an open panel shows. One that the user has closed stays closed.
    pub(super) fn draw(&mut self, context: &Context, view: PanelView) {
        let (_, room) = room(context);
        let mut panels = self.stack.iter_mut();
        if let Some(panel) = panels.find(|panel| panel.has_id(&view.extension, &view.id)) {
            panel.title = view.title;
            panel.lines = view.lines;
            panel.footer = view.footer;
            panel.top = panel.top.min(panel.surplus(room));
        }
    }

    pub(super) fn close(&mut self, extension: &str, id: &str) {
        self.stack.retain(|panel| !panel.has_id(extension, id));
    }

    /// Reports the size of panels to their extensions, where it has changed.
    pub(super) fn measure(&mut self, context: &Context) -> Vec<Effect> {
        let room = room(context);
        let mut effects = Vec::new();
        for panel in &mut self.stack {
            if panel.reported == room {
                continue;
            }
            panel.reported = room;
            panel.top = panel.top.min(panel.surplus(room.1));
            effects.push(Effect::Extension(ExtensionEffect::PanelResize {
                extension: panel.extension.clone(),
                panel: panel.id.clone(),
                width: room.0,
                height: room.1,
            }));
        }
        effects
    }

    /// Handles a key while a panel is open.
    pub(super) fn press(&mut self, context: &Context, key: &Key) -> Handled {
        let (_, room) = room(context);
        if *key == Key::control('z') && !self.stack.is_empty() {
            return Handled::effect(Effect::Terminal(TerminalEffect::Suspend));
        }
        // No extension can keep the user from leaving its panel with these.
        let closes = *key == Key::control('c') || *key == Key::plain(KeyCode::Escape);
        if closes && let Some(panel) = self.stack.pop() {
            return Handled::effect(Effect::Extension(ExtensionEffect::PanelClose {
                extension: panel.extension,
                panel: panel.id,
            }));
        }
        let Some(panel) = self.stack.last_mut() else {
            return Handled::No;
        };
        // Lines that do not fit can be scrolled.
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
                return Handled::DONE;
            }
        }
        let (name, text) = key.name();
        Handled::effect(Effect::Extension(ExtensionEffect::PanelKey {
            extension: panel.extension.clone(),
            panel: panel.id.clone(),
            key: name,
            text,
        }))
    }

    /// Sends a paste as one key with all of the text.
    pub(super) fn paste(&mut self, text: &str) -> Option<Effect> {
        let panel = self.stack.last()?;
        let end = text.floor_char_boundary(MAX_PANEL_PASTE_BYTES.min(text.len()));
        Some(Effect::Extension(ExtensionEffect::PanelKey {
            extension: panel.extension.clone(),
            panel: panel.id.clone(),
            key: "paste".to_owned(),
            // Terminals send the return key for a line break.
            text: text[..end].replace("\r\n", "\n").replace('\r', "\n"),
        }))
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.stack.len()
    }
}
