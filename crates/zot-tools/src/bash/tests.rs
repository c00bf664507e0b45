use std::os::unix::fs::PermissionsExt;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use zot_conversation::{BoxFuture, Progress, ToolOutput};
use zot_process::TERMINATION_GRACE;

use super::log::LogDirectory;
use super::output::CollectedOutput;
use crate::limits::{MAX_RESULT_BYTES, MAX_RESULT_LINES};
use crate::test_support::{Recorder, Workspace};
use testkit::process::wait_until_group_is_gone;

/// Longer than anything takes that works.
const PATIENCE: Duration = Duration::from_secs(30);

/// The result with its times made `<dur>` and the directory `<cwd>`, as the recordings show it.
fn masked(workspace: &Workspace, output: &ToolOutput) -> String {
    let text = output.joined_text();
    let cwd = workspace.path("");
    let text = text.replace(cwd.to_str().unwrap().trim_end_matches('/'), "<cwd>");
    let Some((before, after)) = text.split_once("Took ") else {
        return text;
    };
    let (seconds, rest) = after.split_once('s').unwrap();
    assert!(seconds.parse::<f64>().is_ok(), "{seconds}");
    format!("{before}Took <dur>{rest}")
}

async fn check(arguments: Value, expected: &str, is_error: bool) {
    let workspace = Workspace::recorded();
    let recorder = Recorder::default();
    let output = workspace
        .call_with(
            "bash",
            arguments.clone(),
            &recorder,
            &CancellationToken::new(),
        )
        .await;
    assert_eq!(masked(&workspace, &output), expected, "{arguments}");
    assert_eq!(output.is_error, is_error, "{arguments}");
    // What was reported on the way is what the result shows.
    for line in recorder.pieces().concat().lines() {
        assert!(output.joined_text().contains(line), "{arguments}: {line}");
    }
}

#[tokio::test]
async fn recorded_variants() {
    let failed = true;
    let ok = false;
    for (arguments, expected, is_error) in [
        (
            json!({"command": "echo hi; exit 3"}),
            "$ echo hi; exit 3\n\nhi\n\n[exit 3]  Took <dur>",
            failed,
        ),
        (json!({"command": ""}), "command is required", failed),
        (json!({"command": "   "}), "command is required", failed),
        (json!({}), "command is required", failed),
        (
            json!({"command": 5}),
            "invalid args: command must be a string, got a number",
            failed,
        ),
        (
            json!({"command": "sleep 5; echo late", "timeout": 1}),
            "$ sleep 5; echo late\n\n[exit -1]  Took <dur>  (timed out after 1s)",
            failed,
        ),
        (
            json!({"command": "printf 'no newline'"}),
            "$ printf 'no newline'\n\nno newline\n\n[exit 0]  Took <dur>",
            ok,
        ),
        (
            json!({"command": "printf 'a\\377b\\n'"}),
            "$ printf 'a\\377b\\n'\n\na\u{fffd}b\n\n[exit 0]  Took <dur>",
            ok,
        ),
        (
            json!({"command": "pwd; env | grep -c '^PATH='"}),
            "$ pwd; env | grep -c '^PATH='\n\n<cwd>\n1\n\n[exit 0]  Took <dur>",
            ok,
        ),
        (
            json!({"command": "kill -9 $$"}),
            "$ kill -9 $$\n\n[exit -1]  Took <dur>",
            failed,
        ),
        (
            json!({"command": "cat"}),
            "$ cat\n\n[exit 0]  Took <dur>",
            ok,
        ),
        (
            json!({"command": "(sleep 1; echo bg) & echo fg"}),
            "$ (sleep 1; echo bg) & echo fg\n\nfg\nbg\n\n[exit 0]  Took <dur>",
            ok,
        ),
        (
            json!({"command": "echo x", "timeout": "3"}),
            "invalid args: timeout must be an integer, got a string",
            failed,
        ),
        (
            json!({"command": "echo x", "timeout": -1}),
            "$ echo x\n\nx\n\n[exit 0]  Took <dur>",
            ok,
        ),
        (
            json!({"command": "echo out; echo err >&2"}),
            "$ echo out; echo err >&2\n\nout\nerr\n\n[exit 0]  Took <dur>",
            ok,
        ),
    ] {
        check(arguments, expected, is_error).await;
    }
}

#[tokio::test]
async fn an_unknown_command_is_the_shells_to_report() {
    let workspace = Workspace::recorded();
    let output = workspace
        .call("bash", json!({"command": "nosuchcmd_xyz"}))
        .await;
    let text = masked(&workspace, &output);
    // Which words precede the name depends on the shell behind /bin/sh.
    assert!(text.starts_with("$ nosuchcmd_xyz\n\n/bin/sh: "), "{text}");
    assert!(
        text.ends_with("not found\n\n[exit 127]  Took <dur>"),
        "{text}"
    );
    assert!(output.is_error);
}

/// Cancels once a line has been reported.
struct CancelOn<'a> {
    line: &'a str,
    cancel: CancellationToken,
    seen: Mutex<String>,
    cancelled: OnceLock<Instant>,
}

impl Progress for CancelOn<'_> {
    fn report(&self, text: String) -> BoxFuture<'_, ()> {
        let mut seen = self.seen.lock().unwrap();
        seen.push_str(&text);
        if seen.contains(self.line) {
            self.cancelled.get_or_init(Instant::now);
            self.cancel.cancel();
        }
        Box::pin(async {})
    }
}

/// Aborts the command once it has printed "ready". Returns the result, the progress, and how long the end took.
async fn aborted(command: &str) -> (String, String, Duration) {
    let workspace = Workspace::recorded();
    let cancel = CancellationToken::new();
    let progress = CancelOn {
        line: "ready\n",
        cancel: cancel.clone(),
        seen: Mutex::default(),
        cancelled: OnceLock::new(),
    };
    let output = workspace
        .call_with("bash", json!({"command": command}), &progress, &cancel)
        .await;
    assert!(output.is_error);
    let seen = progress.seen.lock().unwrap().clone();
    let elapsed = progress.cancelled.get().unwrap().elapsed();
    (masked(&workspace, &output), seen, elapsed)
}

#[tokio::test]
async fn abort_ends_grandchildren() {
    let (text, seen, elapsed) = aborted(
        "echo $$; sh -c 'sleep 300 & sleep 300' & sleep 300 >/dev/null 2>&1 & echo ready; sleep 300",
    )
    .await;
    assert!(text.ends_with("ready\n\n[exit -1]  Took <dur>"), "{text}");
    assert!(elapsed < TERMINATION_GRACE, "no one had to be killed");
    wait_until_group_is_gone(seen.lines().next().unwrap());
}

#[tokio::test]
async fn abort_kills_who_does_not_listen() {
    let (text, seen, elapsed) =
        aborted("trap '' TERM; echo $$; echo ready; while :; do sleep 1; done").await;
    assert!(text.ends_with("[exit -1]  Took <dur>"), "{text}");
    assert!(elapsed >= TERMINATION_GRACE && elapsed < PATIENCE);
    wait_until_group_is_gone(seen.lines().next().unwrap());
}

#[tokio::test]
async fn a_call_aborted_before_it_starts_runs_nothing() {
    let workspace = Workspace::recorded();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let arguments = json!({"command": "touch made"});
    let output = workspace
        .call_with("bash", arguments, &Recorder::default(), &cancel)
        .await;
    assert_eq!(output.joined_text(), "aborted before it started");
    assert!(output.is_error && !workspace.path("made").exists());
}

#[tokio::test]
async fn background_processes_do_not_outlive_the_call() {
    let note = "  (processes still running in the background were ended)";
    for command in [
        // One holds the output open, the other is silent.
        "echo $$; sleep 300 & true",
        "echo $$; sleep 300 >/dev/null 2>&1 & true",
    ] {
        let workspace = Workspace::recorded();
        let output = workspace.call("bash", json!({"command": command})).await;
        let text = output.joined_text();
        assert!(text.ends_with(note) && text.contains("[exit 0]"), "{text}");
        assert!(!output.is_error);
        wait_until_group_is_gone(text.lines().nth(2).unwrap());
    }
}

#[tokio::test]
async fn a_daemon_that_left_the_group_ends_with_the_call() {
    let workspace = Workspace::recorded();
    let started = Instant::now();
    let command = "setsid sh -c 'echo $$; echo > printed; exec sleep 300' & \
                   until [ -e printed ]; do sleep 0.05; done";
    let output = workspace.call("bash", json!({"command": command})).await;
    assert!(started.elapsed() < PATIENCE);
    let text = output.joined_text();
    wait_until_group_is_gone(text.lines().nth(2).unwrap());
    let note = "  (processes still running in the background were ended)";
    assert!(text.ends_with(note), "{text}");
}

#[tokio::test]
async fn long_outputs_show_both_ends_and_are_kept_whole() {
    let workspace = Workspace::recorded();
    let output = workspace
        .call("bash", json!({"command": "seq 1 50000"}))
        .await;
    let text = output.joined_text();
    assert!(text.starts_with("$ seq 1 50000\n\n1\n2\n"), "{text}");
    assert!(text.contains("\n49999\n50000\n\n[exit 0]"));
    assert!(text.len() < MAX_RESULT_BYTES + 500);
    assert!(text.lines().count() < MAX_RESULT_LINES + 10);

    let note = text.lines().find(|line| line.starts_with("... [")).unwrap();
    let path = note
        .split_once("full output: ")
        .unwrap()
        .1
        .trim_end_matches(']');
    let name = std::path::Path::new(path)
        .file_name()
        .unwrap()
        .to_str()
        .unwrap();
    assert!(name.starts_with("zot-bash-") && name.ends_with(".log"));
    assert_eq!(
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let whole: String = (1..=50_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(std::fs::read_to_string(path).unwrap(), whole);

    // The numbers that are missing are as many as the note says.
    let left_out: usize = note
        .trim_start_matches("... [")
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let shown = text
        .lines()
        .filter(|line| line.parse::<u32>().is_ok())
        .count();
    assert_eq!(shown + left_out, 50_000);
}

#[tokio::test]
async fn short_outputs_make_no_file() {
    let workspace = Workspace::recorded();
    workspace
        .call("bash", json!({"command": "seq 1 2000"}))
        .await;
    assert!(!workspace.output.path().join("outputs").exists());
}

#[tokio::test]
async fn a_flood_is_stopped_by_the_time_limit_and_progress_stays_small() {
    let workspace = Workspace::recorded();
    let recorder = Recorder::default();
    let arguments =
        json!({"command": "head -c 4000000 /dev/zero | tr '\\0' x; sleep 60", "timeout": 3});
    let output = workspace
        .call_with("bash", arguments, &recorder, &CancellationToken::new())
        .await;
    let text = output.joined_text();
    assert!(
        text.ends_with("(timed out after 3s)"),
        "{}",
        &text[text.len() - 200..]
    );
    assert!(text.contains("[0 lines, 3948800 bytes left out; full output: "));
    let reported: usize = recorder.pieces().iter().map(String::len).sum();
    assert!(reported < 1024 * 1024, "{reported}");
}

#[tokio::test]
async fn progress_never_splits_a_character() {
    let workspace = Workspace::recorded();
    let recorder = Recorder::default();
    let command = "printf '\\303'; sleep 0.2; printf '\\251\\n'; printf '\\360\\237'";
    let output = workspace
        .call_with(
            "bash",
            json!({"command": command}),
            &recorder,
            &CancellationToken::new(),
        )
        .await;
    assert!(output.joined_text().contains("\n\né\n\u{fffd}\n\n[exit 0]"));
    let pieces = recorder.pieces();
    assert_eq!(pieces.concat(), "é\n\u{fffd}");
    assert!(!pieces.concat().starts_with('\u{fffd}'));
}

#[tokio::test]
async fn a_script_that_cannot_start_says_why() {
    let workspace = Workspace::recorded();
    let output = workspace
        .call(
            "bash",
            json!({"command": format!(": {}", "x".repeat(200_000))}),
        )
        .await;
    let text = output.joined_text();
    assert!(
        text.ends_with("argument list too long; write the script to a file and run that"),
        "{text}"
    );
}

fn collected(output: &[u8], chunk: usize) -> String {
    let directory = tempfile::tempdir().unwrap();
    let mut collected = CollectedOutput::new(LogDirectory::Anywhere(directory.path()));
    for piece in output.chunks(chunk) {
        collected.push(piece);
    }
    let text = collected.into_text();
    match text.find("full output: ") {
        Some(at) => {
            let end = at + text[at..].find(']').unwrap();
            let kept = std::fs::read(&text[at + "full output: ".len()..end]).unwrap();
            assert_eq!(kept, output, "the file holds everything");
            format!("{}<log>{}", &text[..at], &text[end..])
        }
        None => text,
    }
}

#[test]
fn limits_are_exact() {
    let lines = |count: usize| -> String { (0..count).map(|line| format!("{line}\n")).collect() };
    for chunk in [1, 7, 100_000] {
        assert_eq!(collected(lines(2000).as_bytes(), chunk), lines(2000));
        let over = collected(lines(2001).as_bytes(), chunk);
        assert!(
            over.contains("\n399\n... [1 lines, 4 bytes left out; <log>]\n401\n"),
            "{over}"
        );
        let unfinished = collected(format!("{}x", lines(2000)).as_bytes(), chunk);
        assert!(unfinished.contains("399\n... [1 lines, 4 bytes left out; <log>]\n401\n"));
        assert!(unfinished.ends_with("1999\nx"));

        let full = "x".repeat(MAX_RESULT_BYTES);
        assert_eq!(collected(full.as_bytes(), chunk), full);
        let over = collected(format!("{full}é").as_bytes(), chunk);
        assert!(
            over.contains("x\n... [0 lines, 2 bytes left out; <log>]\nx"),
            "{chunk}"
        );
        assert!(over.ends_with("xé"));
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let mut output = CollectedOutput::new(LogDirectory::Anywhere(&file));
    output.push(&b"x\n".repeat(5000));
    let text = output.into_text();
    assert!(text.contains("left out; not kept: "), "{text}");
}
