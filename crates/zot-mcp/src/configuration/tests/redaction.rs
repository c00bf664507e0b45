use std::collections::BTreeMap;

use super::super::redaction::{target, url, value};
use crate::entry::Address;

fn command_line(words: &[&str]) -> String {
    target(&Address::Stdio {
        command: words[0].to_owned(),
        args: words[1..].iter().map(|word| (*word).to_owned()).collect(),
        env: BTreeMap::new(),
        cwd: None,
    })
}

#[test]
fn a_url_is_shown_without_user_query_and_keys() {
    for (text, expected) in [
        ("https://a.example/mcp", "https://a.example/mcp"),
        (
            "https://me:pw@a.example:8080/mcp?key=abc#x",
            "https://…@a.example:8080/mcp?…",
        ),
        ("https://a.example?token=abc", "https://a.example?…"),
        (
            "https://a.example/sk-0123456789abcdef/mcp",
            "https://a.example/…/mcp",
        ),
        ("https://a.example/u@v", "https://a.example/u@v"),
        ("${URL}", "${URL}"),
    ] {
        assert_eq!(url(text), expected);
    }
}

#[test]
fn a_value_is_shown_only_as_a_reference() {
    for (text, expected) in [
        ("secret", "…"),
        ("${TOKEN}", "${TOKEN}"),
        ("Bearer ${TOKEN}", "Bearer ${TOKEN}"),
        ("Bearer secret", "…"),
        ("${TOKEN:-secret}", "${TOKEN:-…}"),
        ("secret${A}secret", "…${A}…"),
        ("", ""),
    ] {
        assert_eq!(value(text), expected);
    }
}

#[test]
fn arguments_are_shown_without_secrets() {
    for (words, expected) in [
        (
            &["npx", "-y", "server", "/my dir"][..],
            "npx -y server '/my dir'",
        ),
        (&["x", "--api-key", "secret", "rest"], "x --api-key … rest"),
        (&["x", "--api-key", "--verbose"], "x --api-key --verbose"),
        (
            &["x", "--token=secret", "--port=80"],
            "x --token=… --port=80",
        ),
        (&["x", "--token", "${TOKEN}"], "x --token ${TOKEN}"),
        (
            &[
                "docker",
                "run",
                "-e",
                "GITHUB_TOKEN=secret",
                "-e",
                "GITHUB_TOKEN",
            ],
            "docker run -e GITHUB_TOKEN=… -e GITHUB_TOKEN",
        ),
        (
            &[
                "npx",
                "mcp-remote",
                "https://me:pw@x/?k=v",
                "--header",
                "X-Thing: secret",
            ],
            "npx mcp-remote https://…@x/?… --header …",
        ),
        (&["x", "Authorization: Bearer secret"], "x …"),
        (&["x", "ghp_0123456789abcdef"], "x …"),
        (
            &["pg", "postgresql://me:pw@host/db"],
            "pg postgresql://…@host/db",
        ),
        (&["x", "--url=https://me:pw@host"], "x --url=https://…@host"),
    ] {
        assert_eq!(command_line(words), expected);
    }
}

#[test]
fn debug_output_has_no_secrets() {
    let shown = format!(
        "{:?}",
        Address::Http {
            url: "https://me:secret@x/?secret".to_owned(),
            headers: BTreeMap::from([("A".to_owned(), "secret".to_owned())]),
        }
    );
    assert!(
        !shown.contains("secret") && shown.contains("\"A\""),
        "{shown}"
    );
    let oauth = crate::entry::OAuthSettings {
        client_secret: Some("secret!".to_owned()),
        ..Default::default()
    };
    assert!(!format!("{oauth:?}").contains("secret!"));
}
