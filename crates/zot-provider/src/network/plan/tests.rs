use super::*;

fn plan(base_url: &str, variables: &[(&str, &str)]) -> Result<Plan, PlanError> {
    let network = NetworkSettings::read(&|name| {
        let found = variables.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| (*value).to_owned())
    });
    let endpoint = Endpoint {
        provider: "openai".to_owned(),
        base_url: base_url.to_owned(),
        api_key: Some("sk-secret-secret".into()),
    };
    Plan::new(&endpoint, Some("$OPENAI_API_KEY"), &network)
}

#[track_caller]
fn check(base_url: &str, variables: &[(&str, &str)], first_hop: (&str, u16), lines: &[&str]) {
    let plan = plan(base_url, variables).unwrap();
    assert_eq!(plan.first_hop(), first_hop);
    assert_eq!(plan.to_string().lines().collect::<Vec<_>>(), lines);
    assert!(!format!("{plan:?}").contains("secret"), "{plan:?}");
}

#[test]
fn a_server_on_the_internet() {
    check(
        "https://user:secret@api.openai.com/v1/",
        &[],
        ("api.openai.com", 443),
        &[
            "provider      openai (https://api.openai.com/v1)",
            "server        api.openai.com:443 (TLS)",
            "proxy         none",
            "certificates  the system's",
            "key           $OPENAI_API_KEY",
        ],
    );
}

#[test]
fn through_a_proxy_with_certificates_of_its_own() {
    check(
        "https://api.openai.com/v1",
        &[
            ("https_proxy", "http://me:secret@proxy.corp:3128"),
            ("SSL_CERT_FILE", "/etc/corp.pem"),
            ("ZOT_EXTRA_CA_CERTS", "/etc/more.pem"),
        ],
        ("proxy.corp", 3128),
        &[
            "provider      openai (https://api.openai.com/v1)",
            "server        api.openai.com:443 (TLS)",
            "proxy         http://proxy.corp:3128 (https_proxy, with credentials)",
            "certificates  /etc/corp.pem (SSL_CERT_FILE)",
            "certificates  public authorities, built in",
            "certificates  /etc/more.pem (ZOT_EXTRA_CA_CERTS)",
            "key           $OPENAI_API_KEY",
        ],
    );
}

#[test]
fn a_server_on_this_machine() {
    check(
        "http://[::1]:8080/v1",
        &[("ALL_PROXY", "http://proxy")],
        ("::1", 8080),
        &[
            "provider      openai (http://[::1]:8080/v1)",
            "server        ::1:8080 (not encrypted)",
            "proxy         none: a loopback address",
            "key           $OPENAI_API_KEY",
        ],
    );
}

#[test]
fn what_cannot_be_contacted() {
    let error = plan("api.openai.com", &[]).unwrap_err().to_string();
    assert!(
        error.contains("base URL") && error.contains("https://"),
        "{error}"
    );
    let error = plan("https://x", &[("HTTPS_PROXY", "socks5://p:secret@q")]).unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
}
