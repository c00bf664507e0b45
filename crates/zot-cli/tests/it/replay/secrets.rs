//! Canaries in every possible source of secrets: none may reach the file.

use serde_json::json;
use testkit::{ModelServer, Wire, Workdir};

use super::Project;

#[test]
fn no_secret_reaches_the_cassette() {
    for wire in Wire::BOTH {
        let (shelf, server) = (Workdir::new("shelf"), ModelServer::start());
        let project = Project::new(&shelf);
        let pem = "-----BEGIN PRIVATE KEY-----\ncanary0PEM\n-----END PRIVATE KEY-----\n";
        project.workdir.write("key.pem", pem);
        let mut zot = project
            .command(&["rpc", "--provider", wire.provider(), "--base-url"])
            .argument(server.url(wire))
            .arguments(["--model", wire.model(), "--api-key", "canary-api-key-1"])
            .arguments([
                "--append-system-prompt",
                "The key is sk-ant-canary-0123456789ab.",
            ])
            .argument("--record")
            .argument(project.cassette())
            .env("DEPLOY_TOKEN", "canary-deploy \"token\"")
            .env("db_password", "canary-db\\password")
            .spawn();
        for prompt in [
            "say:1 with Bearer canary.bearer-0123456789",
            // The model's text arrives in pieces.
            "code:use canary-api-key-1 or AIzaCanary0123456789012345678901234567 now",
            r#"tool:bash:{"command":"echo \"$DEPLOY_TOKEN\"; echo $db_password; cat key.pem"}"#,
            r#"tool:write:{"path":"x","content":"ghp_canary0123456789canary0123456789"}"#,
            "err:401:wrong key canary-api-key-1",
            "tool:bash:{\"command\":\"echo AKIACANARY0123456789\"}",
        ] {
            zot.turn("1", prompt);
        }
        zot.send(json!({"id": "c", "type": "compact"}));
        zot.event("compact_done");
        zot.finish();

        let path = project.cassette();
        let text = std::fs::read_to_string(&path).unwrap();
        let found: Vec<_> = text
            .to_lowercase()
            .match_indices("canary")
            .map(|(at, _)| at)
            .collect();
        let around = |at: &usize| text[at.saturating_sub(80)..text.len().min(at + 40)].to_owned();
        let found: Vec<_> = found.iter().map(around).collect();
        assert!(found.is_empty(), "{wire:?}: {found:#?}");
        assert!(text.matches("[redacted]").count() > 10);

        let verified = project
            .command(&["cassette", "verify"])
            .argument(&path)
            .run("");
        assert_eq!(verified.code, Some(0), "{}", verified.stderr);
    }
}

/// Keys of providers that are not even used: plain, encoded, and in pieces.
#[test]
fn no_key_of_any_provider_reaches_the_cassette() {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use std::os::unix::fs::PermissionsExt as _;

    let (shelf, server) = (Workdir::new("shelf"), ModelServer::start());
    let project = Project::new(&shelf);
    let auth = json!({
        "openai": {"type": "api_key", "api_key": "canary?other>provider-1"},
        "somebody": {"type": "oauth", "access": "canary-access-token-2", "refresh": "canary-refresh-3"},
    });
    let path = project.workdir.zot_home().join("auth.json");
    std::fs::create_dir_all(project.workdir.zot_home()).unwrap();
    std::fs::write(&path, auth.to_string()).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let keys = [
        "canary?other>provider-1",
        "canary-access-token-2",
        "canary-refresh-3",
        "canary-groq-4",
        "canary-pipe-5",
    ];
    let mut forms = Vec::new();
    for key in keys {
        forms.push(key.to_owned());
        forms.push(STANDARD.encode(key));
        forms.push(STANDARD.encode(format!("a{key}")));
        forms.push(URL_SAFE_NO_PAD.encode(format!("ab{key}z")));
        forms.push(key.bytes().map(|byte| format!("{byte:02x}")).collect());
        forms.push(key.bytes().map(|byte| format!("%{byte:02X}")).collect());
        let escapes = key.bytes().map(|byte| format!("\\u{byte:04x}"));
        forms.push(escapes.collect());
    }
    let mut zot = project
        .recording(&["rpc"], super::Source::Wire(Wire::Anthropic), &server)
        .env("GROQ_API_KEY", "canary-groq-4")
        .env("ZOTCORE_RPC_TOKEN", "canary-pipe-5")
        .spawn();
    zot.call(json!({"id": "h", "type": "hello", "token": "canary-pipe-5"}));
    for text in &forms {
        zot.turn("1", &format!("split:3:code:it is {text} now"));
    }
    zot.finish();
    let recorded = std::fs::read_to_string(project.cassette()).unwrap();
    for text in &forms {
        let escaped = serde_json::to_string(text).unwrap();
        assert!(!recorded.contains(text.as_str()), "{text}");
        assert!(!recorded.contains(escaped.trim_matches('"')), "{text}");
    }
    // Also in pieces: the joined text.
    let pieces = recorded.replace("\",\"", "");
    for key in keys {
        assert!(!pieces.contains(key), "{key}");
    }
    let mut zot = project.replaying(&["rpc"]).spawn();
    for text in &forms {
        let frames = zot.turn("1", &format!("split:3:code:it is {text} now"));
        assert_eq!(
            crate::support::of_kind(&frames, "error"),
            Vec::<&serde_json::Value>::new()
        );
    }
    zot.finish();
}
