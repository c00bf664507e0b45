use std::fs;
use std::time::Duration;

use zot_extension_contract::{LaunchRules, log_path};

use super::*;
use crate::extension::Phase;

const HELLO: &str = r#"echo '{"type":"hello","name":"sleeper"}'"#;
const READY: &str = r#"echo '{"type":"ready"}'"#;

/// Returns a host with one extension: a shell script that sends hello and then runs `script`.
fn host(home: &std::path::Path, script: &str) -> ExtensionHost {
    host_without_hello(home, &format!("{HELLO}; {script}"))
}

fn host_without_hello(home: &std::path::Path, script: &str) -> ExtensionHost {
    let directory = home.join("sleeper");
    fs::create_dir_all(&directory).unwrap();
    let manifest = serde_json::json!({"name": "sleeper", "exec": "sh", "args": ["-c", script]});
    fs::write(directory.join("extension.json"), manifest.to_string()).unwrap();
    let search = SearchPaths {
        explicit: vec![directory],
        ..SearchPaths::default()
    };
    let discovery = discover(&search);
    let config = HostConfig {
        search,
        home: home.to_owned(),
        cwd: home.to_owned(),
        zot_version: String::new(),
        provider: String::new(),
        model: String::new(),
        taken_tools: Vec::new(),
        taken_commands: Vec::new(),
        rules: LaunchRules::default(),
    };
    ExtensionHost::start(config, &discovery)
}

#[tokio::test]
async fn an_extension_that_never_reads_does_not_block_events() {
    let home = tempfile::tempdir().unwrap();
    let subscribe = r#"echo '{"type":"subscribe","events":["turn_start"]}'"#;
    let host = host(
        home.path(),
        &format!(r#"{subscribe}; echo '{{"type":"ready"}}'; exec sleep 60"#),
    );
    host.settled().await;
    let started = Instant::now();
    for step in 0..100_000 {
        host.emit(EventKind::TurnStart, || LifecycleEvent::TurnStart { step });
    }
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
    let log = fs::read_to_string(log_path(home.path(), "sleeper")).unwrap();
    assert!(
        log.contains("it does not read its input: 1 events dropped"),
        "{log}"
    );
    // More than one message, but far fewer than events.
    assert!((2..20).contains(&log.lines().count()), "{log}");
    host.shut_down().await;
    assert_eq!(host.extensions()[0].phase(), Phase::Stopped);
}

/// Waits on a paused clock until the extension has failed for the first time, and returns its log.
async fn log_of_first_failure(host: &ExtensionHost, home: &std::path::Path) -> String {
    tokio::time::pause();
    let extension = &host.extensions()[0];
    let is_restarting = || matches!(extension.phase(), Phase::Restarting { .. });
    host.context.until(is_restarting).await;
    tokio::time::resume();
    let log = fs::read_to_string(log_path(home, "sleeper")).unwrap();
    host.shut_down().await;
    log
}

#[tokio::test]
async fn an_extension_that_never_reads_is_killed() {
    let home = tempfile::tempdir().unwrap();
    let subscribe = r#"echo '{"type":"subscribe","events":["turn_start"]}'"#;
    let host = host(home.path(), &format!("{subscribe}; {READY}; exec sleep 60"));
    host.settled().await;
    for step in 0..100_000 {
        host.emit(EventKind::TurnStart, || LifecycleEvent::TurnStart { step });
    }
    let log = log_of_first_failure(&host, home.path()).await;
    assert!(
        log.contains("it does not read its input; it is ended"),
        "{log}"
    );
    assert!(log.contains("it is started again in 1s"), "{log}");
}

#[tokio::test]
async fn an_extension_that_keeps_flooding_is_killed() {
    let home = tempfile::tempdir().unwrap();
    let host = host(home.path(), &format!("{READY}; exec yes garbage"));
    host.settled().await;
    let log = log_of_first_failure(&host, home.path()).await;
    assert!(
        log.contains("it flooded its output for 10 seconds; it is ended"),
        "{log}"
    );
    assert!(log.contains("it is started again in 1s"), "{log}");
}

/// `go run` may need most of the time limit.
#[tokio::test(start_paused = true)]
async fn a_slow_start_is_waited_for_until_its_time_limit() {
    let home = tempfile::tempdir().unwrap();
    let release = home.path().join("release");
    let wait = format!("while [ ! -e {} ]; do sleep 0.01; done", release.display());
    let subscribe = r#"echo '{"type":"subscribe","events":[],"intercept":["tool_call"]}'"#;
    let script = format!("{wait}; {HELLO}; {subscribe}; {READY}; exec sleep 60");
    let host = host_without_hello(home.path(), &script);
    let almost = zot_extension_contract::START_TIME - Duration::from_secs(1);
    assert!(timeout(almost, host.settled()).await.is_err());
    assert_eq!(host.extensions()[0].phase(), Phase::Starting);
    tokio::time::resume();
    fs::write(release, "").unwrap();
    host.settled().await;
    assert_eq!(host.extensions()[0].phase(), Phase::Ready);
    assert!(host.extensions()[0].intercepts(EventKind::ToolCall));
    host.shut_down().await;
}

#[tokio::test]
async fn a_guard_that_was_ready_and_guards_nothing_blocks_nothing() {
    let home = tempfile::tempdir().unwrap();
    let host = host(home.path(), r#"echo '{"type":"ready"}'; sleep 0.5; exit 1"#);
    let manifest = home.path().join("sleeper/extension.json");
    let text = fs::read_to_string(&manifest).unwrap();
    host.shut_down().await;
    fs::write(
        &manifest,
        text.replacen('{', r#"{"on_failure":"block","#, 1),
    )
    .unwrap();
    let discovery = discover(&host.search);
    let roster = Roster::start(&discovery, &host.context);
    let extension = &roster.extensions()[0];
    assert!(extension.intercepts(EventKind::ToolCall), "unknown so far");
    let is_restarting = || matches!(extension.phase(), Phase::Restarting { .. });
    host.context.until(is_restarting).await;
    assert!(!extension.intercepts(EventKind::ToolCall));
    roster.stop().await;
}
