//! `auth.json` of the original: usable entries are used, and nothing is lost.

use serde_json::{Value, json};
use testkit::{ModelServer, Wire};

use super::Home;
use crate::support::website::Website;
use crate::terminal::Terminal;

#[test]
fn a_login_that_cannot_be_renewed_is_explained_and_others_work() {
    let home = Home::new();
    for arguments in [
        &["-p", "--provider", "anthropic", "hi"][..],
        &["--json", "--provider", "anthropic", "hi"],
        &["rpc", "--provider", "anthropic"],
    ] {
        let run = home.run(arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains("zot login anthropic"), "{}", run.stderr);
        assert!(!run.stderr.contains("fixture-access"), "{}", run.stderr);
    }
    // Without a chosen provider, a warning explains why another one is used.
    let run = home.run(&["-p", "--no-session", "say:1"]);
    assert_eq!(run.stdout, "alpha \n", "{}", run.stderr);
    assert!(
        run.stderr.contains("openai is used instead"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("zot login anthropic"), "{}", run.stderr);
    // A variable overrides the entry.
    let run = home
        .zot(&["doctor", "--provider", "anthropic"])
        .env("ANTHROPIC_API_KEY", "sk-env")
        .run("");
    assert!(
        run.stdout.contains("key from $ANTHROPIC_API_KEY"),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("cannot renew"), "{}", run.stdout);
    // A broken entry is reported only if its provider is used.
    let run = home.run(&["-p", "--provider", "gemini", "hi"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains("the entry for gemini"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_chat_starts_without_a_usable_login_and_says_what_to_do() {
    let terminal = Terminal::open_prepared("", "--provider anthropic", super::install);
    terminal.wait_for("/login anthropic");
    terminal.type_line("list the files");
    terminal.wait_for("a.txt");
}

#[test]
fn logging_in_and_out_keeps_unknown_entries() {
    let home = Home::new();
    let before: Value = serde_json::from_str(&home.file("auth.json")).unwrap();
    let login = home
        .zot(&["login", "anthropic", "--stdin", "--no-probe"])
        .run("sk-new\n");
    assert_eq!(login.code, Some(0), "{}", login.stderr);
    let mut expected = before.clone();
    expected["anthropic"]["type"] = json!("api_key");
    expected["anthropic"]["api_key"] = json!("sk-new");
    let after: Value = serde_json::from_str(&home.file("auth.json")).unwrap();
    assert_eq!(after, expected);
    let shown = home.run(&["doctor", "--provider", "anthropic"]);
    assert!(!shown.stdout.contains("cannot renew"), "{}", shown.stdout);

    for provider in ["anthropic", "groq"] {
        let logout = home.run(&["logout", provider]);
        assert_eq!(logout.code, Some(0), "{}", logout.stderr);
    }
    let after = home.file("auth.json");
    let order = ["openai", "sk-fixture-openai", "kimi", "google", "5"];
    let places = order.map(|part| after.find(part));
    assert!(places.iter().all(Option::is_some), "{after}");
    assert!(places.is_sorted(), "{after}");
    assert!(
        !after.contains("groq") && !after.contains("anthropic"),
        "{after}"
    );
}

#[test]
fn a_broken_file_does_not_affect_other_credentials() {
    let home = Home::new();
    home.write("auth.json", "not json {");
    let refused = home.run(&["-p", "--no-session", "say:1"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused
            .stderr
            .contains("is not a JSON object of providers (line 1"),
        "{}",
        refused.stderr
    );
    for (arguments, variable) in [
        (&["-p", "--no-session", "say:1"][..], "sk-env"),
        (
            &[
                "-p",
                "--no-session",
                "--provider",
                "openai",
                "--api-key",
                "k",
                "say:1",
            ],
            "",
        ),
        (&["-p", "--no-session", "--provider", "offline", "hi"], ""),
    ] {
        let run = home.zot(arguments).env("OPENAI_API_KEY", variable).run("");
        assert_eq!(run.code, Some(0), "{arguments:?}: {}", run.stderr);
    }
    let status = home
        .zot(&["auth", "status"])
        .env("OPENAI_API_KEY", "sk-env")
        .run("");
    assert_eq!(status.code, Some(2));
    assert!(
        status.stdout.contains("$OPENAI_API_KEY"),
        "{}",
        status.stdout
    );
    assert!(status.stderr.contains("auth.json"), "{}", status.stderr);
    let login = home
        .zot(&["login", "openai", "--stdin", "--no-probe"])
        .run("sk-new\n");
    assert_ne!(login.code, Some(0));
    assert_eq!(
        home.file("auth.json"),
        "not json {",
        "it is not overwritten"
    );
}

/// A login that can be renewed with `providers.json` is used, and stays usable for the original.
#[test]
fn a_login_of_the_original_is_renewed_in_its_format() {
    let logins = Website::start(|asked| match asked.target.as_str() {
        "/token" => (
            200,
            json!({"access_token": "renewed", "refresh_token": "next", "expires_in": 3600})
                .to_string(),
        ),
        _ => (404, String::new()),
    });
    let models = ModelServer::start();
    let home = Home::new();
    let providers = json!({"providers": {"anthropic": {
        "wire": "anthropic",
        "baseUrl": models.url(Wire::Anthropic),
        "defaultModel": "claude-sonnet-4-5",
        "oauth": {
            "clientId": "client-of-mine",
            "authorizeUrl": format!("{}/authorize", logins.url()),
            "tokenUrl": format!("{}/token", logins.url()),
        },
    }}});
    home.write("providers.json", &providers.to_string());
    let run = home.run(&["-p", "--no-session", "--provider", "anthropic", "say:1"]);
    assert_eq!(run.stdout, "alpha \n", "{}", run.stderr);
    let sent = models.requests();
    assert_eq!(sent[0].headers["authorization"], "Bearer renewed");
    let asked = logins.asked();
    assert!(
        asked[0]
            .body
            .contains("refresh_token=sk-ant-ort01-fixture-refresh"),
        "{asked:?}"
    );
    let after: Value = serde_json::from_str(&home.file("auth.json")).unwrap();
    let login = &after["anthropic"]["oauth"];
    assert_eq!(login["access_token"], "renewed");
    assert_eq!(login["refresh_token"], "next");
    assert_eq!(login["scope"], "user:profile user:inference");
    assert_ne!(login["expiry"], "2026-05-11T17:12:33.123456789+02:00");
    assert_eq!(after["google"], 5);
}
