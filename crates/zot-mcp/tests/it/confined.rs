//! Servers with permissions.

use serde_json::json;
use zot_extension_contract::Permissions;

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
        let reason = state.reason().unwrap_or_default();
        assert!(
            reason.contains("Error") && reason.contains("trace"),
            "{state:?}"
        );
        assert!(scene.trace().is_empty());
    }
    scene.pool.shut_down().await;
}
