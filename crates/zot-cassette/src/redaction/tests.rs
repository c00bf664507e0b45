use super::{REDACTED, Redactor};

fn redactor() -> Redactor {
    let environment = [
        ("SERVICE_TOKEN", "canary-value-1"),
        ("service_password", "pass \"word\" \\1"),
        ("SHORT_KEY", "seven77"),
        ("HARMLESS", "not-a-secret-at-all"),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Redactor::new(Some("credential-of-the-user"), environment)
}

fn check(text: &str, expected: &str) {
    assert_eq!(redactor().apply(text), expected);
}

#[test]
fn values_of_the_environment_and_the_credential_go() {
    check("a canary-value-1b", "a [redacted]b");
    check("credential-of-the-user", REDACTED);
    check("seven77 not-a-secret-at-all", "seven77 not-a-secret-at-all");
    check("say pass \"word\" \\1!", "say [redacted]!");
    // The same inside JSON, and inside JSON inside JSON.
    check(r#"{"a":"pass \"word\" \\1"}"#, r#"{"a":"[redacted]"}"#);
    check(
        r#""{\"a\":\"pass \\\"word\\\" \\\\1\"}""#,
        r#""{\"a\":\"[redacted]\"}""#,
    );
}

#[test]
fn encoded_and_escaped_secrets_go() {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    let secret = "credential-of-the-user";
    let redactor = redactor();
    for before in ["", "a", "ab", "user:"] {
        for after in ["", "x", "xy"] {
            let plain = format!("{before}{secret}{after}");
            for encoded in [STANDARD.encode(&plain), URL_SAFE.encode(&plain)] {
                let shown = redactor.apply(&encoded).into_owned();
                assert!(shown.contains(REDACTED), "{plain}: {shown}");
                assert!(shown.len() < REDACTED.len() + 14, "{plain}: {shown}");
            }
        }
    }
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    check(&format!("0x{hex}"), "0x[redacted]");
    check(&hex.to_uppercase(), REDACTED);
    let percent: String = secret.bytes().map(|byte| format!("%{byte:02x}")).collect();
    check(&format!("a{percent}b"), "a[redacted]b");
    check("?k=credential%2Dof-the%2duser&b=%20", "?k=[redacted]&b=%20");
    let unicode: String = secret
        .chars()
        .map(|c| format!("\\u{:04x}", u32::from(c)))
        .collect();
    check(
        &format!("{{\"a\":\"{unicode}\"}}"),
        "{\"a\":\"[redacted]\"}",
    );
    check(&unicode.replace('\\', "\\\\"), REDACTED);
    check("credential\\x2dof-the-user", REDACTED);
    // Text that is not an escaped secret stays.
    for harmless in ["100% sure \\n \\u00e9 %zz %2", "\\", "%"] {
        check(harmless, harmless);
    }
}

#[test]
fn passwords_in_addresses_go() {
    let proxy = (
        "https_proxy".to_owned(),
        "http://me:let-me-in-please@host:1/x".to_owned(),
    );
    let redactor = Redactor::new(None, [proxy]);
    assert_eq!(redactor.apply("let-me-in-please"), REDACTED);
}

#[test]
fn keys_are_known_by_their_shape() {
    for key in [
        "sk-abcdefghijklmnop1234",
        "sk-ant-api03-abcdefghijklmnop-1234_5678",
        "AIzaSyA1234567890abcdefghijklmnopqrstuv",
        "ghp_abcdefghijklmnopqrst0123456789abcdef",
        "github_pat_11ABCDEFG0abcdefghijkl",
        "xoxb-123456789012-abcdef",
        "AKIAIOSFODNN7EXAMPLE",
    ] {
        check(&format!("key={key}, next"), "key=[redacted], next");
        check(
            &format!("{{\"a\":\"x\\n{key}\"}}"),
            "{\"a\":\"x\\n[redacted]\"}",
        );
        check(key, REDACTED);
    }
    check(
        "Authorization: Bearer abc.def-ghi_jkl=mno+pq/1\n",
        "Authorization: Bearer [redacted]\n",
    );
    for harmless in [
        "task-management-of-everything",
        "sk-short",
        "Bearer of news",
        "AKIAabc",
    ] {
        check(harmless, harmless);
    }
}

#[test]
fn private_keys_go_from_first_to_last_line() {
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----";
    check(
        &format!("before\n{key}\nafter"),
        "before\n[redacted]\nafter",
    );
    let json = serde_json::json!({"a": key, "b": 1}).to_string();
    check(&json, r#"{"a":"[redacted]","b":1}"#);
    let torn = r#"{"a":"-----BEGIN PRIVATE KEY-----\nMIIE\"","b":"x -----END PRIVATE KEY-----"}"#;
    check(
        torn,
        r#"{"a":"[redacted]\"","b":"x -----END PRIVATE KEY-----"}"#,
    );
    check(
        "-----BEGIN CERTIFICATE-----\nMIIE",
        "-----BEGIN CERTIFICATE-----\nMIIE",
    );
}

#[test]
fn what_was_redacted_holds_nothing_more() {
    let text = "sk-abcdefghijklmnop1234 Bearer canary-value-1canary-value-1 credential-of-the-user";
    let once = redactor().apply(text).into_owned();
    assert!(redactor().find(&once).is_empty(), "{once}");
}

#[test]
fn a_text_of_ones_own_may_be_short() {
    let mut redactor = redactor();
    redactor.add_text("Ann");
    redactor.add_text("");
    assert_eq!(redactor.apply("Ann met Bob"), "[redacted] met Bob");
}
