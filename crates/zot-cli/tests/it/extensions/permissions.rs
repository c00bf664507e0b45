//! What an extension that declares permissions can do, and what it cannot.

use std::net::TcpListener;

use serde_json::{Value, json};
use testkit::{
    KernelFeature, ModelServer, ScriptedExtension, Wire, Workdir, ZotCommand, echo_tool,
    skip_without,
};

use super::result_of;
use crate::support::binary;

/// Tries `steps`, one by one, with these permissions; returns their outcomes.
fn attempts(permissions: Value, steps: impl FnOnce(&Workdir) -> Vec<Value>) -> Option<Vec<String>> {
    attempts_with(json!({"permissions": permissions}), "", steps)
}

/// The same with these fields of the manifest and these settings.
fn attempts_with(
    manifest: Value,
    settings: &str,
    steps: impl FnOnce(&Workdir) -> Vec<Value>,
) -> Option<Vec<String>> {
    let (workdir, server) = (Workdir::with_files("work"), ModelServer::start());
    std::fs::write(workdir.home().join("secret"), "hidden").unwrap();
    std::fs::create_dir_all(workdir.zot_home()).unwrap();
    std::fs::write(workdir.zot_home().join("config.json"), settings).unwrap();
    let steps = steps(&workdir);
    let count = steps.len();
    let mut extension = ScriptedExtension::new("caged", [echo_tool("t")]);
    for (field, value) in manifest.as_object().unwrap() {
        extension = extension.manifest(field, value.clone());
    }
    let extension = extension
        .script("quiet", json!(true))
        .tool("t", json!({"in_turn": steps}))
        .install(&workdir.extensions());
    let mut zot = ZotCommand::rpc(binary(), &workdir, &server, Wire::OpenAi)
        .extensions([&extension])
        .env("SECRET_KEY", "hidden")
        .env("MISTRAL_API_KEY", "canary")
        .spawn();
    let results = (0..count)
        .map(|number| {
            let frames = zot.turn(&number.to_string(), "tool:t:{}");
            let (failed, text) = result_of(&frames);
            assert!(!failed, "{text}: {}", workdir.extension_log("caged"));
            text
        })
        .collect();
    let log = workdir.extension_log("caged");
    if KernelFeature::Landlock.is_hidden() || log.contains("not enforced") {
        skip_without(KernelFeature::Landlock, &log);
        return None;
    }
    Some(results)
}

fn data_dir(workdir: &Workdir) -> std::path::PathBuf {
    workdir.zot_home().join("extension-data/caged")
}

/// Everything that needs a permission, and last something that needs none.
fn everything(workdir: &Workdir, port: u16) -> Vec<Value> {
    vec![
        json!({"attempt": "write", "path": workdir.path().join("new.txt")}),
        json!({"attempt": "read", "path": workdir.home().join("secret")}),
        json!({"attempt": "connect", "host": "127.0.0.1", "port": port}),
        json!({"attempt": "run", "command": ["id", "-u"]}),
        json!({"attempt": "write", "path": data_dir(workdir).join("state")}),
    ]
}

#[test]
fn without_permissions_only_the_data_directory_is_accessible() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let Some(results) = attempts(json!({}), |workdir| {
        let mut steps = everything(workdir, port);
        let own = workdir.extensions().join("caged/extension.json");
        steps.push(json!({"attempt": "write", "path": own}));
        steps.push(json!({"attempt": "environment", "names": ["SECRET_KEY", "ZOTCORE_RPC_TOKEN"]}));
        steps
    }) else {
        return;
    };
    for refused in &results[..4] {
        assert!(refused.starts_with("failed: "), "{results:?}");
    }
    assert_eq!(results[4], "ok");
    assert!(
        results[5].starts_with("failed: "),
        "it rewrote its manifest"
    );
    assert_eq!(
        results[6],
        r#"ok: {"SECRET_KEY": null, "ZOTCORE_RPC_TOKEN": null}"#
    );
}

#[test]
fn each_permission_can_be_granted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let given = [
        json!({"fs_write": ["$CWD"]}),
        json!({"fs_read": ["$HOME/secret"]}),
        json!({"network": true}),
        json!({"exec": ["id"]}),
    ];
    for (number, permissions) in given.into_iter().enumerate() {
        let steps = |workdir: &Workdir| everything(workdir, port);
        let Some(results) = attempts(permissions.clone(), steps) else {
            return;
        };
        let allowed: Vec<bool> = results.iter().map(|r| r.starts_with("ok")).collect();
        let mut expected = [false, false, false, false, true];
        expected[number] = true;
        assert_eq!(allowed, expected, "{permissions}: {results:?}");
    }
    let names = json!({"attempt": "environment", "names": ["SECRET_KEY"]});
    let results = attempts(json!({"env": ["SECRET_KEY"]}), |_| vec![names]);
    if let Some(results) = results {
        assert_eq!(results, [r#"ok: {"SECRET_KEY": "hidden"}"#]);
    }
}

/// Keys of model providers are not for extensions, at any level, unless they list them.
#[test]
fn keys_are_withheld_unless_they_are_listed() {
    let names = || json!({"attempt": "environment", "names": ["MISTRAL_API_KEY", "SECRET_KEY"]});
    for (manifest, expected) in [
        (
            json!({}),
            r#"ok: {"MISTRAL_API_KEY": null, "SECRET_KEY": "hidden"}"#,
        ),
        (
            json!({"sandbox": "off", "permissions": {"env": ["MISTRAL_API_KEY"]}}),
            r#"ok: {"MISTRAL_API_KEY": "canary", "SECRET_KEY": "hidden"}"#,
        ),
        (
            json!({"sandbox": "workspace"}),
            r#"ok: {"MISTRAL_API_KEY": null, "SECRET_KEY": null}"#,
        ),
    ] {
        let Some(results) = attempts_with(manifest.clone(), "", |_| vec![names()]) else {
            return;
        };
        assert_eq!(results, [expected], "{manifest}");
    }
}

#[test]
fn a_manifest_asks_for_a_level_and_settings_for_the_least() {
    let steps = |workdir: &Workdir| {
        vec![
            json!({"attempt": "write", "path": workdir.path().join("new.txt")}),
            json!({"attempt": "read", "path": workdir.home().join("secret")}),
            json!({"attempt": "run", "command": ["id", "-u"]}),
            json!({"attempt": "write", "path": data_dir(workdir).join("state")}),
        ]
    };
    let least = |level: &str| json!({"sandbox_extensions": level}).to_string();
    for (manifest, settings, expected) in [
        (
            json!({"sandbox": "workspace"}),
            String::new(),
            [true, false, true, true],
        ),
        (
            json!({"sandbox": "read-only"}),
            String::new(),
            [false, false, true, true],
        ),
        (json!({}), least("workspace"), [true, false, true, true]),
        (json!({}), least("read-only"), [false, false, true, true]),
        (
            json!({"sandbox": "off"}),
            least("read-only"),
            [false, false, true, true],
        ),
        // What its manifest names is shown to the user, and stays.
        (
            json!({"permissions": {"fs_read": ["$HOME/secret"]}}),
            least("workspace"),
            [false, true, false, true],
        ),
    ] {
        let Some(results) = attempts_with(manifest.clone(), &settings, steps) else {
            return;
        };
        let allowed: Vec<bool> = results.iter().map(|r| r.starts_with("ok")).collect();
        assert_eq!(allowed, expected, "{manifest}, {settings}: {results:?}");
    }
}
