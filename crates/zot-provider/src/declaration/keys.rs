//! Adapts names of tools and keys of properties to a wire, and translates them back.

use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};

use super::schema::{Additional, Schema};

/// The longest name or key that every provider accepts.
///
/// Limit: a longer tool name or property key is shortened, with a hash at its end.
const MAX_WIRE_NAME_LENGTH: usize = 64;

/// The length of the suffix that distinguishes names which would otherwise be equal.
const MARK_LENGTH: usize = 8;

/// What a name may look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// `^[a-zA-Z0-9_-]{1,64}$`: OpenAI's and Anthropic's tools.
    Tool,
    /// Gemini's functions: "Must start with a letter or an underscore. Must be alphameric,
    /// underscores, dots or dashes, with a maximum length of 64", as its error message says.
    Function,
    /// `^[a-zA-Z0-9_.-]{1,64}$`: property keys, as Anthropic's error message says.
    Key,
}

impl Rule {
    fn allows(self, letter: char) -> bool {
        letter.is_ascii_alphanumeric()
            || letter == '_'
            || letter == '-'
            || (letter == '.' && self != Self::Tool)
    }

    fn may_begin_with(self, letter: char) -> bool {
        self != Self::Function || letter.is_ascii_alphabetic() || letter == '_'
    }

    pub(crate) fn accepts(self, name: &str) -> bool {
        name.len() <= MAX_WIRE_NAME_LENGTH
            && name.chars().all(|letter| self.allows(letter))
            && name
                .chars()
                .next()
                .is_some_and(|first| self.may_begin_with(first))
    }

    /// Returns a name similar to `name` that the rule accepts; always the same for the same `name`.
    fn adapted(self, name: &str) -> String {
        let mut adapted: String = name
            .chars()
            .map(|letter| if self.allows(letter) { letter } else { '_' })
            .take(MAX_WIRE_NAME_LENGTH)
            .collect();
        if !adapted.chars().any(|letter| letter.is_ascii_alphanumeric()) {
            // Nothing of it is left, for example of a name in another script.
            return format!("{}_{}", self.noun(), mark(name));
        }
        if !adapted
            .chars()
            .next()
            .is_some_and(|first| self.may_begin_with(first))
        {
            adapted.insert(0, '_');
        }
        if adapted.len() > MAX_WIRE_NAME_LENGTH || name.chars().count() > MAX_WIRE_NAME_LENGTH {
            return marked(&adapted, name);
        }
        adapted
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Tool | Self::Function => "tool",
            Self::Key => "key",
        }
    }

    /// Returns a name for a tool that no longer exists but is named in an old conversation.
    pub(crate) fn stand_in(self, name: &str) -> String {
        self.adapted(name)
    }
}

fn mark(name: &str) -> String {
    let digest = Sha256::digest(name.as_bytes());
    let bytes = digest.iter().take(MARK_LENGTH / 2);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// Returns `adapted` with a suffix derived from `name`. Both are ASCII.
fn marked(adapted: &str, name: &str) -> String {
    let room = MAX_WIRE_NAME_LENGTH - MARK_LENGTH - 1;
    let kept = adapted.get(..room.min(adapted.len())).unwrap_or_default();
    format!("{kept}_{}", mark(name))
}

/// A one-to-one mapping between names and their wire names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Names {
    to_wire: HashMap<String, String>,
    to_original: HashMap<String, String>,
}

impl Names {
    /// Renames those of `names` that `rule` does not accept. The others stay unchanged, whatever
    /// the order.
    pub(crate) fn new<'a>(rule: Rule, names: impl Iterator<Item = &'a str> + Clone) -> Self {
        let mut taken: HashSet<String> = names
            .clone()
            .filter(|name| rule.accepts(name))
            .map(str::to_owned)
            .collect();
        let mut table = Self::default();
        for name in names.filter(|name| !rule.accepts(name)) {
            if table.to_wire.contains_key(name) {
                continue;
            }
            let mut wire = rule.adapted(name);
            let mut attempt = name.to_owned();
            while taken.contains(&wire) {
                wire = marked(&rule.adapted(name), &attempt);
                attempt.push('+');
            }
            taken.insert(wire.clone());
            table.to_original.insert(wire.clone(), name.to_owned());
            table.to_wire.insert(name.to_owned(), wire);
        }
        table
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.to_wire.is_empty()
    }

    /// Returns the wire's name for `name`.
    pub(crate) fn wire<'a>(&'a self, name: &'a str) -> &'a str {
        self.to_wire.get(name).map_or(name, String::as_str)
    }

    /// Returns the original of the wire name `name`.
    pub(crate) fn original<'a>(&'a self, name: &'a str) -> &'a str {
        self.to_original.get(name).map_or(name, String::as_str)
    }
}

/// The keys of one tool's properties. A key has the same wire name everywhere in the schema.
pub(crate) type Keys = Names;

/// Returns the keys of `schema` that have to be renamed.
pub(super) fn keys(schema: &Schema) -> Keys {
    let mut found = Vec::new();
    collect(schema, &mut found);
    Names::new(Rule::Key, found.iter().copied())
}

fn collect<'a>(schema: &'a Schema, found: &mut Vec<&'a str>) {
    for (name, property) in &schema.properties {
        found.push(name);
        collect(property, found);
    }
    found.extend(schema.required.iter().map(String::as_str));
    if let Some(items) = &schema.items {
        collect(items, found);
    }
    if let Additional::Of(further) = &schema.additional {
        collect(further, found);
    }
    for choice in &schema.any_of {
        collect(choice, found);
    }
}
