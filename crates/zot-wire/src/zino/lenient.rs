//! Converts values as Python does.
//!
//! The original converts values instead of checking their types: with `int()`, `float()`, `str()` and by
//! truthiness.

#[cfg(test)]
mod tests;

use serde_json::Value;

/// A value of JSON or TOML, as far as the conversions need it.
#[derive(Debug, Clone, Copy)]
pub enum Plain<'a> {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(&'a str),
    /// A list, an object or a date.
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
                // Larger values make no difference here.
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

impl Plain<'_> {
    /// Whether a value counts as true: every number but 0, every string but the empty one (`"false"`
    /// too), every list and object with something in it.
    pub fn is_true(self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => value,
            Self::Integer(integer) => integer != 0,
            Self::Float(float) => float != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Other { is_empty } => !is_empty,
        }
    }

    pub fn integer(self) -> Option<i64> {
        match self {
            Self::Bool(value) => Some(value.into()),
            Self::Integer(integer) => Some(integer),
            Self::Float(float) => float.is_finite().then(|| truncated(float)),
            Self::Text(text) => integer_from(&digits(text)?),
            Self::Null | Self::Other { .. } => None,
        }
    }

    pub fn number(self) -> Option<f64> {
        match self {
            Self::Bool(value) => Some(f64::from(u8::from(value))),
            #[expect(clippy::cast_precision_loss, reason = "as Python's float() does")]
            Self::Integer(integer) => Some(integer as f64),
            Self::Float(float) => Some(float),
            Self::Text(text) => {
                let number: f64 = digits(text)?.parse().ok()?;
                // No server accepts infinity or NaN.
                number.is_finite().then_some(number)
            }
            Self::Null | Self::Other { .. } => None,
        }
    }

    /// Formats the value like `str()`; `None` for lists and objects.
    pub fn shown(self) -> Option<String> {
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

/// Removes the surrounding blanks and the underscores that Python allows in a number.
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
    let underscores_valid = text
        .match_indices('_')
        .all(|(position, _)| between_digits(position));
    (underscores_valid && !text.is_empty()).then(|| text.replace('_', ""))
}

/// Parses an integer and clamps it to the range of `i64`.
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
