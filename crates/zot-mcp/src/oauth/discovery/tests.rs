use super::*;

#[test]
fn metadata_is_looked_for_in_a_fixed_order() {
    assert_eq!(
        metadata_urls("https://a.test").unwrap(),
        [
            "https://a.test/.well-known/oauth-authorization-server",
            "https://a.test/.well-known/openid-configuration",
        ]
    );
    assert_eq!(
        metadata_urls("https://a.test/tenant1/").unwrap(),
        [
            "https://a.test/.well-known/oauth-authorization-server/tenant1",
            "https://a.test/.well-known/openid-configuration/tenant1",
            "https://a.test/tenant1/.well-known/openid-configuration",
        ]
    );
    for insecure in [
        "http://a.test",
        "ftp://a.test",
        "a.test",
        "https://a.test#x",
    ] {
        assert!(metadata_urls(insecure).is_err(), "{insecure}");
    }
    assert!(metadata_urls("http://127.0.0.1:9").is_ok());
}

#[test]
fn a_server_may_only_describe_itself() {
    let server = address::parse("https://a.test/team/mcp?x=1").unwrap();
    for (resource, is_own) in [
        ("https://a.test/team/mcp", true),
        ("https://A.test:443/team/mcp?x=1", true),
        ("https://a.test/team", true),
        ("https://a.test/", true),
        ("https://a.test", true),
        ("https://a.test/team/mcp?x=2", false),
        ("https://a.test/team/mcp/more", false),
        ("https://a.test/tea", false),
        ("https://b.test/team/mcp", false),
        ("http://a.test/team/mcp", false),
        ("https://a.test.evil.test/", false),
        ("", false),
    ] {
        assert_eq!(
            check_resource(&server, resource).is_ok(),
            is_own,
            "{resource}"
        );
    }
    assert_eq!(canonical(&server), "https://a.test/team/mcp?x=1");
    let bare = address::parse("HTTPS://A.test:443/").unwrap();
    assert_eq!(canonical(&bare), "https://a.test");
}
