//! Keys as the terminal reports them.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyCode {
    Character(char),
    Enter,
    Tab,
    Backspace,
    Delete,
    Escape,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    PageUp,
    PageDown,
    Insert,
    /// f1 and so on.
    Function(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub code: KeyCode,
    pub control: bool,
    pub alt: bool,
    pub shift: bool,
}

impl Key {
    pub(crate) const fn plain(code: KeyCode) -> Self {
        Self {
            code,
            control: false,
            alt: false,
            shift: false,
        }
    }

    pub(crate) const fn control(character: char) -> Self {
        Self {
            control: true,
            ..Self::plain(KeyCode::Character(character))
        }
    }

    #[cfg(test)]
    pub(crate) const fn alt(character: char) -> Self {
        Self {
            alt: true,
            ..Self::plain(KeyCode::Character(character))
        }
    }

    /// Returns the name of the key for extensions, and the text it types.
    pub(super) fn name(&self) -> (String, String) {
        let name = match self.code {
            KeyCode::Character(character) if !self.control && !self.alt => {
                return ("rune".to_owned(), character.to_string());
            }
            KeyCode::Character(' ') => "space".to_owned(),
            KeyCode::Character(character) => character.to_string(),
            KeyCode::Enter => "enter".to_owned(),
            KeyCode::Tab => "tab".to_owned(),
            KeyCode::Backspace => "backspace".to_owned(),
            KeyCode::Delete => "delete".to_owned(),
            KeyCode::Insert => "insert".to_owned(),
            KeyCode::Escape => "esc".to_owned(),
            KeyCode::Left => "left".to_owned(),
            KeyCode::Right => "right".to_owned(),
            KeyCode::Up => "up".to_owned(),
            KeyCode::Down => "down".to_owned(),
            KeyCode::Home => "home".to_owned(),
            KeyCode::End => "end".to_owned(),
            KeyCode::PageUp => "pageup".to_owned(),
            KeyCode::PageDown => "pagedown".to_owned(),
            KeyCode::Function(number) => format!("f{number}"),
        };
        // A letter's case already shows whether shift is held.
        let shift = match self.code {
            KeyCode::Character(' ') => false,
            KeyCode::Character(_) => self.shift && self.control,
            _ => self.shift,
        };
        let modifiers = modifiers(self.control, self.alt, shift);
        (format!("{modifiers}{name}"), String::new())
    }
}

fn modifiers(control: bool, alt: bool, shift: bool) -> String {
    let named = [(control, "ctrl+"), (alt, "alt+"), (shift, "shift+")];
    let held = named.iter().filter(|(is_held, _)| *is_held);
    held.map(|(_, name)| *name).collect()
}
