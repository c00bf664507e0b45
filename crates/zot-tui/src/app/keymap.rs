//! What keys do when no list, panel or question receives them.

use super::{Key, KeyCode};
use crate::editor::Edit;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Binding {
    Edit(Edit),
    Enter,
    /// Stops whatever is running.
    Stop,
    /// Stops; the second press leaves the chat.
    Interrupt,
    /// Deletes a character, or leaves if there is none.
    DeleteOrLeave,
    Suspend,
    Redraw,
    ToggleFolding,
    OpenEditor,
    /// Sends the text to the running prompt.
    Steer,
    /// Detaches the last output of a `!command` from the next prompt.
    DetachOutput,
    /// Moves the last queued prompt into the editor.
    Unqueue,
    SearchHistory,
    Older,
    Newer,
    /// Opens the transcript one page back.
    PageBack,
}

pub(super) fn binding(key: &Key) -> Option<Binding> {
    let bound = match (key.control, key.alt, key.code) {
        (true, _, KeyCode::Character('z' | 'Z')) if key.shift => Edit::Redo.into(),
        (true, _, KeyCode::Character(letter)) => return control(letter),
        (_, true, KeyCode::Up) => Binding::Unqueue,
        (_, true, _) => alt(key)?.into(),
        (true, _, KeyCode::Left) => Edit::WordLeft.into(),
        (true, _, KeyCode::Right) => Edit::WordRight.into(),
        (true, _, KeyCode::Home) => Edit::TextStart.into(),
        (true, _, KeyCode::End) => Edit::TextEnd.into(),
        (true, _, KeyCode::Backspace) => Edit::DeleteWordLeft.into(),
        (true, _, KeyCode::Delete) => Edit::DeleteWordRight.into(),
        (_, _, KeyCode::Enter) if key.shift => Edit::Newline.into(),
        (_, _, KeyCode::Enter) => Binding::Enter,
        (_, _, KeyCode::Escape) => Binding::Stop,
        (_, _, KeyCode::Up) => Binding::Older,
        (_, _, KeyCode::Down) => Binding::Newer,
        (_, _, KeyCode::Character(character)) => Edit::Insert(character.to_string()).into(),
        (_, _, KeyCode::Backspace) => Edit::Backspace.into(),
        (_, _, KeyCode::Delete) => Edit::Delete.into(),
        (_, _, KeyCode::Left) => Edit::Left.into(),
        (_, _, KeyCode::Right) => Edit::Right.into(),
        (_, _, KeyCode::Home) => Edit::LineStart.into(),
        (_, _, KeyCode::End) => Edit::LineEnd.into(),
        (_, _, KeyCode::PageUp) => Binding::PageBack,
        _ => return None,
    };
    Some(bound)
}

fn control(letter: char) -> Option<Binding> {
    let bound = match letter.to_ascii_lowercase() {
        'a' => Edit::LineStart.into(),
        'b' => Edit::Left.into(),
        'c' => Binding::Interrupt,
        'd' => Binding::DeleteOrLeave,
        'e' => Edit::LineEnd.into(),
        'f' => Edit::Right.into(),
        'g' => Binding::OpenEditor,
        'h' => Edit::Backspace.into(),
        'j' => Edit::Newline.into(),
        'k' => Edit::KillToLineEnd.into(),
        'l' => Binding::Redraw,
        'n' => Binding::Newer,
        'o' => Binding::ToggleFolding,
        'p' => Binding::Older,
        'r' => Binding::SearchHistory,
        's' => Binding::Steer,
        't' => Edit::Transpose.into(),
        'u' => Edit::KillToLineStart.into(),
        'w' => Edit::DeleteToSpaceLeft.into(),
        'x' => Binding::DetachOutput,
        'y' => Edit::Yank.into(),
        'z' => Binding::Suspend,
        '_' | '-' | '7' | '/' => Edit::Undo.into(),
        _ => return None,
    };
    Some(bound)
}

fn alt(key: &Key) -> Option<Edit> {
    Some(match key.code {
        KeyCode::Enter => Edit::Newline,
        KeyCode::Character('b') | KeyCode::Left => Edit::WordLeft,
        KeyCode::Character('f') | KeyCode::Right => Edit::WordRight,
        KeyCode::Character('d') => Edit::DeleteWordRight,
        KeyCode::Character('y') => Edit::YankOlder,
        // Some terminals report the key instead of the character on it.
        KeyCode::Character('z' | '_' | '-') => Edit::Redo,
        KeyCode::Character(',') if key.shift => Edit::TextStart,
        KeyCode::Character('.') if key.shift => Edit::TextEnd,
        KeyCode::Character('<') | KeyCode::Home => Edit::TextStart,
        KeyCode::Character('>') | KeyCode::End => Edit::TextEnd,
        KeyCode::Backspace => Edit::DeleteWordLeft,
        KeyCode::Delete => Edit::DeleteWordRight,
        _ => return None,
    })
}

impl From<Edit> for Binding {
    fn from(edit: Edit) -> Self {
        Self::Edit(edit)
    }
}
