//! Expands the placeholders of a template.

/// Replaces `$1` … `$9`, `$@` and `$ARGUMENTS` in one pass: placeholders in arguments are not
/// expanded.
///
/// `\$1` becomes `$1`, and what only looks like a placeholder stays, `$10` for example. If the
/// template has no placeholder, the arguments are added at its end.
pub(super) fn expand(body: &str, arguments: &str) -> String {
    let arguments = arguments.trim();
    let words = split_words(arguments);
    let mut expanded = String::with_capacity(body.len() + arguments.len());
    let mut rest = body;
    let mut used = false;
    while let Some(position) = rest.find('$') {
        let (before, from_dollar) = rest.split_at(position);
        let Some((placeholder, length)) = placeholder(from_dollar) else {
            expanded.push_str(before);
            expanded.push('$');
            rest = from_dollar.get(1..).unwrap_or_default();
            continue;
        };
        let (written, after) = from_dollar.split_at(length);
        rest = after;
        if let Some(before) = before.strip_suffix('\\') {
            expanded.push_str(before);
            expanded.push_str(written);
            continue;
        }
        expanded.push_str(before);
        used = true;
        match placeholder {
            Placeholder::All => expanded.push_str(arguments),
            Placeholder::Word(number) => {
                if let Some(word) = words.get(number - 1) {
                    expanded.push_str(word);
                }
            }
        }
    }
    expanded.push_str(rest);
    if !used && !arguments.is_empty() {
        expanded.push_str("\n\n");
        expanded.push_str(arguments);
    }
    expanded
}

enum Placeholder {
    All,
    /// Counted from 1.
    Word(usize),
}

/// Returns the placeholder that `text` begins with, and its length. `text` begins with `$`.
fn placeholder(text: &str) -> Option<(Placeholder, usize)> {
    const ALL: &str = "$ARGUMENTS";
    if text.starts_with("$@") {
        return Some((Placeholder::All, 2));
    }
    if let Some(after) = text.strip_prefix(ALL) {
        let continues = after.starts_with(|next: char| next.is_alphanumeric() || next == '_');
        return (!continues).then_some((Placeholder::All, ALL.len()));
    }
    let mut characters = text.chars().skip(1);
    let digit = characters.next()?.to_digit(10).filter(|digit| *digit > 0)?;
    let continues = characters.next().is_some_and(|next| next.is_ascii_digit());
    (!continues).then_some((Placeholder::Word(digit as usize), 2))
}

/// Splits the arguments at blanks outside of quotes.
pub fn split_words(arguments: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in arguments.chars() {
        match quote {
            Some(open) if character == open => quote = None,
            Some(_) => word.get_or_insert_default().push(character),
            None if character == '"' || character == '\'' && word.is_none() => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            None if character.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests;
