//! Keys: pasted into a page, piped in, refused, shown masked, removed.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use testkit::PATIENCE;

use super::{auth_file, place, printed_address, zot};
use crate::support::website::{Website, browse};

const GOOD: &str = "sk-good-0123456789abcdef";

/// Returns a provider that accepts one key.
fn provider() -> Website {
    Website::start(|asked| match asked.headers.get("authorization") {
        Some(key) if key == &format!("Bearer {GOOD}") && asked.target == "/v1/models" => (
            200,
            r#"{"data":[{"id":"gpt-5"},{"id":"gpt-99-live"}]}"#.to_owned(),
        ),
        _ => (401, "{}".to_owned()),
    })
}

fn redirected(provider: &Website) -> Value {
    json!({"providers": {"openai": {"baseUrl": format!("{}/v1", provider.url())}}})
}

#[test]
fn a_key_is_pasted_checked_and_stored() {
    let provider = provider();
    let workdir = place(&redirected(&provider));
    let login = zot(&workdir, &["login", "openai"]).spawn();
    let page = printed_address(&login, "Paste the key at ");
    assert!(browse(&page, None).contains("<b>openai</b>"));
    let refused = browse(&page, Some("key=sk-wrong"));
    assert!(
        refused.contains("openai refuses the key (http 401)"),
        "{refused}"
    );
    assert_eq!(auth_file(&workdir), json!({}));
    let kept = browse(&page, Some(&format!("key={GOOD}")));
    assert!(kept.contains("it works, 2 models"), "{kept}");
    let ended = login.wait(PATIENCE);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stdout.contains("openai key …cdef"),
        "{}",
        ended.stdout
    );
    assert!(!ended.stdout.contains(GOOD));
    let path = workdir.zot_home().join("auth.json");
    assert_eq!(
        fs::metadata(path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(auth_file(&workdir)["openai"]["api_key"], GOOD);
    assert_eq!(provider.asked().len(), 2, "tried once each");
}

#[test]
fn a_key_may_be_piped_in() {
    let provider = provider();
    let workdir = place(&redirected(&provider));
    let login = |key: &str, more: &[&str]| {
        zot(&workdir, &["login", "openai", "--stdin"])
            .arguments(more)
            .run(key)
    };
    let refused = login("sk-wrong\n", &[]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("refuses the key"),
        "{}",
        refused.stderr
    );
    assert_eq!(login("\n", &[]).code, Some(2));
    assert_eq!(auth_file(&workdir), json!({}));
    let kept = login(&format!(" {GOOD}\n"), &[]);
    assert_eq!(kept.code, Some(0), "{}", kept.stderr);

    // Entries of other providers stay; with --no-probe nobody is asked.
    drop(provider);
    let away = login("sk-other-0123456789abcdef", &[]);
    assert_eq!(away.code, Some(1));
    assert!(away.stderr.contains("--no-probe"), "{}", away.stderr);
    assert_eq!(
        login("sk-other-0123456789abcdef", &["--no-probe"]).code,
        Some(0)
    );
    assert_eq!(
        auth_file(&workdir)["openai"]["api_key"],
        "sk-other-0123456789abcdef"
    );
    for wrong in [
        &["login", "opnai", "--stdin"][..],
        &["login", "--stdin"],
        &["login", "openai", "--device"],
    ] {
        let run = zot(&workdir, wrong).run("k");
        assert_eq!(run.code, Some(2), "{wrong:?}: {}", run.stderr);
    }
}

#[test]
fn credentials_are_shown_masked_and_can_be_removed() {
    let workdir = place(&json!({"providers": {}}));
    let none = zot(&workdir, &["auth", "status"]).run("");
    assert_eq!(
        (none.code, none.stdout.contains("zot login")),
        (Some(1), true)
    );
    for provider in ["openai", "groq"] {
        let run = zot(&workdir, &["login", provider, "--stdin", "--no-probe"]).run(GOOD);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    let status = zot(&workdir, &["auth", "status", "--json"])
        .env("ANTHROPIC_API_KEY", "sk-ant-0123456789")
        .run("");
    let shown: Value = serde_json::from_str(&status.stdout).unwrap();
    let path = workdir.zot_home().join("auth.json");
    assert_eq!(
        shown["credentials"],
        json!([
            {"provider": "anthropic", "kind": "api_key", "source": "$ANTHROPIC_API_KEY", "shown": "…6789", "expires_at": null},
            {"provider": "groq", "kind": "api_key", "source": path, "shown": "…cdef", "expires_at": null},
            {"provider": "openai", "kind": "api_key", "source": path, "shown": "…cdef", "expires_at": null},
        ])
    );
    assert_eq!(zot(&workdir, &["logout"]).run("").code, Some(2));
    let unknown = zot(&workdir, &["logout", "opena"]).run("");
    assert_eq!(unknown.code, Some(2), "{}", unknown.stdout);
    assert!(
        unknown.stderr.contains("unknown provider"),
        "{}",
        unknown.stderr
    );
    let gone = zot(&workdir, &["logout", "openai"])
        .env("OPENAI_API_KEY", "sk-x")
        .run("");
    assert!(
        gone.stdout.contains("$OPENAI_API_KEY still has one"),
        "{}",
        gone.stdout
    );
    assert_eq!(zot(&workdir, &["logout", "--all"]).run("").code, Some(0));
    assert_eq!(auth_file(&workdir), json!({}));
}
