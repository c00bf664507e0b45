//! Servers with permissions.

use serde_json::json;
use zot_extension_contract::{EnforcementStatus, Level, Permissions};
use zot_mcp::ServerState;
use zot_mcp::entry::{Address, ServerEntry};

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

/// A confined command can write to the working directory, and it may be in `PATH`.
#[tokio::test]
async fn beside_confined_commands_a_named_program_is_not_taken_from_the_working_directory() {
    let scene = Scene::beside_confined_commands();
    let planted = scene.path("bin/python3");
    std::fs::create_dir(scene.path("bin")).unwrap();
    let script = format!("#!/bin/sh\necho > {}\n", scene.path("ran").display());
    std::fs::write(&planted, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&planted, mode).unwrap();
    let mut entry = scene.scripted("legacy");
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", scene.path("bin").display());
    set_env(&mut entry, "PATH", &path);
    // Its own directory is another one.
    let Address::Stdio { cwd, .. } = &mut entry.address else {
        panic!("{entry:?}");
    };
    *cwd = Some("/".into());
    let set = scene.open(vec![entry]);
    crate::support::settle(&set).await;
    let state = crate::support::status(&set).state;
    let reason = state.reason().unwrap_or_default();
    assert!(
        reason.contains("inside of the working directory"),
        "{state:?}"
    );
    assert!(!scene.path("ran").exists());
    scene.pool.shut_down().await;
}

/// Returns an entry at level workspace, in a new project directory.
fn in_project(scene: &Scene, mode: &str) -> (ServerEntry, std::path::PathBuf) {
    let mut entry = scene.scripted(mode);
    entry.sandbox = Some(Level::Workspace);
    let project = scene.path("project");
    std::fs::create_dir_all(&project).unwrap();
    set_env(&mut entry, "TRACE", project.join("trace").to_str().unwrap());
    let Address::Stdio { cwd, .. } = &mut entry.address else {
        panic!("{entry:?}");
    };
    *cwd = Some(project.clone());
    (entry, project)
}

#[tokio::test]
async fn a_server_that_cannot_read_its_own_files_fails_with_advice() {
    if let EnforcementStatus::NotEnforced(reason) = zot_extension_contract::enforceable().files {
        testkit::skip_without(testkit::KernelFeature::Landlock, &reason);
        return;
    }
    let scene = Scene::new();
    let (mut entry, _) = in_project(&scene, "legacy");
    let set = scene.open(vec![entry.clone()]);
    crate::support::settle(&set).await;
    let state = crate::support::status(&set).state;
    let reason = state.reason().unwrap_or_default();
    assert!(
        reason.ends_with(
            "; it is confined (sandbox workspace), and permissions.fs_read can show it files"
        ),
        "{state:?}"
    );
    drop(set);
    entry.sandbox = None;
    let Address::Stdio { args, .. } = &mut entry.address else {
        panic!("{entry:?}");
    };
    args.insert(0, "/nowhere.py".to_owned());
    let set = scene.open(vec![entry]);
    crate::support::settle(&set).await;
    let state = crate::support::status(&set).state;
    let reason = state.reason().unwrap_or_default();
    assert!(
        reason.contains("it exited") && !reason.contains("confined"),
        "{state:?}"
    );
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn the_user_hears_of_a_protected_file_that_a_server_makes() {
    if let EnforcementStatus::NotEnforced(reason) = zot_extension_contract::enforceable().files {
        testkit::skip_without(testkit::KernelFeature::Landlock, &reason);
        return;
    }
    let scene = Scene::new();
    let (mut entry, project) = in_project(&scene, "legacy");
    let Address::Stdio { command, args, .. } = &mut entry.address else {
        panic!("{entry:?}");
    };
    *command = "sh".to_owned();
    *args = vec![
        "-c".to_owned(),
        "echo {} > .mcp.json; exec sleep 60".to_owned(),
    ];
    let set = scene.open(vec![entry]);
    let warnings = crate::support::eventually(|| {
        Some(set.take_warnings()).filter(|warnings| !warnings.is_empty())
    })
    .await;
    let expected = format!(
        "MCP server scripted: {}/.mcp.json was created while it ran",
        project.canonicalize().unwrap().display()
    );
    assert!(
        matches!(&warnings[..], [warning] if warning.starts_with(&expected)),
        "{warnings:?}"
    );
    assert!(scene.log().contains(".mcp.json was created while it ran"));
    assert_eq!(set.take_warnings(), [""; 0]);
    scene.pool.shut_down().await;
}
