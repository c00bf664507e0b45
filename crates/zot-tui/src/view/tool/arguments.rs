//! Reads single fields out of a JSON object that may not be complete yet.

use serde_json::Value;

/// The object, once it is complete.
fn complete(arguments: &str) -> Option<Value> {
    let may_be = arguments.trim_end().ends_with('}');
    may_be.then(|| serde_json::from_str(arguments).ok())?
}

/// The string called `name`, as far as it has come.
pub(super) fn field(arguments: &str, name: &str) -> Option<String> {
    match complete(arguments) {
        Some(object) => Some(object.get(name)?.as_str()?.to_owned()),
        None => partial_field(arguments, name),
    }
}

fn partial_field(arguments: &str, name: &str) -> Option<String> {
    let key = format!("\"{name}\"");
    let mut rest = arguments;
    loop {
        let at = rest.find(&key)?;
        rest = &rest[at + key.len()..];
        // The same word may be a value.
        if let Some(value) = rest.trim_start().strip_prefix(':') {
            let text = value.trim_start().strip_prefix('"')?;
            return Some(unescaped(text).0);
        }
    }
}

/// The replacements of an `edit`, as far as they have come.
pub(super) fn edits(arguments: &str) -> Vec<(String, String)> {
    let Some(object) = complete(arguments) else {
        return partial_edits(arguments);
    };
    let edits = object.get("edits").and_then(Value::as_array);
    let text = |edit: &Value, name: &str| Some(edit.get(name)?.as_str()?.to_owned());
    let pair = |edit| {
        let (old, new) = (text(edit, "oldText"), text(edit, "newText"));
        (old.unwrap_or_default(), new.unwrap_or_default())
    };
    edits.into_iter().flatten().map(pair).collect()
}

fn partial_edits(arguments: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = arguments;
    while let Some(at) = rest.find("\"oldText\"") {
        let part = &rest[at..];
        let end = part[1..]
            .find("\"oldText\"")
            .map_or(part.len(), |end| end + 1);
        let part = &part[..end];
        let old = partial_field(part, "oldText").unwrap_or_default();
        let new = partial_field(part, "newText").unwrap_or_default();
        found.push((old, new));
        rest = &rest[at + end..];
    }
    found
}

/// The text up to its closing quote, and whether that is there.
fn unescaped(text: &str) -> (String, bool) {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => return (plain, true),
            '\\' => match characters.next() {
                Some('n') => plain.push('\n'),
                Some('t') => plain.push('\t'),
                Some('r') => {}
                Some('u') => {
                    let digits: String = characters.by_ref().take(4).collect();
                    let code = u32::from_str_radix(&digits, 16).ok();
                    // Halves of a pair are left out: the whole call comes soon.
                    plain.extend(code.and_then(char::from_u32));
                }
                Some(other) => plain.push(other),
                None => break,
            },
            character => plain.push(character),
        }
    }
    (plain, false)
}
