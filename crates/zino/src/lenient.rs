//! Reads values as the original does: it is written in Python, which asks what a value can be used
//! for and not what it is. `int()`, `float()`, `str()` and truth are meant.

#[cfg(test)]
mod tests;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A value of JSON or TOML, as far as it matters here.
#[derive(Debug, Clone, Copy)]
enum Plain<'a> {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(&'a str),
    /// A list, an object or a date; whether there is anything in it.
    Other {
        is_empty: bool,
    },
}

impl<'a> From<&'a Value> for Plain<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => match number.as_i64() {
                Some(integer) => Self::Integer(integer),
                // Beyond what can be there anyway.
                None if number.is_u64() => Self::Integer(i64::MAX),
                None => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => Self::Text(text),
            Value::Array(list) => Self::Other {
                is_empty: list.is_empty(),
            },
            Value::Object(object) => Self::Other {
                is_empty: object.is_empty(),
            },
        }
    }
}

impl<'a> From<&'a toml::Value> for Plain<'a> {
    fn from(value: &'a toml::Value) -> Self {
        match value {
            toml::Value::String(text) => Self::Text(text),
            toml::Value::Integer(integer) => Self::Integer(*integer),
            toml::Value::Float(float) => Self::Float(*float),
            toml::Value::Boolean(value) => Self::Bool(*value),
            toml::Value::Datetime(_) => Self::Other { is_empty: false },
            toml::Value::Array(list) => Self::Other {
                is_empty: list.is_empty(),
            },
            toml::Value::Table(table) => Self::Other {
                is_empty: table.is_empty(),
            },
        }
    }
}

impl Plain<'_> {
    fn is_true(self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => value,
            Self::Integer(integer) => integer != 0,
            Self::Float(float) => float != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Other { is_empty } => !is_empty,
        }
    }

    fn integer(self) -> Option<i64> {
        match self {
            Self::Bool(value) => Some(value.into()),
            Self::Integer(integer) => Some(integer),
            Self::Float(float) => float.is_finite().then(|| truncated(float)),
            Self::Text(text) => integer_from(&digits(text)?),
            Self::Null | Self::Other { .. } => None,
        }
    }

    fn number(self) -> Option<f64> {
        match self {
            Self::Bool(value) => Some(f64::from(u8::from(value))),
            #[expect(clippy::cast_precision_loss, reason = "as Python's float() does")]
            Self::Integer(integer) => Some(integer as f64),
            Self::Float(float) => Some(float),
            Self::Text(text) => {
                let number: f64 = digits(text)?.parse().ok()?;
                // No server takes an infinite or undefined one.
                number.is_finite().then_some(number)
            }
            Self::Null | Self::Other { .. } => None,
        }
    }

    /// As `str()` shows it; lists and objects have no short form.
    fn shown(self) -> Option<String> {
        Some(match self {
            Self::Null => "None".to_owned(),
            Self::Bool(true) => "True".to_owned(),
            Self::Bool(false) => "False".to_owned(),
            Self::Integer(integer) => integer.to_string(),
            Self::Float(float) => format!("{float:?}"),
            Self::Text(text) => text.to_owned(),
            Self::Other { .. } => return None,
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a cast stops at the ends of the range, which is as good as any larger number here"
)]
fn truncated(float: f64) -> i64 {
    float as i64
}

/// A number's text without the blanks around it and the underscores inside it that Python allows.
fn digits(text: &str) -> Option<String> {
    let text = text.trim();
    let between_digits = |position: usize| {
        let bytes = text.as_bytes();
        let is_digit = |at: Option<usize>| {
            at.and_then(|at| bytes.get(at))
                .is_some_and(u8::is_ascii_digit)
        };
        is_digit(position.checked_sub(1)) && is_digit(Some(position + 1))
    };
    let placed_well = text
        .match_indices('_')
        .all(|(position, _)| between_digits(position));
    (placed_well && !text.is_empty()).then(|| text.replace('_', ""))
}

/// Stops at the ends of the range.
fn integer_from(digits: &str) -> Option<i64> {
    let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits);
    if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(match digits.starts_with('-') {
        true => i64::MIN,
        false => i64::MAX,
    }))
}

/// Whether a value counts as true: every number but 0, every text but the empty one (`"false"`
/// too), every list and object with something in it.
pub(crate) fn is_true(value: &Value) -> bool {
    Plain::from(value).is_true()
}

pub(crate) fn integer(value: &Value) -> Option<i64> {
    Plain::from(value).integer()
}

pub(crate) fn number(value: &Value) -> Option<f64> {
    Plain::from(value).number()
}

/// The value in a message; `None` for lists and objects.
pub(crate) fn shown(value: &Value) -> Option<String> {
    Plain::from(value).shown()
}

/// `[section] key` of `ZINO.toml` as a number.
pub(crate) fn read_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = toml::Value::deserialize(deserializer)?;
    let number = Plain::from(&value).number();
    number.ok_or_else(|| D::Error::custom("expected a number"))
}

pub(crate) fn read_optional_number<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<f64>, D::Error> {
    read_number(deserializer).map(Some)
}

pub(crate) fn read_integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let value = toml::Value::deserialize(deserializer)?;
    let integer = Plain::from(&value).integer();
    integer.ok_or_else(|| D::Error::custom("expected a whole number"))
}

/// A whole number that is not negative.
pub(crate) fn read_count<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    let integer = read_integer(deserializer)?;
    T::try_from(integer).map_err(|_| {
        D::Error::custom(format!(
            "expected a whole number that is not negative, not {integer}"
        ))
    })
}

pub(crate) fn read_truth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let value = toml::Value::deserialize(deserializer)?;
    Ok(Plain::from(&value).is_true())
}

/// A text that is put into another, whatever it was.
pub(crate) fn read_shown<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let value = toml::Value::deserialize(deserializer)?;
    let shown = Plain::from(&value).shown();
    shown.ok_or_else(|| D::Error::custom("expected a number or a text"))
}

/// A text that may be switched off with `false` and the like, in TOML or JSON.
pub(crate) fn read_optional_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    match value {
        Value::String(text) => Ok(Some(text)),
        other if !is_true(&other) => Ok(None),
        other => Err(D::Error::custom(format!("expected a text, not {other}"))),
    }
}
