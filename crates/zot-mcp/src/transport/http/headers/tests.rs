use super::*;

#[test]
fn values_that_a_header_cannot_hold_are_encoded() {
    for (value, expected) in [
        ("us-west1", "us-west1"),
        ("us west 1", "us west 1"),
        ("", ""),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("\tindented", "=?base64?CWluZGVudGVk?="),
        ("a\tb", "=?base64?YQli?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("=?base64?open", "=?base64?open"),
    ] {
        assert_eq!(encoded(value), expected, "{value:?}");
    }
}

#[test]
fn headers_of_an_entry_are_checked_and_never_shown() {
    let headers = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
    let good = own_headers(&headers("X-Key", " secret ")).unwrap();
    assert_eq!(good.get("x-key").unwrap(), "secret");
    assert!(!format!("{good:?}").contains("secret"));
    for (name, value) in [
        ("a b", "x"),
        ("Host", "x"),
        ("x", "a\nb"),
        ("content-length", "1"),
    ] {
        assert!(own_headers(&headers(name, value)).is_err(), "{name}");
    }
}
