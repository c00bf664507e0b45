//! Reads single fields out of a JSON object that may not be complete yet.

/// The string called `name`, as far as it has come.
pub(super) fn field(arguments: &str, name: &str) -> Option<String> {
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
    let mut found = Vec::new();
    let mut rest = arguments;
    while let Some(at) = rest.find("\"oldText\"") {
        let part = &rest[at..];
        let end = part[1..]
            .find("\"oldText\"")
            .map_or(part.len(), |end| end + 1);
        let part = &part[..end];
        let old = field(part, "oldText").unwrap_or_default();
        let new = field(part, "newText").unwrap_or_default();
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
