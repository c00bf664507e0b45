//! One field of a form: what can be entered, and whether it can be sent.

use std::collections::BTreeSet;

use serde_json::{Number, Value};

use super::format::Format;
use crate::app::keymap::{Binding, binding};
use crate::app::{Key, KeyCode};
use crate::editor::{Edit, Editor};

/// The longest text in one field.
///
/// Limit: what is typed or pasted beyond it is ignored.
pub(super) const MAX_ANSWER_FIELD_BYTES: usize = 64 * 1024;

#[derive(Debug, Clone)]
pub(crate) struct Field {
    /// The key of the value.
    pub(super) name: String,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) is_required: bool,
    pub(super) entry: Entry,
    /// Why the value cannot be sent.
    pub(super) problem: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) enum Entry {
    Text {
        editor: Box<Editor>,
        rule: TextRule,
    },
    One {
        options: Vec<FieldOption>,
        chosen: Option<usize>,
    },
    Several {
        options: Vec<FieldOption>,
        chosen: BTreeSet<usize>,
        /// The option that the space bar toggles.
        at: usize,
        least: usize,
        most: Option<usize>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct FieldOption {
    pub(super) value: Value,
    pub(super) title: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TextRule {
    Text {
        least: usize,
        most: Option<usize>,
        format: Option<Format>,
    },
    Number {
        is_integer: bool,
        least: Option<f64>,
        most: Option<f64>,
    },
}

/// A move among options below one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Up,
    Down,
}

impl Field {
    /// Handles a key in this field.
    pub(super) fn press(&mut self, key: &Key) {
        self.problem = None;
        match &mut self.entry {
            Entry::Text { editor, rule } => {
                let Some(Binding::Edit(edit)) = binding(key) else {
                    return;
                };
                let is_number = matches!(rule, TextRule::Number { .. });
                let grows = matches!(edit, Edit::Insert(_) | Edit::Newline | Edit::Yank);
                let is_full = editor.text().len() >= MAX_ANSWER_FIELD_BYTES;
                let is_refused = (is_number && edit == Edit::Newline) || (grows && is_full);
                if !is_refused {
                    editor.apply(edit);
                }
            }
            Entry::One { options, chosen } => press_one(options, chosen, key),
            Entry::Several {
                options,
                chosen,
                at,
                ..
            } => press_several(options, chosen, at, key),
        }
    }

    /// Moves to the option above or below; returns whether there is one.
    pub(super) fn step(&mut self, direction: Step) -> bool {
        let (count, at) = match &self.entry {
            Entry::Text { .. } => return false,
            Entry::One { options, chosen } => (options.len(), *chosen),
            Entry::Several { options, at, .. } => (options.len(), Some(*at)),
        };
        let next = match (direction, at) {
            (Step::Up, None) => count.checked_sub(1),
            (Step::Up, Some(at)) => at.checked_sub(1),
            (Step::Down, at) => Some(at.map_or(0, |at| at + 1)).filter(|next| *next < count),
        };
        let Some(next) = next else {
            return false;
        };
        self.problem = None;
        match &mut self.entry {
            Entry::Text { .. } => {}
            Entry::One { chosen, .. } => *chosen = Some(next),
            Entry::Several { at, .. } => *at = next,
        }
        true
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Entry::Text { editor, .. } = &mut self.entry {
            let text = text.trim_end_matches(['\r', '\n']);
            let room = MAX_ANSWER_FIELD_BYTES.saturating_sub(editor.text().len());
            let end = text.floor_char_boundary(room.min(text.len()));
            editor.apply(Edit::Insert(text[..end].replace("\r\n", "\n")));
            self.problem = None;
        }
    }

    /// Sets the value from a typed line, in a terminal that handles only lines. An empty line keeps
    /// what is there.
    pub(super) fn set_line(&mut self, line: &str) {
        self.problem = None;
        if line.is_empty() {
            return;
        }
        match &mut self.entry {
            Entry::Text { editor, .. } => editor.set(line.to_owned()),
            Entry::One { options, chosen } => match find(options, line) {
                Some(index) => *chosen = Some(index),
                None => self.problem = Some("type the number of one of these".to_owned()),
            },
            Entry::Several {
                options, chosen, ..
            } => {
                let words = line.split([',', ' ']).filter(|word| !word.is_empty());
                let found: Option<BTreeSet<usize>> =
                    words.map(|word| find(options, word)).collect();
                match found {
                    Some(found) => *chosen = found,
                    None => {
                        self.problem =
                            Some("type the numbers of some of these, with commas".to_owned());
                    }
                }
            }
        }
    }

    /// Returns the value, nothing if it is left out, or why it cannot be sent.
    pub(super) fn value(&self) -> Result<Option<Value>, String> {
        let value = match &self.entry {
            Entry::Text { editor, rule } => rule.value(&editor.content())?,
            Entry::One { options, chosen } => {
                let option = chosen.and_then(|index| options.get(index));
                option.map(|option| option.value.clone())
            }
            Entry::Several {
                options,
                chosen,
                least,
                most,
                ..
            } => several(options, chosen, *least, *most, self.is_required)?,
        };
        match value {
            None if self.is_required => Err(match self.entry {
                Entry::Text { .. } => "this has to be filled in".to_owned(),
                _ => "this has to be chosen".to_owned(),
            }),
            value => Ok(value),
        }
    }

    /// Returns whether nothing was entered or chosen.
    pub(super) fn is_blank(&self) -> bool {
        match &self.entry {
            Entry::Text { editor, .. } => editor.is_blank(),
            Entry::One { chosen, .. } => chosen.is_none(),
            Entry::Several { chosen, .. } => chosen.is_empty(),
        }
    }

    /// Describes what may be entered, where that is not obvious.
    pub(super) fn expected(&self) -> Option<String> {
        match &self.entry {
            Entry::Text { rule, .. } => rule.expected(),
            Entry::One { .. } => None,
            Entry::Several { least, most, .. } => {
                let range = range(Some(*least).filter(|least| *least > 0), *most)?;
                Some(format!("choose {range}"))
            }
        }
    }
}

fn press_one(options: &[FieldOption], chosen: &mut Option<usize>, key: &Key) {
    let count = options.len();
    if count == 0 || key.control || key.alt {
        return;
    }
    match key.code {
        KeyCode::Right | KeyCode::Character(' ') => {
            *chosen = Some(chosen.map_or(0, |index| (index + 1) % count));
        }
        KeyCode::Left => {
            *chosen = Some(chosen.map_or(count - 1, |index| (index + count - 1) % count))
        }
        KeyCode::Home => *chosen = Some(0),
        KeyCode::End => *chosen = Some(count - 1),
        KeyCode::Backspace | KeyCode::Delete => *chosen = None,
        KeyCode::Character(letter) => {
            let after = chosen.map_or(0, |index| index + 1);
            *chosen = find_letter(options, after, letter).or(*chosen);
        }
        _ => {}
    }
}

fn press_several(options: &[FieldOption], chosen: &mut BTreeSet<usize>, at: &mut usize, key: &Key) {
    let count = options.len();
    if count == 0 || key.control || key.alt {
        return;
    }
    match key.code {
        KeyCode::Right => *at = (*at + 1) % count,
        KeyCode::Left => *at = (*at + count - 1) % count,
        KeyCode::Home => *at = 0,
        KeyCode::End => *at = count - 1,
        KeyCode::Character(' ') if chosen.remove(at) => {}
        KeyCode::Character(' ') => {
            chosen.insert(*at);
        }
        KeyCode::Backspace | KeyCode::Delete => chosen.clear(),
        KeyCode::Character(letter) => *at = find_letter(options, *at + 1, letter).unwrap_or(*at),
        _ => {}
    }
}

/// Returns the next option that begins with a letter, from an index on and around.
fn find_letter(options: &[FieldOption], from: usize, letter: char) -> Option<usize> {
    let count = options.len();
    let begins = |index: &usize| {
        let title = options
            .get(*index)
            .map_or("", |option| option.title.as_str());
        let first = title.chars().next();
        first.is_some_and(|first| first.to_lowercase().eq(letter.to_lowercase()))
    };
    (from..from + count).map(|index| index % count).find(begins)
}

/// Returns the option with this number, counted from one, or this title or value.
fn find(options: &[FieldOption], word: &str) -> Option<usize> {
    let number = word.parse::<usize>().ok().and_then(|at| at.checked_sub(1));
    let is_named = |option: &FieldOption| {
        option.title.eq_ignore_ascii_case(word) || option.value.as_str() == Some(word)
    };
    let named = options.iter().position(is_named);
    named.or(number.filter(|index| *index < options.len()))
}

fn several(
    options: &[FieldOption],
    chosen: &BTreeSet<usize>,
    least: usize,
    most: Option<usize>,
    is_required: bool,
) -> Result<Option<Value>, String> {
    if chosen.is_empty() && !is_required {
        return Ok(None);
    }
    let count = chosen.len();
    if count < least || most.is_some_and(|most| count > most) {
        let range = range(Some(least).filter(|least| *least > 0), most).unwrap_or_default();
        return Err(format!("choose {range}, not {count}"));
    }
    let values = chosen.iter().filter_map(|index| options.get(*index));
    Ok(Some(values.map(|option| option.value.clone()).collect()))
}

impl TextRule {
    fn value(&self, text: &str) -> Result<Option<Value>, String> {
        match self {
            Self::Text {
                least,
                most,
                format,
            } => {
                let text = match format {
                    Some(_) => text.trim(),
                    None => text,
                };
                if text.is_empty() {
                    return Ok(None);
                }
                let count = text.chars().count();
                let is_fitting = count >= *least && most.is_none_or(|most| count <= most);
                if !is_fitting || format.is_some_and(|format| !format.matches(text)) {
                    let expected = self.expected().unwrap_or_default();
                    return Err(match is_fitting {
                        true => format!("expected {expected}"),
                        false => format!("expected {expected}, got {count}"),
                    });
                }
                Ok(Some(Value::from(text)))
            }
            Self::Number {
                is_integer,
                least,
                most,
            } => {
                let text = text.trim();
                if text.is_empty() {
                    return Ok(None);
                }
                let number = number(text, *is_integer);
                let fits = |number: &Number| {
                    let value = number.as_f64().unwrap_or(f64::NAN);
                    least.is_none_or(|least| value >= least)
                        && most.is_none_or(|most| value <= most)
                };
                match number.filter(fits) {
                    Some(number) => Ok(Some(Value::Number(number))),
                    None => Err(format!("expected {}", self.expected().unwrap_or_default())),
                }
            }
        }
    }

    fn expected(&self) -> Option<String> {
        match self {
            Self::Text {
                format: Some(format),
                ..
            } => Some(format.expected().to_owned()),
            Self::Text { least, most, .. } => {
                let range = range(Some(*least).filter(|least| *least > 0), *most)?;
                Some(format!("{range} characters"))
            }
            Self::Number {
                is_integer,
                least,
                most,
            } => {
                let kind = match is_integer {
                    true => "a whole number",
                    false => "a number",
                };
                Some(match range(*least, *most) {
                    Some(range) => format!("{kind}, {range}"),
                    None => kind.to_owned(),
                })
            }
        }
    }
}

fn number(text: &str, is_integer: bool) -> Option<Number> {
    if let Ok(number) = text.parse::<i64>() {
        return Some(number.into());
    }
    if let Ok(number) = text.parse::<u64>() {
        return Some(number.into());
    }
    let number = text.parse::<f64>().ok().filter(|_| !is_integer)?;
    Number::from_f64(number)
}

/// `3 to 50`, `at least 3`, `at most 50`.
fn range<N: std::fmt::Display + PartialEq>(least: Option<N>, most: Option<N>) -> Option<String> {
    Some(match (least, most) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => return None,
    })
}
