//! Names of tools and keys of properties as a wire takes them, and the way back.

use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};

use super::schema::{Additional, Schema};

/// The longest name or key that every vendor takes.
///
/// Limit: a longer tool name or property key is shortened, with a hash at its end.
const MAX_WIRE_NAME_LENGTH: usize = 64;

/// The suffix that distinguishes two names that would be the same otherwise.
const MARK_LENGTH: usize = 8;

/// What a name may look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// `^[a-zA-Z0-9_-]{1,64}$`: OpenAI's and Anthropic's tools.
    Tool,
    /// Gemini's functions: "Must start with a letter or an underscore. Must be alphameric,
    /// underscores, dots or dashes, with a maximum length of 64", in the words of its refusal.
    Function,
    /// `^[a-zA-Z0-9_.-]{1,64}$`: property keys, in the words of Anthropic's refusal.
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

    /// A name like `name` that the rule accepts; the same for the same `name`, always.
    fn adapted(self, name: &str) -> String {
        let mut adapted: String = name
            .chars()
            .map(|letter| if self.allows(letter) { letter } else { '_' })
            .take(MAX_WIRE_NAME_LENGTH)
            .collect();
        if !adapted.chars().any(|letter| letter.is_ascii_alphanumeric()) {
            // Nothing of it is left, as with a name in another script.
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

    /// A name for one that is not in any table: a tool that is gone, in an old conversation.
    pub(crate) fn stand_in(self, name: &str) -> String {
        self.adapted(name)
    }
}

fn mark(name: &str) -> String {
    let digest = Sha256::digest(name.as_bytes());
    let bytes = digest.iter().take(MARK_LENGTH / 2);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// `adapted` with a mark that only `name` has. Both are ASCII.
fn marked(adapted: &str, name: &str) -> String {
    let room = MAX_WIRE_NAME_LENGTH - MARK_LENGTH - 1;
    let kept = adapted.get(..room.min(adapted.len())).unwrap_or_default();
    format!("{kept}_{}", mark(name))
}

/// Names and what they are called on a wire, one to one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Names {
    to_wire: HashMap<String, String>,
    to_true: HashMap<String, String>,
}

impl Names {
    /// Renames those of `names` that `rule` does not accept. The others keep theirs, whatever the
    /// order.
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
            table.to_true.insert(wire.clone(), name.to_owned());
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

    /// Returns the name that is `name` on the wire.
    pub(crate) fn original<'a>(&'a self, name: &'a str) -> &'a str {
        self.to_true.get(name).map_or(name, String::as_str)
    }
}

/// The keys of one tool's properties. A key is called the same wherever it is in the schema.
pub(crate) type Keys = Names;

/// The keys of `schema` that have to be renamed.
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
