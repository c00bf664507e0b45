use super::Address;

fn check(url: &str, host: Option<&str>, warnings: usize) {
    let address = Address::new(url.to_owned());
    assert_eq!(address.host.as_deref(), host, "{url}");
    assert_eq!(address.warnings.len(), warnings, "{url}: {address:?}");
}

#[test]
fn the_host_is_where_a_browser_would_go() {
    check("https://example.com/a?b=c", Some("example.com"), 0);
    check("HTTPS://Example.com:8443", Some("Example.com:8443"), 0);
    check("http://127.0.0.1:9000/x", Some("127.0.0.1:9000"), 0);
    check("http://[::1]:9000/x", Some("[::1]:9000"), 0);
    check("http://example.com", Some("example.com"), 1);
    check(
        "https://bank.example@evil.example/",
        Some("evil.example"),
        1,
    );
    check(
        "https://evil.example\\@bank.example/",
        Some("evil.example"),
        0,
    );
    check(
        "https://evil.example#@bank.example/",
        Some("evil.example"),
        0,
    );
    check("https://xn--pple-43d.com/", Some("xn--pple-43d.com"), 1);
    check("https://аpple.com/", Some("аpple.com"), 1);
    for other in [
        "",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://",
        "https://a b/",
    ] {
        check(other, None, 1);
    }
}
