//! What a model accepts and how long it is available: the types of the catalog's fields.

use std::borrow::Cow;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use zot_conversation::{ReasoningEffort, UnknownEffort};

/// Which of OpenAI's two wires a model uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum OpenAiWire {
    /// Chat completions.
    #[serde(rename = "openai")]
    Chat,
    #[serde(rename = "openai-responses")]
    Responses,
}

impl OpenAiWire {
    /// The names in `--wire`, config.json and models.json.
    pub const NAMES: [&str; 2] = ["openai", "openai-responses"];

    /// Returns the wire of that name, in any of its spellings.
    pub fn named(name: &str) -> Option<Self> {
        match crate::Wire::named(name)? {
            crate::Wire::OpenAiChat(_) => Some(Self::Chat),
            crate::Wire::OpenAiResponses => Some(Self::Responses),
            crate::Wire::Anthropic | crate::Wire::Gemini => None,
        }
    }

    pub fn other(self) -> Self {
        match self {
            Self::Chat => Self::Responses,
            Self::Responses => Self::Chat,
        }
    }
}

/// How thinking is requested of a model on the Anthropic wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// `thinking: {type: "enabled", budget_tokens: …}`.
    #[default]
    Budget,
    /// `thinking: {type: "adaptive"}` with `output_config.effort`.
    Adaptive,
}

/// The efforts a model accepts. Empty if it does not accept the parameter at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "Vec<Cow<str>>")]
pub struct Efforts(u8);

impl Efforts {
    pub const NONE: Self = Self(0);

    pub const fn of(efforts: &[ReasoningEffort]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < efforts.len() {
            bits |= 1 << efforts[index] as u8;
            index += 1;
        }
        Self(bits)
    }

    /// Reads a list separated by blanks and skips unknown names.
    pub(super) fn from_words(words: &str) -> Self {
        words
            .split_ascii_whitespace()
            .filter_map(|name| name.parse().ok())
            .fold(Self::NONE, |set, effort: ReasoningEffort| {
                Self(set.0 | Self::of(&[effort]).0)
            })
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn contains(self, effort: ReasoningEffort) -> bool {
        self.0 & Self::of(&[effort]).0 != 0
    }

    /// Iterates over the efforts, lowest first.
    pub fn iter(self) -> impl Iterator<Item = ReasoningEffort> {
        ReasoningEffort::ALL
            .into_iter()
            .filter(move |effort| self.contains(*effort))
    }

    /// Returns the accepted effort nearest to `wanted`: the same, else the next higher, else the
    /// next lower.
    ///
    /// A request for some reasoning never becomes `none`.
    pub fn nearest(self, wanted: ReasoningEffort) -> Option<ReasoningEffort> {
        let fits = |effort: &ReasoningEffort| {
            *effort != ReasoningEffort::None || wanted == ReasoningEffort::None
        };
        let higher = self.iter().filter(fits).find(|effort| *effort >= wanted);
        higher.or_else(|| self.iter().filter(fits).last())
    }
}

impl TryFrom<Vec<Cow<'_, str>>> for Efforts {
    type Error = UnknownEffort;

    fn try_from(names: Vec<Cow<'_, str>>) -> Result<Self, UnknownEffort> {
        let efforts: Result<Vec<_>, _> = names.iter().map(|name| name.parse()).collect();
        Ok(Self::of(&efforts?))
    }
}

/// When a model will be, or was, switched off.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Deprecation {
    /// The first day on which its provider refuses it.
    #[serde(deserialize_with = "date")]
    pub ends: Date,
    /// What the provider, or this catalog, recommends instead.
    pub replacement: Option<Cow<'static, str>>,
}

/// How long before its end users of a model are warned and it may no longer be a default.
///
/// Limit: users of a model are warned this long before it ends; a test fails if it is a default.
pub const DEPRECATION_NOTICE_DAYS: i64 = 60;

impl Deprecation {
    /// Returns whether the end has passed, or is within [`DEPRECATION_NOTICE_DAYS`].
    pub fn is_near(&self, today: Date) -> bool {
        today
            .checked_add(DEPRECATION_NOTICE_DAYS.days())
            .is_ok_and(|horizon| self.ends <= horizon)
    }

    /// Describes the end to people: `ended on 2026-10-23; use o3` or `ends on 2026-11-30; use
    /// claude-sonnet-5-5`.
    pub fn describe(&self, today: Date) -> String {
        let verb = if self.ends <= today { "ended" } else { "ends" };
        match &self.replacement {
            Some(replacement) => format!("{verb} on {}; use {replacement}", self.ends),
            None => format!("{verb} on {}", self.ends),
        }
    }
}

/// Returns today's date in UTC, the time zone of providers' announcements.
pub fn today() -> Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}

/// Reads a date such as `2026-11-30`.
pub(super) fn date<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
    let text = Cow::<str>::deserialize(deserializer)?;
    text.parse().map_err(|_| {
        D::Error::custom(format_args!(
            "expected a date such as 2026-11-30, got {text:?}"
        ))
    })
}

#[cfg(test)]
mod tests;
