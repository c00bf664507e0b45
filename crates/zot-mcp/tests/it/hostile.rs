//! Servers that flood, lie, hang and exaggerate: they hurt only themselves.

use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;
use zot_conversation::Tool as _;
use zot_mcp::entry::ServerEntry;
use zot_mcp::{ServerSet, ServerState};

use crate::support::{Person, Scene, eventually, python, set_env, settle, status, text_of, tool};

/// More than any of these tests needs, less than what the servers send.
const MAX_MEMORY_KILOBYTES: u64 = 200_000;

fn hostile(mode: &str) -> ServerEntry {
    let mut entry = python("hostile.py", &[mode]);
    entry.timeout = Some(Duration::from_secs(20));
    entry
}

async fn call(set: &ServerSet) -> String {
    let output = Person::default().call(&tool(set, "go"), json!({})).await;
    output.joined_text()
}

/// Checks how much memory this process, which runs one test, has used at most.
fn check_memory() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < MAX_MEMORY_KILOBYTES, "{kilobytes} kB");
}

#[tokio::test]
async fn lies_about_ids_change_nothing() {
    let scene = Scene::new();
    let set = scene.ready(hostile("liar")).await;
    assert_eq!(call(&set).await, "the truth");
    assert_eq!(text_of(&set, "echo", json!({})).await, "echo");
    eventually(|| scene.log().contains("no request waits for").then_some(())).await;
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn names_and_instructions_are_cut() {
    let scene = Scene::new();
    let set = scene.ready(hostile("plain")).await;
    let status = status(&set);
    assert!(status.product.unwrap().len() <= 200);
    let instructions = status.instructions.unwrap();
    assert!(instructions.len() <= 2048);
    assert!(instructions.ends_with("[cut: 1000000 bytes in all]"));
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn descriptions_of_ten_megabytes_are_cut() {
    let scene = Scene::new();
    let set = scene.ready(hostile("huge_descriptions")).await;
    let tools = set.tools();
    assert_eq!(tools.len(), 6);
    for tool in tools {
        let description = &tool.definition().description;
        assert!(description.len() <= 2048);
        assert!(description.ends_with("[cut: 10000000 bytes in all]"));
    }
    check_memory();
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn a_list_of_thousands_ends_at_the_limit_and_says_so() {
    let scene = Scene::new();
    let set = scene.ready(hostile("many")).await;
    assert_eq!(set.tools().len(), 1_000);
    assert_eq!(status(&set).notes, ["the list of tools was cut after 1000"]);
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn pages_without_end_end() {
    let scene = Scene::new();
    let set = scene.ready(hostile("endless_pages")).await;
    assert_eq!(set.tools().len(), 100);
    assert_eq!(
        status(&set).notes,
        ["the list of tools was cut after 100 pages"]
    );
    let set = scene.ready(hostile("same_cursor")).await;
    assert_eq!(set.tools().len(), 2);
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn tools_that_cannot_be_used_are_left_out_one_by_one() {
    let scene = Scene::new();
    let set = scene.ready(hostile("bad_tools")).await;
    let tools = set.tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool.tool()).collect();
    assert_eq!(names, ["fine", "fine", "noschema", "deep"]);
    assert_ne!(
        tools[0].definition().name,
        tools[1].definition().name,
        "two tools are never one"
    );
    assert_eq!(status(&set).notes.len(), 8, "{:?}", status(&set).notes);
    let set = scene.open(vec![hostile("not_a_list")]);
    settle(&set).await;
    let state = status(&set).state;
    assert!(state.reason().unwrap().contains("tools/list"), "{state:?}");
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn a_line_of_sixty_megabytes_fails_its_call_only() {
    let scene = Scene::new();
    let set = scene.ready(hostile("long_line")).await;
    assert_eq!(
        call(&set).await,
        "the MCP server \"scripted\": the server sent a message longer than 16777216 bytes"
    );
    assert_eq!(text_of(&set, "echo", json!({})).await, "echo");
    check_memory();
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn an_error_of_megabytes_is_cut() {
    let scene = Scene::new();
    let set = scene.ready(hostile("huge_error")).await;
    let error = call(&set).await;
    assert!(
        error.contains("eeee") && error.len() < 5_000,
        "{}",
        error.len()
    );
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn garbage_is_logged_and_bad_parts_become_notes() {
    let scene = Scene::new();
    let set = scene.ready(hostile("garbage")).await;
    let text = call(&set).await;
    assert!(text.contains("[a part of kind \"text\""), "{text}");
    assert!(text.contains("not base64"), "{text}");
    assert!(text.contains("expected a PNG"), "{text}");
    assert!(scene.log().contains("stray line on its output"));
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn a_flood_ends_the_server_and_nothing_else() {
    let scene = Scene::new();
    let set = scene.open(vec![hostile("flood")]);
    let reason = eventually(|| status(&set).state.reason().map(str::to_owned)).await;
    assert!(reason.contains("it flooded its output"), "{reason}");
    check_memory();
    let log = std::fs::metadata(scene.path("logs/mcp-scripted.log")).unwrap();
    assert!(log.len() < 5 * 1024 * 1024);
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn a_flood_during_a_call_fails_the_call() {
    let scene = Scene::new();
    let mut entry = hostile("flood_after_call");
    entry.timeout = Some(Duration::from_secs(60));
    let set = scene.ready(entry).await;
    let error = call(&set).await;
    assert!(error.contains("it flooded its output for"), "{error}");
    check_memory();
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn a_silent_server_keeps_nobody_waiting() {
    let scene = Scene::new();
    let set = scene.open(vec![hostile("silent")]);
    let waited = timeout(Duration::from_millis(100), set.settled()).await;
    assert!(waited.is_err());
    assert_eq!(status(&set).state, ServerState::Starting);
    assert!(set.tools().is_empty());
    timeout(Duration::from_secs(20), scene.pool.shut_down())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_server_that_ignores_its_end_is_killed() {
    let scene = Scene::new();
    let set = scene.ready(hostile("ignores_end")).await;
    assert_eq!(text_of(&set, "echo", json!({})).await, "echo");
    timeout(Duration::from_secs(20), scene.pool.shut_down())
        .await
        .unwrap();
    assert!(
        scene
            .log()
            .contains("it goes on although its input is closed")
    );
}

#[tokio::test]
async fn a_list_that_changes_all_the_time_is_fetched_now_and_then() {
    let scene = Scene::new();
    let mut entry = hostile("churn");
    set_env(&mut entry, "TRACE", scene.path("trace").to_str().unwrap());
    let set = scene.ready(entry).await;
    let before = set.generation();
    set.changed(before).await;
    let noticed = tokio::time::Instant::now();
    // Two hundred changes later.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let fetched = scene.trace().len() as u64;
    assert!(fetched <= 3 + noticed.elapsed().as_secs() / 5, "{fetched}");
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn thousands_of_requests_are_declined() {
    let scene = Scene::new();
    let mut entry = hostile("many_requests");
    entry.timeout = Some(Duration::from_secs(5));
    let set = scene.ready(entry).await;
    let error = call(&set).await;
    assert!(error.contains("did not answer within"), "{error}");
    assert_eq!(text_of(&set, "echo", json!({})).await, "echo");
    check_memory();
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn an_address_that_is_no_page_is_not_asked_for() {
    let scene = Scene::new();
    let set = scene.ready(hostile("bad_question")).await;
    let person = Person::default();
    let output = person.call(&tool(&set, "go"), json!({})).await;
    assert!(output.joined_text().contains("-32602"), "{output:?}");
    assert!(person.questions.lock().unwrap().is_empty());
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn noise_on_standard_error_is_slowed_down_and_kept_within_its_limit() {
    let scene = Scene::new();
    let set = scene.ready(hostile("noisy")).await;
    assert_eq!(call(&set).await, "quiet");
    let log = std::fs::metadata(scene.path("logs/mcp-scripted.log")).unwrap();
    assert!(log.len() <= 4 * 1024 * 1024);
    scene.pool.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_fails_after_some_minutes() {
    let scene = Scene::new();
    let set = scene.open(vec![hostile("silent")]);
    set.settled().await;
    assert_eq!(
        status(&set).state,
        ServerState::Failed {
            reason: "it did not answer within 300s".to_owned()
        }
    );
    scene.pool.shut_down().await;
}
