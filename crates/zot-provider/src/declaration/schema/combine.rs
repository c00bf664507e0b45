//! Combines schemas: what several allow (`allOf`), and what one of several allows (`anyOf`, `oneOf`).

use serde_json::Number;

use super::{Additional, Schema};
use crate::declaration::kinds::Kinds;
use crate::declaration::parse::MAX_SCHEMA_NODES;

/// More combinations of alternatives are not worth their tokens.
///
/// Limit: further alternatives are described instead of declared.
const MAX_ALTERNATIVES: usize = 16;

impl Schema {
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
