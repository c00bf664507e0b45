//! Logins: a browser, a code, and renewal, against a scripted provider.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use testkit::{ModelServer, PATIENCE, Wire, Workdir};

use super::{auth_file, place, printed_address, zot};
use crate::support::website::{Asked, Website, browse};

/// A provider `company` whose models are at `models` and whose logins are at `logins`.
fn company(logins: &Website, models: &str, wire: &str) -> Workdir {
    let at = |path: &str| format!("{}{path}", logins.url());
    place(&json!({"providers": {"company": {
        "wire": wire,
        "baseUrl": models,
        "defaultModel": "gpt-4o",
        "oauth": {
            "clientId": "client-of-mine",
            "authorizeUrl": at("/authorize"),
            "tokenUrl": at("/token"),
            "deviceUrl": at("/device"),
            "scopes": ["models", "offline access"],
            "parameters": {"audience": "api"},
        },
    }}}))
}

fn field(text: &str, name: &str) -> Option<String> {
    let mut fields = text
        .split(['?', '&'])
        .filter_map(|field| field.split_once('='));
    fields
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.to_owned())
}

fn tokens(name: &str, lasts: u64) -> String {
    json!({"access_token": name, "refresh_token": format!("{name}-refresh"), "expires_in": lasts})
        .to_string()
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

#[test]
fn a_browser_returns_the_code_and_the_login_is_used() {
    let logins = Website::start(|asked| match asked.target.as_str() {
        "/token" => (200, tokens("first-access-token", 3600)),
        _ => (404, String::new()),
    });
    let models = ModelServer::start();
    let workdir = company(&logins, &models.url(Wire::Anthropic), "anthropic");
    let login = zot(&workdir, &["login", "company"]).spawn();
    let url = printed_address(&login, "Log in at ");
    assert!(
        url.starts_with(&format!("{}/authorize?", logins.url())),
        "{url}"
    );
    assert_eq!(field(&url, "client_id").unwrap(), "client-of-mine");
    assert_eq!(field(&url, "scope").unwrap(), "models%20offline%20access");
    assert_eq!(field(&url, "audience").unwrap(), "api");
    assert_eq!(field(&url, "code_challenge_method").unwrap(), "S256");
    let redirect = field(&url, "redirect_uri")
        .unwrap()
        .replace("%3A", ":")
        .replace("%2F", "/");
    let state = field(&url, "state").unwrap();
    // A request without the right state is rejected.
    let foreign = browse(&format!("{redirect}?code=stolen&state=guess"), None);
    assert!(foreign.starts_with("HTTP/1.1 404"), "{foreign}");
    let back = browse(&format!("{redirect}?code=c%2B1&state={state}"), None);
    assert!(back.contains("You are logged in"), "{back}");
    let ended = login.wait(PATIENCE);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);

    let [Asked { body, .. }] = &logins.asked()[..] else {
        panic!("{:?}", logins.asked());
    };
    assert_eq!(field(body, "grant_type").unwrap(), "authorization_code");
    assert_eq!(field(body, "code").unwrap(), "c%2B1");
    let verifier = field(body, "code_verifier").unwrap();
    let challenge =
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
    assert_eq!(field(&url, "code_challenge").unwrap(), challenge);

    let status = zot(&workdir, &["auth", "status", "--json"]).run("");
    let status: Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!(status["credentials"][0]["kind"], "login");
    assert!(status["credentials"][0]["expires_at"].as_u64().unwrap() > now() + 3000);

    let answer = zot(
        &workdir,
        &[
            "-p",
            "--no-session",
            "--provider",
            "company",
            "--model",
            "m",
            "say:1",
        ],
    );
    let answer = answer.run("");
    assert_eq!(answer.stdout, "alpha \n", "{}", answer.stderr);
    let request = &models.requests()[0];
    assert_eq!(
        request.headers["authorization"],
        "Bearer first-access-token"
    );
    assert!(!request.headers.contains_key("x-api-key"));
    assert_eq!(logins.asked().len(), 1, "nothing to renew yet");
}

#[test]
fn a_refusal_in_the_browser_is_reported() {
    let logins = Website::start(|_| {
        (
            400,
            r#"{"error":"invalid_grant","error_description":"used"}"#.to_owned(),
        )
    });
    let workdir = company(&logins, "http://127.0.0.1:9/v1", "openai");
    for (query, expected) in [
        (
            "error=access_denied&error_description=not+today",
            "not today",
        ),
        ("code=old", "invalid_grant: used"),
    ] {
        let login = zot(&workdir, &["login", "company"]).spawn();
        let url = printed_address(&login, "Log in at ");
        let redirect = field(&url, "redirect_uri")
            .unwrap()
            .replace("%3A", ":")
            .replace("%2F", "/");
        let state = field(&url, "state").unwrap();
        browse(&format!("{redirect}?{query}&state={state}"), None);
        let ended = login.wait(PATIENCE);
        assert_eq!(ended.code, Some(1));
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
    assert_eq!(auth_file(&workdir), json!({}));
}

#[test]
fn a_code_can_be_entered_on_another_device() {
    let polls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&polls);
    let logins = Website::start(move |asked| match asked.target.as_str() {
        "/device" => {
            let answer = json!({"device_code": "dc", "user_code": "WDJB-MJHT",
                "verification_uri": "https://company.example/device", "expires_in": 60, "interval": 0});
            (200, answer.to_string())
        }
        _ => match counted.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => (400, r#"{"error":"authorization_pending"}"#.to_owned()),
            _ => (200, tokens("device-access-token", 3600)),
        },
    });
    let workdir = company(&logins, "http://127.0.0.1:9/v1", "openai");
    let login = zot(&workdir, &["login", "company", "--device"]).run("");
    assert_eq!(login.code, Some(0), "{}", login.stderr);
    assert!(
        login
            .stdout
            .contains("Enter the code WDJB-MJHT at https://company.example/device"),
        "{}",
        login.stdout
    );
    assert_eq!(polls.load(Ordering::SeqCst), 3);
    assert_eq!(
        auth_file(&workdir)["company"]["access_token"],
        "device-access-token"
    );
}

/// Several processes with a login that expires soon: one renews it, all use the new one.
#[test]
fn a_login_is_renewed_once_for_all_processes() {
    let renewals = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&renewals);
    let logins = Website::start(move |asked| {
        // A refresh token works once, as with providers that rotate them.
        match (
            field(&asked.body, "refresh_token").as_deref(),
            counted.fetch_add(1, Ordering::SeqCst),
        ) {
            (Some("old-refresh"), 0) => (200, tokens("renewed-access-token", 3600)),
            _ => (400, r#"{"error":"invalid_grant"}"#.to_owned()),
        }
    });
    let models = ModelServer::start();
    let workdir = company(&logins, &models.url(Wire::OpenAi), "openai");
    let stored = json!({"company": {"type": "oauth", "access_token": "old",
        "refresh_token": "old-refresh", "expires_at": now() + 30}});
    let path = workdir.zot_home().join("auth.json");
    std::fs::write(&path, stored.to_string()).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let command = || {
        zot(
            &workdir,
            &[
                "-p",
                "--no-session",
                "--provider",
                "company",
                "--model",
                "gpt-4o",
                "say:1",
            ],
        )
    };
    let running: Vec<_> = (0..4).map(|_| command().spawn()).collect();
    for zot in running {
        let ended = zot.finish();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    assert_eq!(renewals.load(Ordering::SeqCst), 1);
    for request in models.requests() {
        assert_eq!(
            request.headers["authorization"],
            "Bearer renewed-access-token"
        );
    }
    assert_eq!(
        auth_file(&workdir)["company"]["refresh_token"],
        "renewed-access-token-refresh"
    );
}

/// If a login cannot be renewed, the error says what to do and contains no secret.
#[test]
fn an_expired_login_says_what_to_do() {
    let logins = Website::start(|_| (400, r#"{"error":"invalid_grant"}"#.to_owned()));
    let workdir = company(&logins, "http://127.0.0.1:9/v1", "openai");
    let stored = json!({"company": {"type": "oauth", "access_token": "old-secret-token",
        "refresh_token": "old-refresh-token", "expires_at": 1000}});
    let path = workdir.zot_home().join("auth.json");
    std::fs::write(&path, stored.to_string()).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let run = zot(
        &workdir,
        &[
            "-p",
            "--no-session",
            "--provider",
            "company",
            "--model",
            "m",
            "x",
        ],
    )
    .run("");
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("run `zot login company`"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("old-"), "{}", run.stderr);
}
