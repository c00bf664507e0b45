use super::Format;

fn check(format: Format, good: &[&str], bad: &[&str]) {
    for text in good {
        assert!(format.matches(text), "{text} is {}", format.expected());
    }
    for text in bad {
        assert!(!format.matches(text), "{text} is not {}", format.expected());
    }
}

#[test]
fn obvious_mistakes_are_found() {
    check(
        Format::Email,
        &["a@b", "first.last+tag@example.co.uk", "ü@example.com"],
        &["", "a", "@b", "a@", "a b@c"],
    );
    check(
        Format::Uri,
        &["https://example.com/a?b#c", "mailto:a@b", "urn:isbn:1"],
        &["", "example.com", "https:", "1x:y", "http://a b"],
    );
    check(
        Format::Date,
        &["2026-01-31", "2024-02-29", "2000-02-29"],
        &[
            "2026-02-29",
            "1900-02-29",
            "2026-13-01",
            "2026-1-1",
            "2026-04-31",
            "2026-00-10",
            "x",
        ],
    );
    check(
        Format::DateTime,
        &[
            "2026-01-31T18:30:00Z",
            "2026-01-31t18:30:00.25+01:00",
            "2026-01-31 00:00:60z",
        ],
        &[
            "2026-01-31",
            "2026-01-31T18:30Z",
            "2026-01-31T18:30:00",
            "2026-01-31T24:00:00Z",
            "2026-01-31T18:30:00+1",
            "2026-01-31Tüüüü",
        ],
    );
}
