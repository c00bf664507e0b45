//! The header `WWW-Authenticate` (RFC 9110 and RFC 6750).

/// What a server says with a refusal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    pub(super) resource_metadata: Option<String>,
    pub(super) scope: Option<String>,
    pub(super) error: Option<String>,
}

impl Challenge {
    /// Reads the parameters of the first `Bearer` challenge. What cannot be read is passed over.
    pub(super) fn parse(header: &str) -> Self {
        let mut challenge = Self::default();
        let mut rest = bearer_parameters(header);
        while let Some((name, value, after)) = parameter(rest) {
            rest = after;
            let field = match name.to_ascii_lowercase().as_str() {
                "resource_metadata" => &mut challenge.resource_metadata,
                "scope" => &mut challenge.scope,
                "error" => &mut challenge.error,
                _ => continue,
            };
            field.get_or_insert(value);
        }
        challenge.scope = challenge.scope.filter(|scope| !scope.trim().is_empty());
        challenge
    }
}

/// Returns what follows the scheme.
fn bearer_parameters(header: &str) -> &str {
    let lower = header.to_ascii_lowercase();
    let mut from = 0;
    while let Some(found) = lower.get(from..).and_then(|rest| rest.find("bearer")) {
        let start = from + found;
        let end = start + "bearer".len();
        let before = header.get(..start).unwrap_or_default().trim_end();
        let after = header.get(end..).unwrap_or_default();
        let is_scheme = (before.is_empty() || before.ends_with(','))
            && (after.is_empty() || after.starts_with(' '));
        if is_scheme {
            return after;
        }
        from = end;
    }
    ""
}

/// Splits off the next `name=value`; the value is a token or quoted.
fn parameter(text: &str) -> Option<(&str, String, &str)> {
    let text = text.trim_start_matches([' ', '\t', ',', '\r', '\n']);
    let (name, rest) = text.split_once('=')?;
    let name = name.trim();
    // Another scheme begins.
    if name.is_empty() || name.contains([' ', ',', '"']) {
        return None;
    }
    let rest = rest.trim_start();
    let Some(quoted) = rest.strip_prefix('"') else {
        let end = rest.find([',', ' ']).unwrap_or(rest.len());
        let (value, after) = rest.split_at(end);
        return Some((name, value.to_owned(), after));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => {
                let after = quoted.get(index + 1..).unwrap_or_default();
                return Some((name, value, after));
            }
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests;
