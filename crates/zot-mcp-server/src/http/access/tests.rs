use super::{bearer, is_local, is_local_origin};

#[test]
fn only_names_of_this_machine_are_local() {
    for name in [
        "localhost",
        "LOCALHOST",
        "127.0.0.1",
        "127.1.2.3",
        "::1",
        "[::1]",
    ] {
        assert!(is_local(name), "{name}");
    }
    for name in [
        "",
        "localhost.example",
        "example",
        "0.0.0.0",
        "10.0.0.1",
        "[::]",
        "[fe80::1]",
    ] {
        assert!(!is_local(name), "{name}");
    }
}

#[test]
fn only_pages_of_this_machine_are_allowed() {
    for origin in [
        "http://localhost",
        "http://localhost:3000",
        "https://127.0.0.1:1",
        "http://[::1]:2",
    ] {
        assert!(is_local_origin(origin), "{origin}");
    }
    for origin in [
        "",
        "null",
        "localhost",
        "file://",
        "ftp://localhost",
        "http://evil.example",
        "http://localhost.evil.example",
        "http://localhost@evil.example",
    ] {
        assert!(!is_local_origin(origin), "{origin}");
    }
}

#[test]
fn a_token_needs_its_scheme() {
    assert_eq!(bearer("Bearer abc"), Some("abc"));
    assert_eq!(bearer("bearer  abc"), Some("abc"));
    assert_eq!(bearer("Basic abc"), None);
    assert_eq!(bearer("abc"), None);
}
