use std::process::Command;
use std::time::Instant as Clock;

use rustix::process::{Pid, test_kill_process};

use super::*;

async fn shell(script: &str, seconds: f64, output_bytes: usize) -> Finished {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    let limits = Limits {
        time: Duration::from_secs_f64(seconds),
        output_bytes,
    };
    run(command, limits).await.unwrap()
}

/// Lets a script run into its time limit: again with more time where it has not begun, on a busy machine.
async fn timed_out(
    script: &str,
    output_bytes: usize,
    has_begun: impl Fn(&Finished) -> bool,
) -> Finished {
    for seconds in [0.3, 3.0, 15.0] {
        let finished = shell(script, seconds, output_bytes).await;
        assert!(finished.status.is_none());
        if has_begun(&finished) {
            return finished;
        }
    }
    panic!("{script} never begins");
}

fn is_alive(pid: &str) -> bool {
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    // A zombie counts as dead.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let is_zombie = stat.is_ok_and(|stat| stat.contains(") Z "));
    test_kill_process(pid).is_ok() && !is_zombie
}

#[tokio::test]
async fn streams_stay_apart() {
    let finished = shell("echo out; echo err >&2; exit 3", 10.0, 100).await;
    assert_eq!(finished.status.unwrap().unwrap().code(), Some(3));
    assert_eq!(finished.stdout.text(), "out\n");
    assert_eq!(finished.stderr.text(), "err\n");
}

#[tokio::test]
async fn a_timeout_kills_the_whole_group_and_keeps_the_output() {
    let script = "sleep 60 & echo $!; echo bad >&2; sleep 60";
    let began = Clock::now();
    let finished = timed_out(script, 100, |finished| !finished.stderr.text().is_empty()).await;
    assert!(began.elapsed() < Duration::from_secs(40));
    assert_eq!(finished.stderr.text(), "bad\n");
    assert!(!is_alive(&finished.stdout.text()));
}

#[tokio::test]
async fn a_flood_neither_fills_memory_nor_stops_the_clock() {
    let finished = timed_out("yes", 10, |finished| !finished.stdout.text().is_empty()).await;
    assert!(
        finished
            .stdout
            .text()
            .starts_with("y\ny\ny\ny\ny\n[output cut: ")
    );
    let finished = shell("head -c 1000000 /dev/zero; echo end >&2", 10.0, 5).await;
    assert!(finished.status.unwrap().unwrap().success());
    assert_eq!(finished.stderr.text(), "end\n");
}

#[tokio::test]
async fn background_processes_are_killed() {
    let finished = shell("sleep 60 & echo $!", 30.0, 100).await;
    assert!(finished.status.unwrap().unwrap().success());
    assert!(!is_alive(&finished.stdout.text()));
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_reported() {
    let limits = Limits {
        time: Duration::from_secs(1),
        output_bytes: 1,
    };
    let error = run(Command::new("/nowhere/program"), limits)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}
