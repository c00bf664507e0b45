//! Puts arguments into a template.

/// Replaces `$1` … `$9`, `$@` and `$ARGUMENTS` in one pass: what an argument contains is text.
///
/// `\$1` stays `$1`, and so does everything that only looks like a place, `$10` for example. When
/// the template has no place for them, the arguments are added at its end.
pub(super) fn expand(body: &str, arguments: &str) -> String {
    let arguments = arguments.trim();
    let words = words(arguments);
    let mut expanded = String::with_capacity(body.len() + arguments.len());
    let mut rest = body;
    let mut used = false;
    while let Some(position) = rest.find('$') {
        let (before, from_dollar) = rest.split_at(position);
        let Some((place, length)) = place(from_dollar) else {
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
        match place {
            Place::All => expanded.push_str(arguments),
            Place::Word(number) => {
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

enum Place {
    All,
    /// Counted from 1.
    Word(usize),
}

/// The place that `text` begins with, and its length. `text` begins with `$`.
fn place(text: &str) -> Option<(Place, usize)> {
    const ALL: &str = "$ARGUMENTS";
    if text.starts_with("$@") {
        return Some((Place::All, 2));
    }
    if let Some(after) = text.strip_prefix(ALL) {
        let goes_on = after.starts_with(|next: char| next.is_alphanumeric() || next == '_');
        return (!goes_on).then_some((Place::All, ALL.len()));
    }
    let mut characters = text.chars().skip(1);
    let digit = characters.next()?.to_digit(10).filter(|digit| *digit > 0)?;
    let goes_on = characters.next().is_some_and(|next| next.is_ascii_digit());
    (!goes_on).then_some((Place::Word(digit as usize), 2))
}

/// The arguments one by one: separated by blanks, unless quotes keep them together.
fn words(arguments: &str) -> Vec<String> {
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
