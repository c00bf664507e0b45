//! Reading values of the wrong type as absent.
//!
//! Compatible servers send counts as strings or fractions, `null` for anything, and objects where a
//! string is documented. One such field must not lose the text next to it.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Reads a whole number, also from a fraction or a string. Anything else is `None`.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    deserializer.deserialize_any(Lenient(PhantomData::<u64>))
}

/// Reads a string. Anything else is `None`.
pub(crate) fn string<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Cow<'de, str>>, D::Error> {
    deserializer.deserialize_any(Lenient(PhantomData::<Cow<'de, str>>))
}

/// Reads a `T`, or `None` when the value is not one. Reads the value twice: for rare fields.
pub(crate) fn optional<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).ok())
}

/// Reads the elements of an array that are a `T`; anything but an array is read as an empty one.
pub(crate) fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let raw: Option<Vec<&RawValue>> = optional(deserializer)?;
    let elements = raw.into_iter().flatten();
    Ok(elements
        .filter_map(|element| serde_json::from_str(element.get()).ok())
        .collect())
}

/// A value of any type, of which only some are accepted.
struct Lenient<T>(PhantomData<T>);

/// How each type is converted.
trait Scalar<'de>: Sized {
    fn from_unsigned(number: u64) -> Option<Self>;
    fn from_fraction(number: f64) -> Option<Self>;
    fn from_text(text: Cow<'de, str>) -> Option<Self>;
}

impl<'de> Scalar<'de> for u64 {
    fn from_unsigned(number: u64) -> Option<Self> {
        Some(number)
    }

    fn from_fraction(number: f64) -> Option<Self> {
        // Saturates, and counts are far below what a fraction can hold exactly.
        (number >= 0.0).then_some(number as u64)
    }

    fn from_text(text: Cow<'de, str>) -> Option<Self> {
        text.trim().parse().ok()
    }
}

impl<'de> Scalar<'de> for Cow<'de, str> {
    fn from_unsigned(_: u64) -> Option<Self> {
        None
    }

    fn from_fraction(_: f64) -> Option<Self> {
        None
    }

    fn from_text(text: Cow<'de, str>) -> Option<Self> {
        Some(text)
    }
}

impl<'de, T: Scalar<'de>> Visitor<'de> for Lenient<T> {
    type Value = Option<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(T::from_unsigned(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(u64::try_from(number).ok().and_then(T::from_unsigned))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(T::from_fraction(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(T::from_text(Cow::Owned(text.to_owned())))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(T::from_text(Cow::Borrowed(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
