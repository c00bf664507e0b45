//! Sets of JSON types.

use super::json::Json;

/// A set of JSON types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const STRING: Self = Self(1);
    pub(crate) const INTEGER: Self = Self(1 << 1);
    /// Whole numbers are numbers, too: both bits.
    pub(crate) const NUMBER: Self = Self(1 << 1 | 1 << 2);
    pub(crate) const BOOLEAN: Self = Self(1 << 3);
    pub(crate) const OBJECT: Self = Self(1 << 4);
    pub(crate) const ARRAY: Self = Self(1 << 5);
    pub(crate) const NULL: Self = Self(1 << 6);
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ANY: Self = Self(0x7f);

    /// Every single type with its name, in the order in which they are written. Numbers come
    /// before integers, which they include.
    const NAMES: [(Self, &'static str); 7] = [
        (Self::STRING, "string"),
        (Self::NUMBER, "number"),
        (Self::INTEGER, "integer"),
        (Self::BOOLEAN, "boolean"),
        (Self::OBJECT, "object"),
        (Self::ARRAY, "array"),
        (Self::NULL, "null"),
    ];

    /// Returns the type called `name`, in JSON Schema or by authors' common mistakes. `None` for a
    /// name without a meaning, such as `any`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "string" | "str" | "text" | "date" | "datetime" | "file" | "path" => Self::STRING,
            "integer" | "int" | "long" | "int32" | "int64" => Self::INTEGER,
            "number" | "float" | "double" | "decimal" => Self::NUMBER,
            "boolean" | "bool" => Self::BOOLEAN,
            "object" | "dict" | "map" | "record" => Self::OBJECT,
            "array" | "list" | "tuple" | "set" => Self::ARRAY,
            "null" | "none" | "nil" => Self::NULL,
            _ => return None,
        })
    }

    pub(crate) fn of(value: &Json) -> Self {
        match value {
            Json::Null => Self::NULL,
            Json::Bool(_) => Self::BOOLEAN,
            Json::Number(number) if number.is_f64() => match number.as_f64() {
                Some(float) if float.fract() == 0.0 => Self::INTEGER,
                _ => Self::NUMBER,
            },
            Json::Number(_) => Self::INTEGER,
            Json::String(_) => Self::STRING,
            Json::Array(_) => Self::ARRAY,
            Json::Object(_) => Self::OBJECT,
        }
    }

    pub(crate) fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Returns the single types in the set, with their names.
    pub(crate) fn single(self) -> impl Iterator<Item = (Self, &'static str)> {
        let mut rest = self;
        Self::NAMES.into_iter().filter(move |(kind, _)| {
            let is_member = !kind.is_empty() && rest.contains(*kind);
            if is_member {
                rest = rest.without(*kind);
            }
            is_member
        })
    }
}
