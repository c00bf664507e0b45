//! Panels: a few lines on the screen that the extension draws and that send it keys.

use zot_wire::extension::{PanelContent, PanelSpec};

/// What a panel shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Panel {
    id: String,
    content: PanelContent,
}

impl Panel {
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            content: PanelContent::default(),
        }
    }

    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.content.title = title.into();
        self
    }

    /// Adds a line.
    #[must_use]
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.content.lines.push(line.into());
        self
    }

    /// Adds lines.
    #[must_use]
    pub fn lines(mut self, lines: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.content.lines.extend(lines.into_iter().map(Into::into));
        self
    }

    #[must_use]
    pub fn footer(mut self, footer: impl Into<String>) -> Self {
        self.content.footer = footer.into();
        self
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn content(&self) -> &PanelContent {
        &self.content
    }

    pub(crate) fn into_wire(self) -> PanelSpec {
        PanelSpec {
            id: self.id,
            content: self.content,
        }
    }

    pub(crate) fn from_wire(id: String, content: PanelContent) -> Self {
        Self { id, content }
    }
}

/// What happened to an open panel.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PanelInput {
    /// A key: `rune` when it writes `text` (a space too), else its name, such as `up`, `pagedown`, `enter`
    /// or `ctrl+a`. Escape is not sent: it closes the panel.
    Key {
        key: String,
        text: String,
    },
    Resize {
        width: u32,
        height: u32,
    },
    /// The user closed it.
    Close,
}
