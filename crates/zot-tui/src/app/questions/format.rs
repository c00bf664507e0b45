//! The formats that a text in a form may have to have.
//!
//! Only obvious mistakes are refused: the server checks the value again.

#[cfg(test)]
mod tests;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Email,
    Uri,
    Date,
    DateTime,
}

impl Format {
    /// Returns the format with this name in a JSON Schema, if it is checked.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "email" => Self::Email,
            "uri" => Self::Uri,
            "date" => Self::Date,
            "date-time" => Self::DateTime,
            _ => return None,
        })
    }

    /// Describes what is expected.
    pub(super) fn expected(self) -> &'static str {
        match self {
            Self::Email => "an email address",
            Self::Uri => "an address such as https://example.com",
            Self::Date => "a date such as 2026-01-31",
            Self::DateTime => "a time such as 2026-01-31T18:30:00Z",
        }
    }

    pub(super) fn matches(self, text: &str) -> bool {
        match self {
            Self::Email => is_email(text),
            Self::Uri => is_uri(text),
            Self::Date => is_date(text),
            Self::DateTime => is_date_time(text),
        }
    }
}

fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    !local.is_empty() && !domain.is_empty() && !text.contains(char::is_whitespace)
}

fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_scheme && !rest.is_empty() && !text.contains(char::is_whitespace)
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2))
    else {
        return false;
    };
    (1..=days(year, month)).contains(&day)
}

/// Returns how many days a month has; none if there is no such month.
fn days(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        1..=12 => 31,
        _ => 0,
    }
}

fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else {
        return false;
    };
    let Some(clock) = time.get(..8) else {
        return false;
    };
    let zone = time.get(8..).unwrap_or_default();
    // A fraction of a second may follow.
    let zone = match zone.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => zone,
    };
    is_date(date) && is_clock(clock) && is_zone(zone)
}

fn is_clock(text: &str) -> bool {
    let parts: Vec<Option<u32>> = text.split(':').map(|part| digits(part, 2)).collect();
    matches!(parts.as_slice(), [Some(..24), Some(..60), Some(..=60)])
}

fn is_zone(text: &str) -> bool {
    if text.eq_ignore_ascii_case("z") {
        return true;
    }
    let offset = text.strip_prefix(['+', '-']).unwrap_or_default();
    let parts: Vec<Option<u32>> = offset.split(':').map(|part| digits(part, 2)).collect();
    matches!(parts.as_slice(), [Some(..24), Some(..60)])
}

/// Parses exactly `count` digits.
fn digits(text: &str, count: usize) -> Option<u32> {
    let is_number = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}
