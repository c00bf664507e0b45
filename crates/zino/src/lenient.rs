//! Values of files as the original, a Python program, uses them: see [`zot_wire::zino::lenient`].

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use zot_wire::zino::lenient::Plain;

fn plain(value: &toml::Value) -> Plain<'_> {
    match value {
        toml::Value::String(text) => Plain::Text(text),
        toml::Value::Integer(integer) => Plain::Integer(*integer),
        toml::Value::Float(float) => Plain::Float(*float),
        toml::Value::Boolean(value) => Plain::Bool(*value),
        toml::Value::Datetime(_) => Plain::Other { is_empty: false },
        toml::Value::Array(list) => Plain::Other {
            is_empty: list.is_empty(),
        },
        toml::Value::Table(table) => Plain::Other {
            is_empty: table.is_empty(),
        },
    }
}

/// `[section] key` of `ZINO.toml` as a number.
pub(crate) fn read_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = toml::Value::deserialize(deserializer)?;
    let number = plain(&value).number();
    number.ok_or_else(|| D::Error::custom("expected a number"))
}

pub(crate) fn read_optional_number<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<f64>, D::Error> {
    read_number(deserializer).map(Some)
}

pub(crate) fn read_integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let value = toml::Value::deserialize(deserializer)?;
    let integer = plain(&value).integer();
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
            "expected a whole number that is not negative, got {integer}"
        ))
    })
}

pub(crate) fn read_truth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let value = toml::Value::deserialize(deserializer)?;
    Ok(plain(&value).is_true())
}

/// Any scalar, as text.
pub(crate) fn read_shown<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let value = toml::Value::deserialize(deserializer)?;
    let shown = plain(&value).shown();
    shown.ok_or_else(|| D::Error::custom("expected a number or a string"))
}

/// A string that `false` and the like switch off, in TOML or JSON.
pub(crate) fn read_optional_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    match value {
        Value::String(text) => Ok(Some(text)),
        other if !Plain::from(&other).is_true() => Ok(None),
        other => Err(D::Error::custom(format!("expected a string, got {other}"))),
    }
}
