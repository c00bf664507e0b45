//! Nothing that a command started outlives it: six shapes of processes, ended in four ways, without a sandbox
//! and in one. No process is left after a second, no zombie, no descriptor.
//!
//! `ZOT_SHAPES_ROUNDS=200 cargo test --release --package zot-process --test shapes -- --nocapture` is the
//! long run, and prints figures.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests fail the test"
)]

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{WaitOptions, getpid, set_child_subreaper};
use testkit::process::living_orphans;
use testkit::{KernelFeature, skip_without};
use tokio_util::sync::CancellationToken;
use zot_process::launch::{Status, enforceable, isolation};
use zot_process::sandbox::{Level, Policy, Sandbox, Surroundings};
use zot_process::{Outcome, OutputSink, RunLimits, run};

/// How often each shape is ended in each way.
const ROUNDS_VARIABLE: &str = "ZOT_SHAPES_ROUNDS";
const ROUNDS: usize = 8;

/// Says what a helper process shall run: a level, the number of a shape, a marker.
const HELPER_VARIABLE: &str = "ZOT_SHAPES_HELPER";
const DIRECTORY_VARIABLE: &str = "ZOT_SHAPES_DIRECTORY";

/// The promise.
const SURVIVAL: Duration = Duration::from_secs(1);

/// How long a shape may take to be complete, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The time limit of those that run into it: long enough for all of their processes to start.
const TIME_LIMIT: Duration = Duration::from_millis(150);

/// The time between SIGTERM and SIGKILL, which those that ignore SIGTERM use up.
const GRACE: Duration = Duration::from_millis(50);

/// Processes that a script starts. Each is a `sleep` of `MARKER` seconds.
struct Shape {
    name: &'static str,
    /// Starts them. Then the program goes on.
    script: &'static str,
    count: usize,
}

const SHAPES: [Shape; 6] = [
    Shape {
        name: "child",
        script: "sleep MARKER > /dev/null 2>&1 & child=$!",
        count: 1,
    },
    Shape {
        name: "background child",
        script: "(sleep MARKER > /dev/null 2>&1 &)",
        count: 1,
    },
    Shape {
        name: "double fork",
        script: "( ( (sleep MARKER > /dev/null 2>&1 &) & ) & )",
        count: 1,
    },
    Shape {
        name: "daemon",
        script: "(cd /; setsid sh -c 'setsid sleep MARKER & exit' < /dev/null > /dev/null 2>&1 &)",
        count: 1,
    },
    Shape {
        name: "tree that ignores SIGTERM",
        script: "trap '' TERM HUP INT; \
                 sh -c \"trap '' TERM; sleep MARKER & sh -c 'trap \\\"\\\" TERM; sleep MARKER & wait' & wait\" \
                 > /dev/null 2>&1 & sleep MARKER > /dev/null 2>&1 &",
        count: 3,
    },
    Shape {
        name: "chain of 50",
        script: "chain() { if [ \"$1\" -gt 1 ]; then (chain $(($1 - 1)) &); fi; exec sleep MARKER; }; \
                 (chain 50 > /dev/null 2>&1 &)",
        count: 50,
    },
];

/// How a run is confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Without a sandbox.
    Off,
    /// With namespaces.
    Workspace,
    /// With Landlock and seccomp alone.
    Alone,
}

impl Place {
    const ALL: [Self; 3] = [Self::Off, Self::Workspace, Self::Alone];
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The program exits.
    Exit,
    /// Somebody cancels it.
    Abort,
    Timeout,
    /// The process that runs it is killed.
    Kill,
}

impl Shape {
    fn command(&self, end: End, marker: &str, directory: &Path) -> Command {
        let rest = match end {
            End::Exit => "exit 0",
            // Not `wait`: a signal that is handled would end that.
            End::Abort | End::Timeout | End::Kill => "while :; do sleep 1 > /dev/null 2>&1; done",
        };
        let script = format!("{}\n{rest}\n", self.script.replace("MARKER", marker));
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(script).current_dir(directory);
        command
    }
}

/// What was measured.
#[derive(Default)]
struct Figures {
    rounds: usize,
    /// The longest time until the last process was gone, after the call had returned or the kill.
    slowest: Duration,
    /// The rounds in which not all processes had started when they were ended.
    incomplete: usize,
    /// How much longer than usual the time limit is.
    patience: u32,
}

struct Silence;

impl OutputSink for Silence {
    async fn accept(&mut self, _chunk: &[u8]) {}
}

fn marker() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("77{}.{number:05}", std::process::id())
}

fn sandbox(place: Place, directory: &Path) -> Sandbox {
    let level = match place {
        Place::Off => Level::Off,
        Place::Workspace | Place::Alone => Level::Workspace,
    };
    let surroundings = Surroundings {
        workspace: directory.join("project"),
        home: Some(directory.join("home")),
        scratch: directory.join("scratch"),
        without_namespaces: place == Place::Alone,
        ..Surroundings::default()
    };
    Sandbox::new(Policy::at(level), surroundings).unwrap()
}

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in ["project", "home", "scratch"] {
        fs::create_dir(directory.path().join(name)).unwrap();
    }
    directory
}

/// Runs a shape to its end in this process.
async fn round(
    sandbox: &Sandbox,
    shape: &Shape,
    end: End,
    directory: &Path,
    figures: &mut Figures,
) {
    let marker = marker();
    let command = shape.command(end, &marker, &directory.join("project"));
    let prepared = sandbox.prepare(command).unwrap();
    let cancel = CancellationToken::new();
    let limits = RunLimits {
        time: match end {
            End::Timeout => TIME_LIMIT * (1 + figures.patience),
            _ => PATIENCE,
        },
        termination_grace: GRACE,
    };
    let mut most = 0;
    let watching = async {
        // An abort comes when everything runs; otherwise this only looks whether it does.
        while end != End::Exit && most < shape.count {
            tokio::time::sleep(Duration::from_millis(3)).await;
            most = most.max(living_orphans(&marker));
        }
        if end == End::Abort {
            cancel.cancel();
        }
        std::future::pending::<()>().await;
    };
    let mut silence = Silence;
    let running = run(prepared.command, limits, &cancel, &mut silence);
    let completion = tokio::select! {
        completion = running => completion.unwrap(),
        () = watching => unreachable!("it waits forever"),
    };
    let expected = match end {
        End::Exit => {
            matches!(completion.outcome, Outcome::Exited(Some(status)) if status.success())
        }
        End::Abort => completion.outcome == Outcome::Cancelled,
        End::Timeout => completion.outcome == Outcome::TimedOut,
        End::Kill => false,
    };
    assert!(expected, "{}, {end:?}: {completion:?}", shape.name);
    if end != End::Exit && most < shape.count {
        figures.incomplete += 1;
        // On a busy machine they take longer.
        figures.patience += 1;
    }
    figures.wait_until_gone(shape, end, &marker);
    // No zombie, and no supervisor either.
    assert_eq!(children(), "", "{}, {end:?}", shape.name);
}

impl Figures {
    /// Fails if a process is left after a second.
    fn wait_until_gone(&mut self, shape: &Shape, end: End, marker: &str) {
        let began = Instant::now();
        loop {
            let left = living_orphans(marker);
            if left == 0 {
                break;
            }
            let what = format!("{}, {end:?}: {left} processes are left", shape.name);
            assert!(began.elapsed() < SURVIVAL, "{what}");
            std::thread::sleep(Duration::from_millis(1));
        }
        self.rounds += 1;
        self.slowest = self.slowest.max(began.elapsed());
    }

    fn print(&self, shape: &Shape, end: End, place: Place, took: Duration) {
        println!(
            "figures: {place:?}, {end:?}, {}: {} rounds in {:.1} s, last process gone after {:.1} ms at most, \
             not all {} started in {}",
            shape.name,
            self.rounds,
            took.as_secs_f64(),
            self.slowest.as_secs_f64() * 1000.0,
            shape.count,
            self.incomplete,
        );
    }
}

/// Returns the children of this process that nobody has waited for, dead or alive.
fn children() -> String {
    let mut found = String::new();
    for task in fs::read_dir("/proc/self/task").unwrap().flatten() {
        match fs::read_to_string(task.path().join("children")) {
            Ok(list) => found += list.trim(),
            Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error}"),
        }
    }
    found
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

fn rounds() -> usize {
    let asked = std::env::var(ROUNDS_VARIABLE);
    asked.map_or(ROUNDS, |rounds| rounds.parse().unwrap())
}

fn is_possible(place: Place) -> bool {
    let files = enforceable().files;
    if place != Place::Off && matches!(files, Status::NotEnforced(_)) {
        skip_without(KernelFeature::Landlock, &files.to_string());
        return false;
    }
    let report = isolation();
    if place == Place::Workspace && report.starts_with("a system call filter") {
        skip_without(KernelFeature::Namespaces, &report);
        return false;
    }
    true
}

fn check(place: Place, end: End) {
    if !is_possible(place) {
        return;
    }
    let directory = directory();
    let sandbox = sandbox(place, directory.path());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    // The first round opens what stays open.
    runtime.block_on(round(
        &sandbox,
        &SHAPES[0],
        end,
        directory.path(),
        &mut Figures::default(),
    ));
    let before = descriptors();
    for shape in &SHAPES {
        let (mut figures, began) = (Figures::default(), Instant::now());
        for _ in 0..rounds() {
            runtime.block_on(round(&sandbox, shape, end, directory.path(), &mut figures));
        }
        assert_eq!(descriptors(), before, "{}, {end:?}", shape.name);
        figures.print(shape, end, place, began.elapsed());
        let most = figures.rounds / 2 + 2;
        let what = format!("{}: they never start in time", shape.name);
        assert!(figures.incomplete <= most, "{what}");
    }
}

/// Runs a shape in another process and kills that.
fn check_kill(place: Place) {
    if !is_possible(place) {
        return;
    }
    // What the helper leaves becomes ours, so that it can be counted.
    set_child_subreaper(Some(getpid())).unwrap();
    let directory = directory();
    let before = descriptors();
    for (number, shape) in SHAPES.iter().enumerate() {
        let (mut figures, began) = (Figures::default(), Instant::now());
        for _ in 0..rounds() {
            let marker = marker();
            let mut helper = helper(place, number, &marker, directory.path());
            let deadline = Instant::now() + PATIENCE;
            while living_orphans(&marker) < shape.count {
                assert!(Instant::now() < deadline, "{} does not start", shape.name);
                assert!(helper.try_wait().unwrap().is_none(), "the helper has ended");
                std::thread::sleep(Duration::from_millis(2));
            }
            helper.kill().unwrap();
            helper.wait().unwrap();
            figures.wait_until_gone(shape, End::Kill, &marker);
            wait_for_supervisors(shape);
        }
        assert_eq!(descriptors(), before, "{}", shape.name);
        figures.print(shape, End::Kill, place, began.elapsed());
    }
}

/// Waits for what the helper left: its supervisors end by themselves.
fn wait_for_supervisors(shape: &Shape) {
    let deadline = Instant::now() + SURVIVAL;
    while !children().is_empty() {
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        assert!(
            Instant::now() < deadline,
            "{}: {} is left",
            shape.name,
            children()
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn helper(place: Place, shape: usize, marker: &str, directory: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "helper_process", "--nocapture"])
        .env(HELPER_VARIABLE, format!("{place:?} {shape} {marker}"))
        .env(DIRECTORY_VARIABLE, directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// Not a test by itself: others start it in a process of its own, and kill that.
#[test]
fn helper_process() {
    let Ok(task) = std::env::var(HELPER_VARIABLE) else {
        return;
    };
    let mut words = task.split(' ');
    let mut next = || words.next().unwrap();
    let name = next();
    let place = Place::ALL
        .into_iter()
        .find(|place| format!("{place:?}") == name);
    let (place, shape, marker): (Place, usize, &str) =
        (place.unwrap(), next().parse().unwrap(), next());
    let directory = PathBuf::from(std::env::var_os(DIRECTORY_VARIABLE).unwrap());
    let sandbox = sandbox(place, &directory);
    let command = SHAPES[shape].command(End::Kill, marker, &directory.join("project"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let _inside = runtime.enter();
    let prepared = sandbox.prepare(command).unwrap();
    let never = CancellationToken::new();
    let mut silence = Silence;
    let running = run(prepared.command, PATIENCE, &never, &mut silence);
    runtime.block_on(running).unwrap();
}

/// Makes a module for each place, with a test for each end.
macro_rules! places {
    ($($name:ident $place:ident)*) => {
        $(mod $name {
            use super::{End, Place, check, check_kill};

            #[test]
            fn exit() {
                check(Place::$place, End::Exit);
            }

            #[test]
            fn abort() {
                check(Place::$place, End::Abort);
            }

            #[test]
            fn timeout() {
                check(Place::$place, End::Timeout);
            }

            #[test]
            fn kill() {
                check_kill(Place::$place);
            }
        })*
    };
}

places! {
    off Off
    workspace Workspace
    alone Alone
}
