//! Canaries wherever a secret may be: none of them may reach the file.

use serde_json::json;
use testkit::{ModelServer, Wire, Workdir};

use super::Place;

#[test]
fn no_secret_reaches_the_cassette() {
    for wire in Wire::BOTH {
        let (shelf, server) = (Workdir::new("shelf"), ModelServer::start());
        let place = Place::new(&shelf);
        let pem = "-----BEGIN PRIVATE KEY-----\ncanary0PEM\n-----END PRIVATE KEY-----\n";
        place.workdir.write("key.pem", pem);
        let mut zot = place
            .command(&["rpc", "--provider", wire.provider(), "--base-url"])
            .argument(server.url(wire))
            .arguments(["--model", wire.model(), "--api-key", "canary-api-key-1"])
            .arguments([
                "--append-system-prompt",
                "The key is sk-ant-canary-0123456789ab.",
            ])
            .argument("--record")
            .argument(place.cassette())
            .env("DEPLOY_TOKEN", "canary-deploy \"token\"")
            .env("db_password", "canary-db\\password")
            .spawn();
        for prompt in [
            "say:1 with Bearer canary.bearer-0123456789",
            // What the model says comes in pieces.
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

        let path = place.cassette();
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

        let verified = place
            .command(&["cassette", "verify"])
            .argument(&path)
            .run("");
        assert_eq!(verified.code, Some(0), "{}", verified.stderr);
    }
}
