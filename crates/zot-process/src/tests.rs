use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::{Duration, Instant};

use testkit::process::wait_until_group_is_gone;
use tokio_util::sync::CancellationToken;

use crate::{
    Outcome, OutputSink, ProcessGroup, RunLimits, TERMINATION_GRACE, run, run_with_separate_outputs,
};

/// Longer than anything takes that works.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Default)]
struct Collect(Vec<u8>);

impl OutputSink for Collect {
    async fn accept(&mut self, chunk: &[u8]) {
        self.0.extend_from_slice(chunk);
    }
}

/// Collects the output, and calls `act` once a whole line has arrived.
struct AfterLine<F> {
    output: Vec<u8>,
    act: F,
}

impl<F: FnMut() + Send> OutputSink for AfterLine<F> {
    async fn accept(&mut self, chunk: &[u8]) {
        self.output.extend_from_slice(chunk);
        if chunk.contains(&b'\n') {
            (self.act)();
        }
    }
}

/// Never accepts anything.
struct Stuck;

impl OutputSink for Stuck {
    async fn accept(&mut self, _chunk: &[u8]) {
        std::future::pending().await
    }
}

/// Time limits to try in turn: on a busy machine, a program may not have printed anything within the first.
const TIME_LIMITS: [Duration; 3] = [
    Duration::from_millis(300),
    Duration::from_secs(3),
    Duration::from_secs(20),
];

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script);
    command
}

#[tokio::test]
async fn status_and_output_arrive() {
    let mut sink = Collect::default();
    let cancel = CancellationToken::new();
    let completion = run(
        shell("echo out; echo err >&2; exit 7"),
        Duration::from_secs(60),
        &cancel,
        &mut sink,
    )
    .await
    .unwrap();
    let Outcome::Exited(Some(status)) = completion.outcome else {
        panic!("{completion:?}");
    };
    assert_eq!(status.code(), Some(7));
    assert_eq!(sink.0, b"out\nerr\n");
    assert!(!completion.ended_background);
}

#[tokio::test]
async fn outputs_are_separate_and_a_short_grace_is_respected() {
    for time in TIME_LIMITS {
        let (mut stdout, mut stderr) = (Collect::default(), Collect::default());
        let limits = RunLimits {
            time,
            termination_grace: Duration::from_millis(100),
        };
        let completion = run_with_separate_outputs(
            shell("trap '' TERM; echo out; echo err >&2; while :; do sleep 0.05; done"),
            limits,
            &CancellationToken::new(),
            &mut stdout,
            &mut stderr,
        )
        .await
        .unwrap();
        assert_eq!(completion.outcome, Outcome::TimedOut);
        if stderr.0.is_empty() {
            continue;
        }
        let after_limit = completion.elapsed - time;
        assert!(after_limit < TERMINATION_GRACE, "{completion:?}");
        assert_eq!(stdout.0, b"out\n");
        assert_eq!(stderr.0, b"err\n");
        return;
    }
    panic!("it never printed anything");
}

#[tokio::test]
async fn closing_the_output_early_does_not_end_the_wait() {
    let mut sink = Collect::default();
    let cancel = CancellationToken::new();
    let script = "exec >/dev/null 2>&1; sleep 0.3; exit 4";
    let completion = run(shell(script), Duration::from_secs(60), &cancel, &mut sink)
        .await
        .unwrap();
    let Outcome::Exited(Some(status)) = completion.outcome else {
        panic!("{completion:?}");
    };
    assert_eq!(status.code(), Some(4));
}

#[tokio::test]
async fn a_stuck_reader_does_not_delay_the_time_limit() {
    let cancel = CancellationToken::new();
    let started = Instant::now();
    let completion = run(
        shell("yes"),
        Duration::from_millis(200),
        &cancel,
        &mut Stuck,
    )
    .await
    .unwrap();
    assert_eq!(completion.outcome, Outcome::TimedOut);
    assert!(started.elapsed() < PATIENCE);
}

#[tokio::test]
async fn a_flood_does_not_delay_the_time_limit() {
    struct Discard(u64);
    impl OutputSink for Discard {
        async fn accept(&mut self, chunk: &[u8]) {
            self.0 += chunk.len() as u64;
        }
    }
    let cancel = CancellationToken::new();
    for time in TIME_LIMITS {
        let mut sink = Discard(0);
        let completion = run(shell("cat /dev/zero"), time, &cancel, &mut sink)
            .await
            .unwrap();
        assert_eq!(completion.outcome, Outcome::TimedOut);
        // The flood itself never ends.
        assert!(completion.elapsed - time < PATIENCE, "{completion:?}");
        if sink.0 > 0 {
            return;
        }
    }
    panic!("nothing ever arrived");
}

#[tokio::test]
async fn dropping_a_group_kills_and_reaps_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("id");
    let script = format!(
        "trap '' TERM; echo $$ > '{0}.new'; mv '{0}.new' '{0}'; sleep 300 & sleep 300",
        path.display()
    );
    let group = ProcessGroup::spawn(shell(&script)).unwrap();
    while !path.exists() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(group);
    wait_until_group_is_gone(std::fs::read_to_string(path).unwrap().trim());
}

#[tokio::test]
async fn processes_are_asked_to_end_and_then_killed() {
    let directory = tempfile::tempdir().unwrap();
    let ready = directory.path().join("ready");
    let check = async |reaction: &str, grace: Duration, expected: i32| {
        let script = format!(
            "exec 2> /dev/null; trap {reaction} TERM; echo $$ > '{0}.new'; mv '{0}.new' '{0}'; while :; do sleep 0.01; done",
            ready.display()
        );
        let group = ProcessGroup::spawn(shell(&script)).unwrap();
        while !ready.exists() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let waited = tokio::time::timeout(Duration::from_millis(20), group.exited()).await;
        assert!(waited.is_err(), "it has not been asked yet");
        let status = group.end(grace).await.status.unwrap();
        assert_eq!(status.into_raw(), expected, "{reaction}");
        wait_until_group_is_gone(std::fs::read_to_string(&ready).unwrap().trim());
        std::fs::remove_file(&ready).unwrap();
    };
    check("'exit 3'", Duration::from_secs(60), 3 << 8).await;
    check("''", Duration::from_millis(200), 9).await;
}

#[tokio::test]
async fn dropping_a_run_kills_the_group() {
    let has_printed = CancellationToken::new();
    let mut sink = AfterLine {
        output: Vec::new(),
        act: || has_printed.cancel(),
    };
    let cancel = CancellationToken::new();
    let running = run(
        shell("echo $$; sleep 300"),
        Duration::from_secs(60),
        &cancel,
        &mut sink,
    );
    tokio::select! {
        completion = running => panic!("{completion:?}"),
        () = has_printed.cancelled() => {}
    }
    wait_until_group_is_gone(String::from_utf8(sink.output).unwrap().trim());
}

#[tokio::test]
async fn a_missing_program_is_an_error() {
    let cancel = CancellationToken::new();
    let command = Command::new("/nonexistent/program");
    let error = run(
        command,
        Duration::from_secs(1),
        &cancel,
        &mut Collect::default(),
    )
    .await
    .unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

#[tokio::test]
async fn nothing_leaks_over_many_runs() {
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let cancel = CancellationToken::new();
    let once = async || {
        run(
            shell("true"),
            Duration::from_secs(60),
            &cancel,
            &mut Collect::default(),
        )
        .await
        .unwrap()
    };
    once().await;
    let before = descriptors();
    for _ in 0..50 {
        once().await;
    }
    // Other tests of this process open files too.
    assert!(descriptors() < before + 40);
}

/// Ways for a process to outlive its command. Each prints the id of a sleeping process.
const ESCAPES: [&str; 15] = [
    "sleep 300 & echo $!",
    "setsid sleep 300 & echo $!",
    "setsid sh -c 'echo $$; exec sleep 300' < /dev/null & sleep 0.1",
    "(sleep 300 & echo $!) &",
    "nohup sleep 300 > /dev/null 2>&1 & echo $!",
    "bash -c 'sleep 300 & disown; echo $!'",
    "bash -c 'set -m; sleep 300 & echo $!'",
    "sh -c 'setsid sh -c \"setsid sleep 300 & echo \\$!\" &'",
    "(trap '' TERM HUP INT; sleep 300) & echo $!",
    "setsid sh -c 'trap \"\" TERM HUP; echo $$; exec > /dev/null 2>&1 < /dev/null; sleep 300' &",
    "sleep 300 & kill -STOP $!; echo $!",
    "setsid sh -c 'echo $$; kill -STOP $$; sleep 300' &",
    "python3 -c 'import subprocess as s; print(s.Popen([\"sleep\", \"300\"], start_new_session=True).pid)'",
    "python3 -c 'import os; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); \
     print(os.getpid(), flush=True); os.closerange(0, 99); os.execlp(\"sleep\", \"sleep\", \"300\")'",
    "bash -c 'coproc sleep 300; echo $COPROC_PID'",
];

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default();
    !state.is_empty() && !state.trim_start().starts_with(['Z', 'X'])
}

/// How the script that starts an escaping process ends.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, PartialEq)]
enum ScriptEnd {
    /// By itself, after the escaped process has printed its id.
    Exits,
    /// It turns into another program, and is cancelled once the escaped process runs.
    Cancelled,
}

/// Runs `escape` in a script with this end, and checks that nothing is left.
#[cfg(target_os = "linux")]
async fn check_escape(escape: &str, end: ScriptEnd) {
    let cancel = CancellationToken::new();
    let directory = tempfile::tempdir().unwrap();
    let printed = directory.path().join("printed");
    let last_line = match end {
        ScriptEnd::Exits => format!(
            "until [ -e '{}' ]; do sleep 0.05; done; sleep 0.1",
            printed.display()
        ),
        ScriptEnd::Cancelled => "exec sleep 300".to_owned(),
    };
    let mut sink = AfterLine {
        output: Vec::new(),
        act: || match end {
            ScriptEnd::Exits => std::fs::write(&printed, "").unwrap(),
            ScriptEnd::Cancelled => cancel.cancel(),
        },
    };
    let script = format!("{escape}\n{last_line}");
    let limits = RunLimits {
        time: Duration::from_secs(60),
        // Some escapes ignore SIGTERM and would wait for the whole default grace.
        termination_grace: Duration::from_millis(200),
    };
    let completion = run(shell(&script), limits, &cancel, &mut sink)
        .await
        .unwrap();
    let output = String::from_utf8(sink.output).unwrap();
    let pid = output.trim();
    assert!(pid.parse::<u32>().is_ok(), "{script}: {output:?}");
    assert!(!is_alive(pid), "{script} {completion:?}");
    assert!(!completion.left_daemon);
    match end {
        ScriptEnd::Exits => assert!(completion.ended_background, "{script} {completion:?}"),
        ScriptEnd::Cancelled => assert_eq!(completion.outcome, Outcome::Cancelled, "{script}"),
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn escaped_processes_end_with_the_command() {
    // All at the same time, because each waits for a grace period.
    let mut checks = tokio::task::JoinSet::new();
    for end in [ScriptEnd::Exits, ScriptEnd::Cancelled] {
        for escape in ESCAPES {
            checks.spawn(check_escape(escape, end));
        }
    }
    while let Some(checked) = checks.join_next().await {
        checked.unwrap();
    }
}
