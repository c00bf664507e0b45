//! The form of a JSON Schema from which every wire's declaration is written.
//!
//! References are resolved, `allOf` is merged and every value has the type its keyword requires.
//! What has no field here becomes a remark, which is added to a description.

use serde_json::Number;

use super::json::Json;
use super::parse::MAX_SCHEMA_NODES;

/// More combinations of alternatives are not worth their tokens.
///
/// Limit: further alternatives are described instead of declared.
const MAX_ALTERNATIVES: usize = 16;

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

    /// Narrows this to what `other` also allows, as `allOf` does.
    pub(crate) fn narrow(&mut self, other: Self) {
        self.kinds = self.kinds.and(other.kinds);
        self.narrow_texts(other.title, other.description);
        self.values = match (self.values.take(), other.values) {
            (Some(mine), Some(others)) => Some(
                mine.into_iter()
                    .filter(|value| others.iter().any(|other| other.equals(value)))
                    .collect(),
            ),
            (mine, others) => mine.or(others),
        };
        self.default = self.default.take().or(other.default);
        self.examples = self.examples.take().or(other.examples);
        for (name, schema) in other.properties {
            match self.properties.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => known.narrow(schema),
                None => self.properties.push((name, schema)),
            }
        }
        for name in other.required {
            if !self.required.contains(&name) {
                self.required.push(name);
            }
        }
        self.narrow_additional(other.additional);
        self.items = match (self.items.take(), other.items) {
            (Some(mut mine), Some(others)) => {
                mine.narrow(*others);
                Some(mine)
            }
            (mine, others) => mine.or(others),
        };
        let less_count = |left: &u64, right: &u64| left < right;
        let less_number = |left: &Number, right: &Number| {
            left.as_f64().unwrap_or_default() < right.as_f64().unwrap_or_default()
        };
        self.properties_count
            .narrow(&other.properties_count, less_count);
        self.items_count.narrow(&other.items_count, less_count);
        self.length.narrow(&other.length, less_count);
        self.range.narrow(&other.range, less_number);
        self.exclusive_range
            .narrow(&other.exclusive_range, less_number);
        self.unique_items |= other.unique_items;
        self.is_cut |= other.is_cut;
        self.narrow_rest(
            other.pattern,
            other.format,
            other.multiple_of,
            other.remarks,
        );
        self.narrow_alternatives(other.any_of);
    }

    fn narrow_texts(&mut self, title: Option<String>, description: Option<String>) {
        self.title = self.title.take().or(title);
        self.description = match (self.description.take(), description) {
            (Some(mine), Some(others)) if !mine.contains(&others) => {
                Some(format!("{mine} {others}"))
            }
            (mine, others) => mine.or(others),
        };
    }

    fn narrow_additional(&mut self, other: Additional) {
        // Parts of an `allOf` that each forbid what the others add would allow nothing, which no
        // author intends: the properties of all parts count as known.
        let mine = std::mem::replace(&mut self.additional, Additional::Unspecified);
        self.additional = match (mine, other) {
            (Additional::Forbidden, _) | (_, Additional::Forbidden) => Additional::Forbidden,
            (Additional::Of(mut mine), Additional::Of(other)) => {
                mine.narrow(*other);
                Additional::Of(mine)
            }
            (Additional::Of(schema), _) | (_, Additional::Of(schema)) => Additional::Of(schema),
            (Additional::Allowed, _) | (_, Additional::Allowed) => Additional::Allowed,
            (Additional::Unspecified, Additional::Unspecified) => Additional::Unspecified,
        };
    }

    fn narrow_rest(
        &mut self,
        pattern: Option<String>,
        format: Option<String>,
        multiple_of: Option<Number>,
        remarks: Vec<String>,
    ) {
        match (&self.pattern, pattern) {
            (Some(mine), Some(other)) if *mine != other => {
                self.remark(format!("Must also match the pattern {other}"));
            }
            (Some(_), _) => {}
            (None, other) => self.pattern = other,
        }
        self.format = self.format.take().or(format);
        match (&self.multiple_of, multiple_of) {
            (Some(mine), Some(other)) if *mine != other => {
                self.remark(format!("Must also be a multiple of {other}"));
            }
            (Some(_), _) => {}
            (None, other) => self.multiple_of = other,
        }
        for remark in remarks {
            self.remark(remark);
        }
    }

    fn narrow_alternatives(&mut self, others: Vec<Schema>) {
        if self.any_of.is_empty() {
            self.any_of = others;
            return;
        }
        if others.is_empty() {
            return;
        }
        let weight = |schemas: &[Schema]| schemas.iter().map(Schema::weight).sum::<usize>();
        let size = weight(&self.any_of) * others.len() + weight(&others) * self.any_of.len();
        if self.any_of.len() * others.len() > MAX_ALTERNATIVES || size > MAX_SCHEMA_NODES {
            self.remark("Further alternatives apply, which are too many to list");
            return;
        }
        let mine = std::mem::take(&mut self.any_of);
        for left in &mine {
            for right in &others {
                let mut both = left.clone();
                both.narrow(right.clone());
                if !both.is_never() {
                    self.any_of.push(both);
                }
            }
        }
        if self.any_of.is_empty() {
            self.kinds = Kinds::NONE;
        }
    }

    /// Returns the number of schemas in this one.
    fn weight(&self) -> usize {
        let within = |schemas: &[Schema]| schemas.iter().map(Self::weight).sum::<usize>();
        let properties: usize = self.properties.iter().map(|(_, s)| s.weight()).sum();
        let items = self.items.as_ref().map_or(0, |items| items.weight());
        let additional = match &self.additional {
            Additional::Of(schema) => schema.weight(),
            _ => 0,
        };
        1 + properties + items + additional + within(&self.any_of)
    }

    /// Returns one schema that allows what any of `alternatives` allows.
    pub(crate) fn union(alternatives: Vec<Schema>) -> Self {
        let mut distinct: Vec<Schema> = Vec::new();
        for alternative in alternatives {
            if alternative.is_never() {
                continue;
            }
            // Alternatives that differ only in values are merged: a list of values is clearer than
            // a list of schemas.
            let known = distinct.iter_mut().find(|known| {
                **known == alternative
                    || (known.values.is_some()
                        && alternative.values.is_some()
                        && known.without_values() == alternative.without_values())
            });
            match known {
                Some(known) => {
                    known.kinds = known.kinds.or(alternative.kinds);
                    let added = alternative.values.into_iter().flatten();
                    let values = known.values.get_or_insert_default();
                    for value in added {
                        if !values.iter().any(|known| known.equals(&value)) {
                            values.push(value);
                        }
                    }
                    if values.is_empty() {
                        known.values = None;
                    }
                }
                None => distinct.push(alternative),
            }
        }
        if distinct.len() == 1 {
            return distinct.pop().unwrap_or_else(Self::never);
        }
        if distinct.is_empty() {
            return Self::never();
        }
        let kinds = distinct
            .iter()
            .fold(Kinds::NONE, |kinds, schema| kinds.or(schema.kinds));
        Self {
            kinds,
            any_of: distinct,
            ..Self::any()
        }
    }

    fn without_values(&self) -> Self {
        Self {
            values: None,
            kinds: Kinds::ANY,
            ..self.clone()
        }
    }

    /// Merges the properties of the alternatives into this object, for wires that accept no
    /// alternatives there. A remark describes what is lost.
    #[must_use]
    pub(crate) fn flattened(mut self) -> Self {
        if self.any_of.is_empty() {
            return self;
        }
        let alternatives: Vec<Schema> = std::mem::take(&mut self.any_of)
            .into_iter()
            .filter(|schema| schema.kinds.meets(Kinds::OBJECT) && !schema.is_never())
            .map(Schema::flattened)
            .collect();
        if alternatives.is_empty() {
            return Self::never();
        }
        let in_all: Vec<String> = alternatives.first().map_or_else(Vec::new, |first| {
            let in_all = |name: &&String| alternatives.iter().all(|a| a.required.contains(name));
            first.required.iter().filter(in_all).cloned().collect()
        });
        if let Some(remark) = self.choice(&alternatives) {
            self.remark(remark);
        }
        let mut merged: Vec<(String, Vec<Schema>)> = Vec::new();
        for alternative in alternatives {
            self.narrow_texts(None, alternative.description);
            for (name, schema) in alternative.properties {
                match merged.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, known)) => known.push(schema),
                    None => merged.push((name, vec![schema])),
                }
            }
            for remark in alternative.remarks {
                self.remark(remark);
            }
        }
        for (name, schemas) in merged {
            let union = Self::union(schemas);
            match self.properties.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => {
                    // Where no alternative fits the outer schema, the outer schema is kept.
                    let mut both = known.clone();
                    both.narrow(union);
                    if !both.is_never() {
                        *known = both;
                    }
                }
                None => self.properties.push((name, union)),
            }
        }
        for name in in_all {
            if !self.required.contains(&name) {
                self.required.push(name);
            }
        }
        self
    }

    /// Describes which arguments belong together.
    fn choice(&self, alternatives: &[Schema]) -> Option<String> {
        let mut sets: Vec<String> = Vec::new();
        for alternative in alternatives {
            let own: Vec<String> = alternative
                .properties
                .iter()
                .filter_map(|(name, schema)| {
                    let fixed = schema.values.as_deref().filter(|values| values.len() == 1);
                    let is_required = alternative.required.contains(name);
                    match fixed.and_then(|values| values.first()) {
                        Some(value) => Some(format!("{name} = {}", value.text())),
                        None => is_required.then(|| name.clone()),
                    }
                })
                .chain(
                    alternative
                        .required
                        .iter()
                        .filter(|name| alternative.property(name).is_none())
                        .cloned(),
                )
                .collect();
            let set = match own.is_empty() {
                true => "none of the others".to_owned(),
                false => own.join(" and "),
            };
            if !sets.contains(&set) {
                sets.push(set);
            }
        }
        (sets.len() > 1)
            .then(|| format!("Give one of these sets of arguments: {}", sets.join("; ")))
    }
}
