//! What a component asks of the other components or of the outside.

use super::{Effect, Item, Redraw};

#[derive(Debug)]
pub(crate) enum Action {
    Effect(Effect),
    /// Adds an item to the transcript.
    Add(Item),
    /// Shows a remark above the editor for a while.
    Remark(String),
    /// Hides the remark: its reason is gone.
    HideRemark,
    Redraw(Redraw),
    /// Does what ctrl+c does.
    Interrupt,
    /// A tool call has started to run.
    Started(String),
}

impl Action {
    pub(super) fn remark(text: impl Into<String>) -> Self {
        Self::Remark(text.into())
    }

    pub(super) fn note(text: impl Into<String>) -> Self {
        Self::Add(Item::Note(text.into()))
    }

    pub(super) fn error(text: impl Into<String>) -> Self {
        Self::Add(Item::Error(text.into()))
    }
}

/// Whether a component used a key, and what follows from it.
#[derive(Debug)]
pub(crate) enum Handled {
    /// The key is for the next component.
    No,
    Yes(Vec<Action>),
}

impl Handled {
    /// The component used the key and asks for nothing.
    pub(super) const DONE: Self = Self::Yes(Vec::new());

    pub(super) fn effect(effect: impl Into<Effect>) -> Self {
        Self::Yes(vec![Action::Effect(effect.into())])
    }
}
