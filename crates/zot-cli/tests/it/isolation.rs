//! What tools leave behind, and what confined tools can reach.
#![cfg(target_os = "linux")]

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde_json::{Value, json};
use testkit::process::{ORPHANS, living_orphans, orphans};
use testkit::{KernelFeature, Wire, poll_until, skip_without};

use crate::support::{Session, of_kind};

fn has_all_programs() -> bool {
    let missing: Vec<&str> = ["setsid", "bash", "python3"]
        .into_iter()
        .filter(|name| {
            !["/bin", "/usr/bin"]
                .iter()
                .any(|directory| std::path::Path::new(directory).join(name).exists())
        })
        .collect();
    if !missing.is_empty() {
        testkit::skip(&format!("{missing:?} are not installed"));
    }
    missing.is_empty()
}

fn session(jailed: bool) -> Session {
    Session::start_with(Wire::OpenAi, |command| match jailed {
        true => command.argument("--jail"),
        false => command,
    })
}

fn bash(script: &str) -> String {
    format!("tool:bash:{}", json!({ "command": script }))
}

/// Returns a number that no other running test uses.
fn marker(case: usize) -> String {
    format!("86{case:03}.{}", std::process::id())
}

/// Starts a command that leaves processes behind and keeps running.
fn with_orphans(jailed: bool, marker: &str) -> Session {
    let mut session = session(jailed);
    let script = format!("{}\necho started; sleep 300", orphans(marker));
    session.zot.prompt("1", &bash(&script));
    session.zot.event("tool_progress");
    poll_until("all are there", || living_orphans(marker) == ORPHANS);
    session
}

#[test]
fn a_killed_zot_leaves_no_process_behind() {
    if !has_all_programs() {
        return;
    }
    for (case, jailed) in [false, true].into_iter().enumerate() {
        let marker = marker(case);
        let session = with_orphans(jailed, &marker);
        session.zot.signal(Signal::KILL);
        poll_until("they are gone", || living_orphans(&marker) == 0);
    }
}

#[test]
fn an_abort_and_a_signal_leave_no_process_behind() {
    if !has_all_programs() {
        return;
    }
    for (case, jailed) in [false, true].into_iter().enumerate() {
        let marker = marker(10 + case);
        let mut session = with_orphans(jailed, &marker);
        session.zot.send(json!({"id": "a", "type": "abort"}));
        session.zot.event("tool_result");
        assert_eq!(living_orphans(&marker), 0);
        session.zot.event("done");

        let marker = self::marker(20 + case);
        let session = with_orphans(jailed, &marker);
        session.zot.signal(Signal::TERM);
        let finished = session.zot.wait(std::time::Duration::from_secs(30));
        assert_eq!(finished.code, Some(143));
        poll_until("they are gone", || living_orphans(&marker) == 0);
    }
}

#[test]
fn a_command_leaves_no_process_behind() {
    if !has_all_programs() {
        return;
    }
    for (case, jailed) in [false, true].into_iter().enumerate() {
        let marker = marker(30 + case);
        let mut session = session(jailed);
        let frames = session.zot.turn("1", &bash(&orphans(&marker)));
        assert_eq!(living_orphans(&marker), 0, "{frames:?}");
        let results = of_kind(&frames, "tool_result");
        let text = results[0].to_string();
        assert!(text.contains("in the background were ended"), "{text}");
    }
}

/// Even a process that may raise the limit again cannot be dumped.
#[test]
fn zot_cannot_be_dumped() {
    let mut session = Session::start(Wire::OpenAi);
    session.zot.turn("1", "say:1");
    let pid = session.zot.pid();
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core"));
    let words: Vec<&str> = core.unwrap().split_whitespace().collect();
    assert_eq!(words[4..6], ["0", "0"], "soft and hard");
    let unlimited = Rlimit {
        current: None,
        maximum: None,
    };
    let raised = prlimit(
        Pid::from_raw(i32::try_from(pid).unwrap()),
        Resource::Core,
        unlimited,
    );
    eprintln!("the limit was raised: {raised:?}");
    session.zot.signal(Signal::ABORT);
    let finished = session.zot.wait(std::time::Duration::from_secs(30));
    assert_eq!(finished.signal, Some(6));
    let left = std::fs::read_dir(session.workdir.path()).unwrap();
    let cores: Vec<_> = left
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("core"))
        .collect();
    assert!(cores.is_empty(), "{cores:?}");
}

/// Tries limits, priorities and signals on every process number.
const REACH_ALL: &str = r#"python3 - <<'END'
import os, resource
own = {os.getpid(), os.getppid(), 1}
reached = []
for pid in range(2, 70000):
    if pid in own:
        continue
    attempts = (
        lambda: resource.prlimit(pid, resource.RLIMIT_CORE),
        lambda: os.kill(pid, 0),
        lambda: os.sched_getaffinity(pid) and os.sched_setaffinity(pid, os.sched_getaffinity(pid)),
        lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
    )
    for attempt in attempts:
        try:
            attempt()
            reached.append(pid)
        except OSError:
            pass
print('reached', len(reached))
END"#;

#[test]
fn a_jailed_command_reaches_no_other_process() {
    if !has_all_programs() {
        return;
    }
    let mut session = session(true);
    let frames = session.zot.turn("1", &bash(REACH_ALL));
    let result = result(&frames);
    if KernelFeature::Landlock.is_hidden() || result.contains("cannot be confined here") {
        skip_without(KernelFeature::Landlock, &result);
        return;
    }
    assert!(result.contains("reached 0"), "{result}");
}

#[test]
fn a_jailed_command_changes_no_attributes_outside() {
    let mut session = session(true);
    let beside = session.workdir.parent().join("beside");
    std::fs::write(&beside, "x").unwrap();
    let state = || {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = std::fs::metadata(&beside).unwrap();
        (metadata.mode(), metadata.mtime(), metadata.ctime_nsec())
    };
    let before = state();
    let script = "chmod 777 ../beside; touch -d @1 ../beside; chown 0 ../beside; \
                  chmod 777 .. ; setfattr -n user.x -v y ../beside; \
                  echo '#!/bin/sh' > inside && chmod +x inside && touch -d @1 inside && ./inside && echo went";
    let frames = session.zot.turn("1", &bash(script));
    assert_eq!(state(), before);
    let result = result(&frames);
    if KernelFeature::Landlock.is_hidden() || result.contains("cannot be confined here") {
        skip_without(KernelFeature::Landlock, &result);
        return;
    }
    assert!(result.contains("went"), "{result}");
}

fn result(frames: &[Value]) -> String {
    of_kind(frames, "tool_result")[0].to_string()
}
