use super::*;

#[test]
fn references_are_resolved_against_their_document() {
    let base = parse("https://Example.com:443/a/sse?x=1").unwrap();
    for (reference, expected) in [
        ("/messages?id=1", "https://example.com/messages?id=1"),
        ("messages?id=1", "https://example.com/a/messages?id=1"),
        ("?id=1", "https://example.com/a/sse?id=1"),
        ("", "https://example.com/a/sse"),
        ("//other.test/x", "https://other.test/x"),
        ("http://other.test/x", "http://other.test/x"),
    ] {
        assert_eq!(resolve(&base, reference).unwrap().to_string(), expected);
    }
    for reference in ["ftp://x/y", "javascript://x", "https:///x"] {
        assert!(resolve(&base, reference).is_err(), "{reference}");
    }
}

#[test]
fn origins_and_loopback() {
    for (text, expected) in [
        ("http://A.test:80/x", "http://a.test"),
        ("http://a.test:443/x", "http://a.test:443"),
        ("https://[::1]:8443", "https://[::1]:8443"),
    ] {
        assert_eq!(origin(&parse(text).unwrap()), expected);
    }
    for (text, expected) in [
        ("http://127.0.0.1:1/x", true),
        ("http://[::1]/", true),
        ("http://LOCALHOST/", true),
        ("http://localhost.evil.test/", false),
        ("http://10.0.0.1/", false),
    ] {
        assert_eq!(is_loopback(&parse(text).unwrap()), expected, "{text}");
    }
}

#[test]
fn an_address_that_cannot_be_used_is_named_without_its_secrets() {
    for (text, expected) in [
        (
            "ftp://me:hunter2@a.test/x?key=hunter2",
            "ftp://…@a.test/x?…",
        ),
        ("https://a.test/x?key=hunter2#x", "https://a.test/x?…"),
        ("a.test/x?key=hunter2", "a.test/x?…"),
        ("me:hunter2@a.test/x", "…@a.test/x"),
    ] {
        assert_eq!(parse(text).unwrap_err().0, expected);
    }
}
