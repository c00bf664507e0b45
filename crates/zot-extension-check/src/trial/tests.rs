use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;
use tempfile::TempDir;

use super::*;
use zot_extension_contract::{LaunchRules, START_TIME};

/// A started extension in sh; its directory is removed with it.
async fn start(script: &str) -> (TempDir, Trial) {
    start_with(r#"{"name":"x","exec":"./run.sh"}"#, script).await
}

async fn start_with(manifest: &str, script: &str) -> (TempDir, Trial) {
    let directory = TempDir::new().unwrap();
    let program = directory.path().join("run.sh");
    fs::write(&program, format!("#!/bin/sh\n{script}")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let manifest = Manifest::parse(manifest.as_bytes()).unwrap();
    let stage = Stage {
        zot_version: "0".to_owned(),
        provider: "p".to_owned(),
        model: "m".to_owned(),
        cwd: directory.path().to_owned(),
        data_dir: directory.path().join("data"),
        is_from_project: false,
        rules: LaunchRules::default(),
    };
    let trial = Trial::start(&manifest, directory.path(), &stage).await;
    let trial = trial.unwrap();
    (directory, trial)
}

async fn introduced(trial: &mut Trial) -> Result<Introduction, IntroductionError> {
    let deadline = Instant::now() + START_TIME;
    trial.introduce(deadline, deadline, &mut |_| {}).await
}

const HELLO: &str = "echo '{\"type\":\"hello\",\"name\":\"x\",\"version\":\"1\"}'\n";

#[tokio::test]
async fn hello_ack_names_the_directories_of_the_extension() {
    let (directory, mut trial) = start(&format!(
        "{HELLO}IFS= read -r ack; printf '%s\\n' \"$ack\" >ack.json; echo '{{\"type\":\"ready\"}}'; cat >/dev/null"
    ))
    .await;
    assert!(introduced(&mut trial).await.unwrap().ready);
    let ack = fs::read_to_string(directory.path().join("ack.json")).unwrap();
    let ack: Value = serde_json::from_str(&ack).unwrap();
    assert_eq!(ack["type"], "hello_ack");
    assert_eq!(ack["protocol_version"], 1);
    assert_eq!(ack["extension_dir"], directory.path().to_str().unwrap());
    let data = directory.path().join("data");
    assert_eq!(ack["data_dir"], data.to_str().unwrap());
    let report = trial.shut_down(&mut |_| {}).await;
    assert!(!report.acknowledged && report.status.is_some_and(|status| status.success()));
}

#[tokio::test]
async fn silence_counts_as_ready() {
    let (_directory, mut trial) = start(&format!(
        "{HELLO}echo '{{\"type\":\"register_command\",\"name\":\"a\"}}'\nexec cat >/dev/null"
    ))
    .await;
    let introduction = introduced(&mut trial).await.unwrap();
    assert!(!introduction.ready && introduction.commands.len() == 1);
}

#[tokio::test]
async fn an_extension_that_ignores_shutdown_is_killed_with_its_children() {
    let (directory, mut trial) = start(&format!(
        "trap '' TERM\n(while :; do sleep 1; done) &\necho $! >child\n{HELLO}while :; do sleep 1; done"
    ))
    .await;
    introduced(&mut trial).await.unwrap();
    let report = trial.shut_down(&mut |_| {}).await;
    assert_eq!(report.status, None);
    assert_gone(&directory);
}

#[tokio::test]
async fn dropping_a_trial_kills_everything() {
    let (directory, mut trial) = start(&format!(
        "sleep 1000 &\necho $! >child\n{HELLO}exec cat >/dev/null"
    ))
    .await;
    introduced(&mut trial).await.unwrap();
    drop(trial);
    assert_gone(&directory);
}

/// Polls until the process whose id is in the file `child` has ended.
fn assert_gone(directory: &TempDir) {
    let child = fs::read_to_string(directory.path().join("child")).unwrap();
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    // A zombie has ended, too.
    let runs = || {
        let state = std::process::Command::new("ps")
            .args(["-o", "stat=", "-p", child.trim()])
            .output()
            .unwrap();
        let state = String::from_utf8(state.stdout).unwrap();
        !state.trim().is_empty() && !state.starts_with('Z')
    };
    while runs() {
        assert!(std::time::Instant::now() < deadline, "{child} still runs");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[tokio::test]
async fn an_extension_that_never_reads_does_not_block_us() {
    let (_directory, mut trial) = start(&format!("{HELLO}sleep 1000")).await;
    introduced(&mut trial).await.unwrap();
    let start = Instant::now();
    let sent = trial.send_bytes(&vec![b' '; 4 * 1024 * 1024]).await;
    assert!(matches!(sent, Err(SendError::Stuck)), "{sent:?}");
    assert!(start.elapsed() < TRIAL_WRITE_TIME * 3);
    assert!(matches!(
        trial.send_bytes(b"{}\n").await,
        Err(SendError::Ended)
    ));
}

#[tokio::test]
async fn a_flood_is_held_back_by_the_pipe() {
    let (_directory, mut trial) =
        start(&format!("{HELLO}exec yes '{{\"type\":\"notify\"}}'")).await;
    let now = Instant::now();
    let ready_deadline = now + Duration::from_millis(500);
    let introduction = trial
        .introduce(now + START_TIME, ready_deadline, &mut |_| {})
        .await
        .unwrap();
    assert!(!introduction.ready);
    assert!(trial.output.len() <= OUTPUT_CAPACITY);
    let report = trial.shut_down(&mut |_| {}).await;
    assert_eq!(report.status, None);
}

#[tokio::test]
async fn permissions_are_enforced_as_in_the_host() {
    let enforcement = zot_process::launch::enforceable();
    let is_hidden = testkit::KernelFeature::Landlock.is_hidden();
    if is_hidden || enforcement.files != zot_process::launch::Status::Enforced {
        let reason = enforcement.files.to_string();
        testkit::skip_without(testkit::KernelFeature::Landlock, &reason);
        return;
    }
    let manifest = r#"{"name":"x","exec":"./run.sh","limits":{"memory_mb":256},
        "permissions":{"fs_write":["/nowhere/at/all"],"exec":["sleep"]}}"#;
    let (directory, mut trial) = start_with(
        manifest,
        &format!(
            "{HELLO}IFS= read -r ack\n(echo own >own) 2>/dev/null; echo data >data/written\n\
             ulimit -d >data/memory; (/bin/date >data/date) 2>/dev/null; sleep 0 && echo ran >data/sleep\n\
             export -p >data/variables\n\
             echo '{{\"type\":\"ready\"}}'; IFS= read -r line"
        ),
    )
    .await;
    assert_eq!(
        trial.shortfalls(),
        ["fs_write: /nowhere/at/all does not exist and cannot be written"]
    );
    assert!(introduced(&mut trial).await.unwrap().ready);
    let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap_or_default();
    assert_eq!(read("own"), "");
    assert_eq!(read("data/written"), "data\n");
    assert_eq!(read("data/memory"), format!("{}\n", 256 * 1024));
    assert_eq!(read("data/date"), "");
    assert_eq!(read("data/sleep"), "ran\n");
    assert!(!read("data/variables").contains("CARGO_MANIFEST_DIR"));
    assert!(read("data/variables").contains("PATH"));
    trial.shut_down(&mut |_| {}).await;
}
