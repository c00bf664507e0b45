use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Confinement, confine, enforceable, fails, shell, succeeds, writing};
use crate::launch::Status;

#[test]
fn a_memory_limit_is_enforced() {
    if enforceable().memory != Status::Enforced {
        testkit::skip("memory cannot be limited here");
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
fn a_limit_above_the_current_one_is_not_an_error() {
    let confinement = Confinement::default().memory_limit(u64::MAX);
    assert_eq!(succeeds(shell("echo started"), &confinement), "started\n");
    let script = "ulimit -H -d 200000; ulimit -S -d 200000; exec \"$0\" --exact \
                  launch::tests::limits::a_limit_above_the_current_one_is_not_an_error";
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

/// Names the directory in which [`parent_that_is_killed`] finds its task.
const PARENT_DIRECTORY: &str = "ZOT_PROCESS_TEST_PARENT";

#[test]
fn a_child_dies_with_its_parent() {
    if enforceable().parent_death != Status::Enforced {
        testkit::skip("children cannot be tied to their parent here");
        return;
    }
    for kind in ["confined", "free"] {
        let directory = tempfile::tempdir().unwrap();
        let mut parent = start_parent(directory.path(), kind);
        parent.kill().unwrap();
        parent.wait().unwrap();
        wait_until(|| !is_alive(directory.path()));
        assert!(!directory.path().join("alive").exists());
    }
}

/// Starts a process that starts a child, whose command line names `directory`.
fn start_parent(directory: &Path, kind: &str) -> Child {
    let fifo = directory.join("fifo");
    assert!(Command::new("mkfifo").arg(fifo).status().unwrap().success());
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("launch::tests::limits::parent_that_is_killed")
        .env(PARENT_DIRECTORY, directory)
        .env(NESTED, kind)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(parent.stdout.take().unwrap());
    let mut lines = output.lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("child=ready")));
    assert!(is_alive(directory));
    parent
}

/// Not a test by itself: the parent of `a_child_dies_with_its_parent`.
#[test]
fn parent_that_is_killed() {
    let Some(directory) = std::env::var_os(PARENT_DIRECTORY) else {
        return;
    };
    let mut command = shell("echo child=ready; read line < fifo; echo $line > alive");
    command.arg(&directory).current_dir(&directory);
    let confinement = match std::env::var_os(NESTED) {
        Some(kind) if kind == "confined" => Confinement::default()
            .network(false)
            .filesystem(writing(&[Path::new(&directory)])),
        _ => Confinement::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (command, _) = confine(command, &confinement).unwrap();
        let group = crate::ProcessGroup::spawn(command).unwrap();
        group.exited().await;
    });
}

/// Returns whether a process has `directory` in its command line. Process ids would not do: those in a
/// namespace differ.
fn is_alive(directory: &Path) -> bool {
    let listed = Command::new("ps").args(["-eww", "-o", "args="]).output();
    let listed = String::from_utf8_lossy(&listed.unwrap().stdout).into_owned();
    listed.contains(directory.to_str().unwrap())
}

fn wait_until(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < deadline, "timed out");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_confined_child_inherits_only_the_standard_streams() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("open");
    fs::write(&path, "leaked").unwrap();
    let file = fs::File::open(&path).unwrap();
    // A duplicate without the flag, as a careless parent would leave it.
    let inherited = rustix::io::dup(&file).unwrap();
    rustix::io::fcntl_setfd(&inherited, rustix::io::FdFlags::empty()).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&inherited);
    let read = || shell(&format!("cat <&{number}"));
    assert_eq!(super::output_of(read()).stdout, b"leaked");
    fails(read(), &Confinement::default());
    let confinement = Confinement::default().filesystem(writing(&[]));
    fails(read(), &confinement);
}
