//! Parses escape sequences.

use super::{Decoded, Parsed, Rest, with_alt};
use crate::app::{Key, KeyCode};

const SHIFT: u32 = 1;
const ALT: u32 = 2;
const CONTROL: u32 = 4;

/// A key release in kitty's keyboard protocol.
const RELEASED: u32 = 3;

/// The attribute of DA1 for sixels.
const SIXEL: u32 = 4;

/// The beginning of a reply about the background, and its greatest length.
const BACKGROUND: &[u8] = b"11;rgb";
const MAX_BACKGROUND_BYTES: usize = 32;

/// Parses `ESC O`: arrows and other keys in application mode.
pub(super) fn single_shift(bytes: &[u8]) -> Parsed {
    match bytes.get(2) {
        None => Parsed::Incomplete,
        Some(last) => match named(*last) {
            Some(code) => Parsed::key(3, Key::plain(code)),
            // Function keys, which do nothing here.
            None if matches!(last, b'P'..=b'S') => Parsed::Nothing(3),
            None => with_alt(&bytes[..2], Rest::IsComplete),
        },
    }
}

/// Parses `ESC [`: keys with modifiers, the start of a paste, replies.
pub(super) fn control(bytes: &[u8]) -> Parsed {
    let body = &bytes[2..];
    let inner = body.iter().take_while(|byte| matches!(byte, 0x20..=0x3f));
    let inner = inner.count();
    let Some(&last) = body.get(inner) else {
        return Parsed::Incomplete;
    };
    let length = 2 + inner + 1;
    if !matches!(last, 0x40..=0x7e) {
        // Cut off by a control character, which is decoded separately.
        return Parsed::Nothing(length - 1);
    }
    // The Linux console's function keys.
    if inner == 0 && last == b'[' {
        return match body.len() {
            1 => Parsed::Incomplete,
            _ => Parsed::Nothing(length + 1),
        };
    }
    let decoded = match body.first() {
        Some(b'?') => match last {
            b'c' => Some(attributes(&body[1..inner])),
            _ => None,
        },
        Some(b'<' | b'=' | b'>') => None,
        _ => {
            let parameters = Parameters::parse(&body[..inner]);
            if last == b'~' && parameters.value(0) == Some(200) {
                return Parsed::PasteStart(length);
            }
            match last {
                b't' => cell(&parameters),
                b'R' if parameters.0.len() == 2 => cursor(&parameters),
                _ => key(&parameters, last).map(Decoded::Key),
            }
        }
    };
    match decoded {
        Some(decoded) => Parsed::Decoded(length, decoded),
        None => Parsed::Nothing(length),
    }
}

/// Parses `ESC ]`: the reply about the background, or a key with alt.
pub(super) fn command(bytes: &[u8]) -> Parsed {
    let body = &bytes[2..];
    let known = body.len().min(BACKGROUND.len());
    let typed = || with_alt(&bytes[..2], Rest::IsComplete);
    if body[..known] != BACKGROUND[..known] {
        return typed();
    }
    let Some(end) = body.iter().position(|byte| matches!(byte, 0x07 | 0x1b)) else {
        return match body.len() > MAX_BACKGROUND_BYTES {
            true => typed(),
            false => Parsed::Incomplete,
        };
    };
    let length = match (body[end], body.get(end + 1)) {
        (0x07, _) => end + 1,
        (_, None) => return Parsed::Incomplete,
        (_, Some(b'\\')) => end + 2,
        _ => return typed(),
    };
    match is_light(&body[BACKGROUND.len()..end]) {
        Some(is_light) => Parsed::Decoded(2 + length, Decoded::Background { is_light }),
        None => typed(),
    }
}

fn attributes(inner: &[u8]) -> Decoded {
    let parameters = Parameters::parse(inner);
    // The first is the terminal's class.
    let mut others = parameters.0.iter().skip(1);
    let sixel = others.any(|parts| parts.first() == Some(&Some(SIXEL)));
    Decoded::Attributes { sixel }
}

/// Parses `CSI 6 ; height ; width t`.
fn cell(parameters: &Parameters) -> Option<Decoded> {
    let pixels = |index| {
        let value = parameters
            .value(index)
            .filter(|value| (1..=512).contains(value))?;
        usize::try_from(value).ok()
    };
    match parameters.value(0) {
        Some(6) => Some(Decoded::Cell(pixels(2)?, pixels(1)?)),
        _ => None,
    }
}

/// Parses `CSI row ; column R`.
fn cursor(parameters: &Parameters) -> Option<Decoded> {
    let position = |index| usize::try_from(parameters.value(index)?).ok();
    Some(Decoded::Cursor {
        row: position(0)?,
        column: position(1)?,
        key: key(parameters, b'R'),
    })
}

fn key(parameters: &Parameters, last: u8) -> Option<Key> {
    let modifiers = parameters.value(1).unwrap_or(1).saturating_sub(1);
    if parameters.part(1, 1) == Some(RELEASED) {
        return None;
    }
    let (code, shift) = match last {
        b'u' => {
            let shifted = match modifiers & SHIFT {
                0 => None,
                _ => parameters.part(0, 1).and_then(char::from_u32),
            };
            match shifted {
                Some(character) => (KeyCode::Character(character), false),
                None => (coded(parameters.value(0)?)?, true),
            }
        }
        b'~' => (numbered(parameters.value(0)?)?, true),
        b'Z' => {
            let back = Key::plain(KeyCode::Tab);
            return Some(Key {
                shift: true,
                ..back
            });
        }
        // With another number, this is the position of the cursor.
        b'P'..=b'S' if parameters.value(0).unwrap_or(1) != 1 => return None,
        _ => (named(last)?, true),
    };
    Some(Key {
        code,
        control: modifiers & CONTROL != 0,
        alt: modifiers & ALT != 0,
        shift: shift && modifiers & SHIFT != 0,
    })
}

fn named(last: u8) -> Option<KeyCode> {
    Some(match last {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        b'P'..=b'S' => KeyCode::Function(last - b'P' + 1),
        _ => return None,
    })
}

fn numbered(number: u32) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        4 | 8 => KeyCode::End,
        3 => KeyCode::Delete,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        2 => KeyCode::Insert,
        // The gaps were keys of older keyboards.
        11..=15 => function(number - 10)?,
        17..=21 => function(number - 11)?,
        23 | 24 => function(number - 12)?,
        _ => return None,
    })
}

fn function(number: u32) -> Option<KeyCode> {
    number.try_into().ok().map(KeyCode::Function)
}

/// Returns a key by its character, or by kitty's number for the keypad.
fn coded(code: u32) -> Option<KeyCode> {
    const KEYPAD: &str = "0123456789./*-+";
    Some(match code {
        9 => KeyCode::Tab,
        13 | 57_414 => KeyCode::Enter,
        27 => KeyCode::Escape,
        127 => KeyCode::Backspace,
        57_399..57_414 => {
            let index = usize::try_from(code - 57_399).ok()?;
            KeyCode::Character(KEYPAD.chars().nth(index)?)
        }
        57_415 => KeyCode::Character('='),
        57_416 => KeyCode::Character(','),
        57_417 => KeyCode::Left,
        57_418 => KeyCode::Right,
        57_419 => KeyCode::Up,
        57_420 => KeyCode::Down,
        57_421 => KeyCode::PageUp,
        57_422 => KeyCode::PageDown,
        57_423 => KeyCode::Home,
        57_424 => KeyCode::End,
        57_425 => KeyCode::Insert,
        57_426 => KeyCode::Delete,
        // Private use: other keys without a character.
        57_344..=63_743 => return None,
        _ => KeyCode::Character(char::from_u32(code)?),
    })
}

/// Returns whether `:ffff/ffff/ffff` (or `a:…`), with one to four digits each, is a light colour.
fn is_light(colour: &[u8]) -> Option<bool> {
    let (_, parts) = str::from_utf8(colour).ok()?.split_once(':')?;
    let mut shares = parts.split('/').map(|digits| {
        let value = u32::from_str_radix(digits, 16).ok()?;
        let highest = 16_u32.checked_pow(u32::try_from(digits.len()).ok()?)? - 1;
        Some(f64::from(value) / f64::from(highest))
    });
    let mut next = || shares.next().flatten();
    let (red, green, blue) = (next()?, next()?, next()?);
    Some(0.299 * red + 0.587 * green + 0.114 * blue > 0.5)
}

/// Numbers between `;`, each with parts between `:`.
struct Parameters(Vec<Vec<Option<u32>>>);

impl Parameters {
    fn parse(inner: &[u8]) -> Self {
        let text = str::from_utf8(inner).unwrap_or("");
        let parts = |parameter: &str| parameter.split(':').map(|part| part.parse().ok()).collect();
        Self(text.split(';').map(parts).collect())
    }

    fn value(&self, index: usize) -> Option<u32> {
        self.part(index, 0)
    }

    fn part(&self, index: usize, part: usize) -> Option<u32> {
        *self.0.get(index)?.get(part)?
    }
}
