//! Finds possible mentions of files in a prompt: `@src/main.rs`, `@"a b.txt"`.

#[cfg(test)]
mod tests;

/// The text after an `@` that begins a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention<'a> {
    /// The paths it may name, most likely first: a dot after a path may end the sentence or belong
    /// to it.
    pub candidates: Vec<&'a str>,
}

/// Returns the possible mentions in a text, in order. They need not exist.
pub fn mentions(text: &str) -> Vec<Mention<'_>> {
    let mut found = Vec::new();
    let mut before = None;
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let after = rest.get(character.len_utf8()..).unwrap_or_default();
        // An `@` inside a word belongs to an address, or to a decorator's neighbour.
        if character == '@' && before.is_none_or(begins_word) {
            let (mention, length) = mention(after);
            if let Some(mention) = mention {
                found.push(mention);
            }
            before = Some('@');
            rest = after.get(length..).unwrap_or_default();
            continue;
        }
        before = Some(character);
        rest = after;
    }
    found
}

fn begins_word(before: char) -> bool {
    before.is_whitespace() || "([{<,;\"'`".contains(before)
}

/// Parses the mention at the beginning of `text`, and returns how much of it was consumed.
fn mention(text: &str) -> (Option<Mention<'_>>, usize) {
    if let Some(quoted) = text.strip_prefix('"') {
        return match quoted.split_once('"') {
            Some((path, _)) if !path.is_empty() && !path.contains('\n') => {
                let mention = Mention {
                    candidates: vec![path],
                };
                (Some(mention), path.len() + 2)
            }
            _ => (None, 1),
        };
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let word = text.get(..end).unwrap_or_default();
    let mut candidates = Vec::new();
    let mut candidate = word;
    while !candidate.is_empty() {
        candidates.push(candidate);
        let shorter = candidate.strip_suffix(|last: char| ".,;:!?)]}>\"'`*".contains(last));
        candidate = shorter.unwrap_or_default();
    }
    match candidates.is_empty() {
        true => (None, end),
        false => (Some(Mention { candidates }), end),
    }
}
