use super::*;

fn settings(variables: &[(&str, &str)]) -> NetworkSettings {
    NetworkSettings::read(&|name| {
        let found = variables.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

/// The way to `target` in a few words.
fn route(variables: &[(&str, &str)], target: &str) -> String {
    match settings(variables).route(&target.parse().unwrap()) {
        Ok(Route::Direct(None)) => "direct".to_owned(),
        Ok(Route::Direct(Some(bypass))) => format!("direct, {bypass}"),
        Ok(Route::Through(proxy)) => format!("{} by {}", proxy.shown(), proxy.variable),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_variable_of_the_scheme_decides() {
    let both = [("HTTP_PROXY", "http://a:1"), ("https_proxy", "b:2")];
    assert_eq!(route(&both, "http://x/"), "http://a:1 by HTTP_PROXY");
    assert_eq!(route(&both, "https://x/"), "http://b:2 by https_proxy");
    let all = [("all_proxy", "https://c"), ("HTTPS_PROXY", "")];
    assert_eq!(route(&all, "https://x/"), "https://c by all_proxy");
    assert_eq!(route(&[], "https://x/"), "direct");
    let upper = [("HTTPS_PROXY", "http://a"), ("https_proxy", "http://b")];
    assert_eq!(route(&upper, "https://x/"), "http://a by HTTPS_PROXY");
}

#[test]
fn some_hosts_are_reached_directly() {
    let set = [
        ("ALL_PROXY", "http://p"),
        ("NO_PROXY", "corp.example, 10.0.0.0/8"),
    ];
    for host in ["corp.example", "api.corp.example", "10.1.2.3"] {
        let target = format!("https://{host}:8443/");
        assert_eq!(route(&set, &target), "direct, excluded by NO_PROXY");
    }
    assert_eq!(
        route(&set, "https://notcorp.example/"),
        "http://p by ALL_PROXY"
    );
    for host in ["localhost", "127.0.0.1", "127.9.9.9", "[::1]"] {
        let target = format!("http://{host}:1/");
        assert_eq!(route(&set, &target), "direct, a loopback address");
    }
    let nowhere = [("ALL_PROXY", "http://p"), ("no_proxy", "*")];
    assert_eq!(
        route(&nowhere, "https://x/"),
        "direct, excluded by no_proxy"
    );
}

#[test]
fn a_proxy_that_cannot_be_used_is_an_error_without_its_password() {
    for value in [
        "http://user:s3cret@",
        "ftp://user:s3cret@host",
        "http:// user:s3cret",
    ] {
        let text = route(&[("HTTPS_PROXY", value)], "https://x/");
        assert!(text.starts_with("HTTPS_PROXY is not the address"), "{text}");
        assert!(!text.contains("s3cret"), "{text}");
    }
    let text = route(&[("ALL_PROXY", "socks5://u:s3cret@h:1")], "http://x/");
    assert!(
        text.contains("socks5") && !text.contains("s3cret"),
        "{text}"
    );
}

#[test]
fn credentials_are_taken_from_the_address_and_not_shown() {
    let set = settings(&[("HTTP_PROXY", "http://us%40er:p%3Ass@proxy:3128")]);
    let Ok(Route::Through(proxy)) = set.route(&"http://x/".parse().unwrap()) else {
        panic!("a proxy");
    };
    assert_eq!(proxy.shown(), "http://proxy:3128");
    let authorization = proxy.authorization.unwrap();
    // us@er:p:ss
    assert_eq!(authorization, "Basic dXNAZXI6cDpzcw==");
    assert!(authorization.is_sensitive());
}

#[test]
fn a_stranger_cannot_set_the_proxy_of_a_cgi_program() {
    let cgi = [("REQUEST_METHOD", "GET"), ("HTTP_PROXY", "http://evil")];
    assert_eq!(route(&cgi, "http://x/"), "direct");
}
