use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Confinement, confine, enforceable, fails, shell, succeeds, writing};
use crate::launch::Status;

#[test]
fn a_hog_does_not_get_the_memory() {
    if enforceable().memory != Status::Enforced {
        eprintln!("NOT TESTED: memory cannot be limited here");
        return;
    }
    // Doubles a kilobyte to 128 MiB.
    let hog = "x=$(head -c 1024 /dev/zero | tr '\\0' x); i=0; \
               while [ $i -lt 17 ]; do x=$x$x; i=$((i + 1)); done; echo ${#x}";
    let limited = Confinement::default().memory_limit(64 << 20);
    fails(shell(hog), &limited);
    assert_eq!(succeeds(shell(hog), &Confinement::default()), "134217728\n");
    assert_eq!(succeeds(shell("echo small"), &limited), "small\n");
}

#[test]
fn a_limit_above_the_present_one_is_no_error() {
    let confinement = Confinement::default().memory_limit(u64::MAX);
    assert_eq!(succeeds(shell("echo started"), &confinement), "started\n");
    let script = "ulimit -H -d 200000; ulimit -S -d 200000; exec \"$0\" --exact \
                  launch::tests::limits::a_limit_above_the_present_one_is_no_error";
    if std::env::var_os(NESTED).is_none() {
        let mut command = shell(script);
        command
            .arg(std::env::current_exe().unwrap())
            .env(NESTED, "1");
        succeeds(command, &Confinement::default());
    }
}

/// Set for a run of this test program inside a test.
const NESTED: &str = "ZOT_PROCESS_TEST_NESTED";

/// Names the folder in which [`parent_that_is_killed`] finds its task.
const PARENT_FOLDER: &str = "ZOT_PROCESS_TEST_PARENT";

#[test]
fn a_child_dies_with_its_parent() {
    if enforceable().parent_death != Status::Enforced {
        eprintln!("NOT TESTED: children cannot be tied to their parent here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut parent, child) = start_parent(folder.path(), "confined");
    parent.kill().unwrap();
    parent.wait().unwrap();
    wait_until(|| !is_alive(&child));
    assert!(!folder.path().join("alive").exists());
}

#[test]
fn an_unconfined_child_survives_its_parent() {
    let folder = tempfile::tempdir().unwrap();
    let (mut parent, child) = start_parent(folder.path(), "free");
    parent.kill().unwrap();
    parent.wait().unwrap();
    // The child waits for this, and then says so.
    fs::write(folder.path().join("fifo"), "go\n").unwrap();
    wait_until(|| folder.path().join("alive").exists());
    wait_until(|| !is_alive(&child));
}

/// Starts a process that starts a child; returns it, and the number of the child.
fn start_parent(folder: &Path, kind: &str) -> (Child, String) {
    let fifo = folder.join("fifo");
    assert!(Command::new("mkfifo").arg(fifo).status().unwrap().success());
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("launch::tests::limits::parent_that_is_killed")
        .env(PARENT_FOLDER, folder)
        .env(NESTED, kind)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(parent.stdout.take().unwrap());
    let child = output
        .lines()
        .map(Result::unwrap)
        .find_map(|line| Some(line.split_once("child=")?.1.to_owned()))
        .unwrap();
    assert!(is_alive(&child));
    (parent, child)
}

/// No test by itself: the parent in the two above, in a process of its own.
#[test]
fn parent_that_is_killed() {
    let Some(folder) = std::env::var_os(PARENT_FOLDER) else {
        return;
    };
    let mut command = shell("echo child=$$; read line < fifo; echo $line > alive");
    command.current_dir(&folder);
    let confinement = match std::env::var_os(NESTED) {
        Some(kind) if kind == "confined" => Confinement::default()
            .die_with_parent(true)
            .network(false)
            .filesystem(writing(&[Path::new(&folder)])),
        _ => Confinement::default(),
    };
    confine(&mut command, &confinement).unwrap();
    let mut child = command.spawn().unwrap();
    child.wait().unwrap();
}

fn is_alive(process: &str) -> bool {
    let status = Command::new("ps")
        .args(["-o", "stat=", "-p", process])
        .output()
        .unwrap();
    let state = String::from_utf8_lossy(&status.stdout);
    !state.trim().is_empty() && !state.trim_start().starts_with('Z')
}

fn wait_until(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_confined_child_inherits_the_standard_streams_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("open");
    fs::write(&path, "leaked").unwrap();
    let file = fs::File::open(&path).unwrap();
    // A duplicate without the flag, as a parent that is less careful leaves it to us.
    let inherited = rustix::io::dup(&file).unwrap();
    rustix::io::fcntl_setfd(&inherited, rustix::io::FdFlags::empty()).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&inherited);
    let read = || shell(&format!("cat <&{number}"));
    assert_eq!(succeeds(read(), &Confinement::default()), "leaked");
    fails(read(), &Confinement::default().die_with_parent(true));
    let confinement = Confinement::default().filesystem(writing(&[]));
    fails(read(), &confinement);
}
