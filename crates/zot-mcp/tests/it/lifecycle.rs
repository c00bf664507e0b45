//! Starts, restarts, sharing and ends.

use std::path::Path;

use serde_json::{Value, json};
use zot_mcp::ServerState;

use crate::support::{
    Person, Scene, error_of, eventually, pool, program, settle, status, text_of, tool,
};

async fn process_of(set: &zot_mcp::ServerSet) -> u64 {
    let place: Value = serde_json::from_str(&text_of(set, "where", json!({})).await).unwrap();
    place["pid"].as_u64().unwrap()
}

fn is_running(process: u64) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
}

#[tokio::test]
async fn a_server_in_two_sets_is_one_process_until_both_are_gone() {
    let scene = Scene::new();
    let first = scene.ready(scene.scripted("legacy")).await;
    let second = scene.ready(scene.scripted("legacy")).await;
    let process = process_of(&first).await;
    assert_eq!(process_of(&second).await, process);
    let mut other = scene.scripted("legacy");
    crate::support::set_env(&mut other, "SPECIAL", "yes");
    let third = scene.ready(other).await;
    assert_ne!(process_of(&third).await, process);
    drop(first);
    assert_eq!(process_of(&second).await, process);
    drop(second);
    eventually(|| (!is_running(process)).then_some(())).await;
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn a_server_runs_where_the_set_was_opened_with_its_variables() {
    let scene = Scene::new();
    let mut entry = scene.scripted("legacy");
    crate::support::set_env(&mut entry, "SPECIAL", "yes");
    let set = scene.ready(entry).await;
    let place: Value = serde_json::from_str(&text_of(&set, "where", json!({})).await).unwrap();
    assert_eq!(place["env"], "yes");
    let cwd = scene.home.path().canonicalize().unwrap();
    assert_eq!(place["cwd"], cwd.to_str().unwrap());
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn a_crashed_server_comes_back_and_its_tools_stay() {
    let scene = Scene::new();
    let set = scene.ready(scene.scripted("legacy")).await;
    let process = process_of(&set).await;
    let error = error_of(&set, "crash").await;
    assert_eq!(
        error,
        "the MCP server \"scripted\": it exited (exit status: 3): last words"
    );
    assert_eq!(set.tools().len(), 19);
    // The call waits for the restart.
    let second = process_of(&set).await;
    assert_ne!(second, process);
    assert!(
        scene
            .log()
            .contains("it exited (exit status: 3): last words")
    );
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn a_server_is_restarted_when_asked_to() {
    let scene = Scene::new();
    let set = scene.ready(scene.scripted("legacy")).await;
    let process = process_of(&set).await;
    let before = set.generation();
    set.restart("scripted").unwrap();
    set.changed(before).await;
    settle(&set).await;
    assert_ne!(process_of(&set).await, process);
    assert!(!is_running(process));
    assert!(set.restart("nobody").is_err());
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn a_server_that_does_not_start_fails_with_its_last_words() {
    let scene = Scene::new();
    let missing = scene.open(vec![program("/does/not/exist", Vec::new())]);
    settle(&missing).await;
    let state = status(&missing).state;
    assert_eq!(state.name(), "failed");
    assert!(
        state.reason().unwrap().contains("/does/not/exist"),
        "{state:?}"
    );
    let script = "echo the key is missing >&2; exit 4".to_owned();
    let broken = scene.open(vec![program("sh", vec!["-c".to_owned(), script])]);
    settle(&broken).await;
    assert_eq!(
        status(&broken).state,
        ServerState::Failed {
            reason: "it exited (exit status: 4): the key is missing".to_owned()
        }
    );
    assert_eq!(broken.tools().len(), 0);
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn a_disabled_server_is_not_started() {
    let scene = Scene::new();
    let mut entry = scene.scripted("legacy");
    entry.enabled = false;
    let set = scene.open(vec![entry]);
    settle(&set).await;
    assert_eq!(status(&set).state, ServerState::Disabled);
    assert!(scene.trace().is_empty());
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn opening_does_not_wait_and_a_call_waits_for_the_start() {
    let scene = Scene::new();
    let set = scene.open(vec![scene.scripted("legacy")]);
    assert_eq!(status(&set).state, ServerState::Starting);
    settle(&set).await;
    let echo = tool(&set, "echo");
    set.restart("scripted").unwrap();
    let output = Person::default().call(&echo, json!({"text": "late"})).await;
    assert_eq!(output.joined_text(), "late");
    scene.pool.shut_down().await;
}

/// Starts a server whose children would outlive it, ends it, and looks for them.
async fn start_and_end(scene: &Scene) {
    let marker = scene.path("children");
    let script = format!(
        "sleep 1000 & echo $! >> {0}; setsid sleep 1000 & echo $! >> {0}; exec python3 {1} legacy",
        marker.display(),
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/servers/scripted.py")
            .display()
    );
    let pool = pool(scene.home.path());
    let set = pool.open(
        vec![program("sh", vec!["-c".to_owned(), script])],
        scene.home.path(),
    );
    settle(&set).await;
    assert_eq!(status(&set).state, ServerState::Ready);
    pool.shut_down().await;
}

#[tokio::test]
async fn starts_and_ends_leave_no_process() {
    let scene = Scene::new();
    for _ in 0..20 {
        start_and_end(&scene).await;
    }
    let children = std::fs::read_to_string(scene.path("children")).unwrap();
    assert_eq!(children.lines().count(), 40);
    for child in children.lines() {
        assert!(!is_running(child.parse().unwrap()), "{child} is left");
    }
}

#[tokio::test]
async fn a_server_that_is_not_needed_before_it_is_ready_may_still_leave_by_itself() {
    let scene = Scene::new();
    let script = "echo > begun; cat > input; echo > left".to_owned();
    let set = scene.open(vec![program("sh", vec!["-c".to_owned(), script])]);
    eventually(|| scene.path("begun").exists().then_some(())).await;
    scene.pool.shut_down().await;
    assert!(scene.path("left").exists(), "{}", scene.log());
    drop(set);
}
