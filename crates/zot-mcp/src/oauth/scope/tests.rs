use super::*;

fn texts(words: &str) -> Vec<String> {
    split(words)
}

#[test]
fn scopes_come_from_the_first_source_that_names_any() {
    // challenged, before, configured, the resource's, the authorisation server's; what is asked for
    for (challenged, before, configured, resource, server, expected) in [
        (Some("a"), "", "", Some("x y"), None, "a"),
        (None, "", "", Some("x y"), None, "x y"),
        (None, "", "", None, None, ""),
        (None, "", "c", Some("x y"), None, "c"),
        (Some("a"), "", "c", Some("x"), None, "a c"),
        (Some("b"), "a", "", Some("x"), None, "a b"),
        (None, "a", "", Some("x"), None, "a"),
        (
            Some("a"),
            "",
            "",
            None,
            Some("offline_access z"),
            "a offline_access",
        ),
        (None, "", "", None, Some("offline_access"), ""),
        (
            Some("a offline_access"),
            "a",
            "",
            None,
            Some("offline_access"),
            "a offline_access",
        ),
    ] {
        let sources = Sources {
            challenged,
            before: &texts(before),
            configured: &texts(configured),
            resource: &ProtectedResource {
                scopes_supported: resource.map(texts),
                ..ProtectedResource::default()
            },
            server: &AuthorizationServer {
                scopes_supported: server.map(texts),
                ..AuthorizationServer::default()
            },
        };
        assert_eq!(
            choose(&sources),
            texts(expected),
            "{challenged:?} {before} {configured}"
        );
    }
}
