//! The form of a JSON Schema from which every wire's declaration is written.
//!
//! References are resolved, `allOf` is merged and every value has the type its keyword requires.
//! What has no field here becomes a remark, which is added to a description.

mod combine;

use serde_json::Number;

use super::json::Json;
pub(crate) use super::kinds::Kinds;

/// Which fields an object may have in addition to its properties.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Additional {
    /// The schema does not specify it; they are allowed.
    Unspecified,
    Allowed,
    Forbidden,
    /// Allowed with values of this form.
    Of(Box<Schema>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Schema {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) kinds: Kinds,
    /// The only values allowed.
    pub(crate) values: Option<Vec<Json>>,
    pub(crate) default: Option<Json>,
    pub(crate) examples: Option<Vec<Json>>,
    pub(crate) properties: Vec<(String, Schema)>,
    pub(crate) required: Vec<String>,
    pub(crate) additional: Additional,
    pub(crate) properties_count: Range<u64>,
    pub(crate) items: Option<Box<Schema>>,
    pub(crate) items_count: Range<u64>,
    pub(crate) unique_items: bool,
    pub(crate) length: Range<u64>,
    pub(crate) pattern: Option<String>,
    pub(crate) format: Option<String>,
    pub(crate) range: Range<Number>,
    pub(crate) exclusive_range: Range<Number>,
    pub(crate) multiple_of: Option<Number>,
    pub(crate) any_of: Vec<Schema>,
    pub(crate) remarks: Vec<String>,
    /// Whether only a part of the schema was read, because it is recursive or too deep.
    pub(crate) is_cut: bool,
}

/// A minimum and a maximum.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Range<T> {
    pub(crate) min: Option<T>,
    pub(crate) max: Option<T>,
}

impl<T> Default for Range<T> {
    fn default() -> Self {
        Self {
            min: None,
            max: None,
        }
    }
}

impl<T: Clone> Range<T> {
    fn narrow(&mut self, other: &Self, is_less: impl Fn(&T, &T) -> bool) {
        if let Some(min) = &other.min
            && self.min.as_ref().is_none_or(|known| is_less(known, min))
        {
            self.min = Some(min.clone());
        }
        if let Some(max) = &other.max
            && self.max.as_ref().is_none_or(|known| is_less(max, known))
        {
            self.max = Some(max.clone());
        }
    }
}

impl Schema {
    /// Returns a schema that allows everything.
    pub(crate) fn any() -> Self {
        Self {
            title: None,
            description: None,
            kinds: Kinds::ANY,
            values: None,
            default: None,
            examples: None,
            properties: Vec::new(),
            required: Vec::new(),
            additional: Additional::Unspecified,
            properties_count: Range::default(),
            items: None,
            items_count: Range::default(),
            unique_items: false,
            length: Range::default(),
            pattern: None,
            format: None,
            range: Range::default(),
            exclusive_range: Range::default(),
            multiple_of: None,
            any_of: Vec::new(),
            remarks: Vec::new(),
            is_cut: false,
        }
    }

    /// Returns a schema that allows nothing.
    pub(crate) fn never() -> Self {
        Self {
            kinds: Kinds::NONE,
            ..Self::any()
        }
    }

    pub(crate) fn is_never(&self) -> bool {
        self.kinds.is_empty() || self.values.as_ref().is_some_and(Vec::is_empty)
    }

    pub(crate) fn property(&self, name: &str) -> Option<&Schema> {
        let found = self.properties.iter().find(|(known, _)| known == name);
        found.map(|(_, schema)| schema)
    }

    pub(crate) fn remark(&mut self, remark: impl Into<String>) {
        let remark = remark.into();
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }
}
