//! Servers with permissions.

use serde_json::json;
use zot_extension_contract::{EnforcementStatus, Level, Permissions};
use zot_mcp::ServerState;
use zot_mcp::entry::Address;

use crate::support::{Scene, set_env, text_of};

#[tokio::test]
async fn a_server_with_permissions_is_confined_to_them() {
    let scene = Scene::new();
    let mut entry = scene.scripted("legacy");
    let script = env!("CARGO_MANIFEST_DIR").to_owned() + "/tests/servers";
    entry.permissions = Some(Permissions {
        fs_read: vec![script],
        ..Permissions::default()
    });
    // It cannot write its trace outside of its data directory.
    let data = scene.path("extension-data/mcp@scripted");
    set_env(&mut entry, "TRACE", data.join("trace").to_str().unwrap());
    let set = scene.ready(entry.clone()).await;
    assert_eq!(text_of(&set, "echo", json!({"text": "in"})).await, "in");
    assert!(data.join("trace").exists());
    drop(set);
    set_env(&mut entry, "TRACE", scene.path("trace").to_str().unwrap());
    let set = scene.open(vec![entry]);
    crate::support::settle(&set).await;
    let state = crate::support::status(&set).state;
    let is_enforced = !zot_extension_contract::enforceable()
        .files
        .to_string()
        .contains("not enforced");
    if is_enforced {
        // It fails, or its trace is in a temporary directory of its own.
        let reason = state.reason().unwrap_or_default();
        assert!(
            state == ServerState::Ready || reason.contains("Error") && reason.contains("trace"),
            "{state:?}"
        );
        assert!(scene.trace().is_empty());
    }
    scene.pool.shut_down().await;
}

/// The variable that stands for a key of a model provider.
const KEY: &str = "CARGO_PKG_NAME";

/// Keys of model providers stay out of a server's environment unless its entry names them.
#[tokio::test]
async fn a_server_gets_a_key_only_if_its_entry_names_it() {
    let scene = Scene::withholding(KEY);
    let place = scene.scripted("legacy");
    for (name, value, expected) in [
        ("OTHER", "x", "null"),
        (KEY, "given", "\"given\""),
        (
            "SPECIAL_NAME",
            "CARGO_PKG_VERSION",
            concat!("\"", env!("CARGO_PKG_VERSION"), "\""),
        ),
    ] {
        let mut entry = place.clone();
        set_env(&mut entry, "SPECIAL_NAME", KEY);
        set_env(&mut entry, name, value);
        let set = scene.ready(entry).await;
        let text = text_of(&set, "where", json!({})).await;
        assert!(text.contains(&format!("\"named\": {expected}")), "{text}");
    }
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn a_server_runs_at_the_level_of_its_entry() {
    let scene = Scene::new();
    let script = env!("CARGO_MANIFEST_DIR").to_owned() + "/tests/servers";
    let mut entry = scene.scripted("legacy");
    entry.permissions = Some(Permissions {
        fs_read: vec![script],
        ..Permissions::default()
    });
    entry.sandbox = Some(Level::Workspace);
    if let EnforcementStatus::NotEnforced(reason) = zot_extension_contract::enforceable().files {
        testkit::skip_without(testkit::KernelFeature::Landlock, &reason);
        return;
    }
    let project = scene.path("project");
    std::fs::create_dir(&project).unwrap();
    let trace = project.join("trace");
    set_env(&mut entry, "TRACE", trace.to_str().unwrap());
    let Address::Stdio { cwd, .. } = &mut entry.address else {
        panic!("{entry:?}");
    };
    *cwd = Some(project);
    let set = scene.ready(entry.clone()).await;
    assert_eq!(text_of(&set, "echo", json!({"text": "in"})).await, "in");
    drop(set);
    std::fs::remove_file(&trace).unwrap();
    entry.sandbox = Some(Level::ReadOnly);
    let set = scene.open(vec![entry]);
    crate::support::settle(&set).await;
    let state = crate::support::status(&set).state;
    let reason = state.reason().unwrap_or_default();
    assert!(
        reason.contains("Error") && reason.contains("trace"),
        "{state:?}"
    );
    assert!(!trace.exists() && scene.trace().is_empty());
    scene.pool.shut_down().await;
}
