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

mod figures;
mod shape;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{WaitOptions, getpid, set_child_subreaper};
use testkit::process::living_orphans;
use testkit::{KernelFeature, skip_without};
use tokio_util::sync::CancellationToken;
use zot_process::launch::{Status, enforceable, isolation};
use zot_process::sandbox::{Level, Policy, Sandbox, Surroundings};
use zot_process::{Outcome, OutputSink, RunLimits, run};

use figures::{Figures, SURVIVAL, children, descriptors};
use shape::{End, Place, SHAPES, Shape};

/// How often each shape is ended in each way.
const ROUNDS_VARIABLE: &str = "ZOT_SHAPES_ROUNDS";
const ROUNDS: usize = 8;

/// Says what a helper process shall run: a level, the number of a shape, a marker.
const HELPER_VARIABLE: &str = "ZOT_SHAPES_HELPER";
const DIRECTORY_VARIABLE: &str = "ZOT_SHAPES_DIRECTORY";

/// How long a shape may take to be complete, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The time limit of those that run into it: long enough for all of their processes to start.
const TIME_LIMIT: Duration = Duration::from_millis(150);

/// The time between SIGTERM and SIGKILL, which those that ignore SIGTERM use up.
const GRACE: Duration = Duration::from_millis(50);

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

/// Children and descriptors are counted for the whole process, so that one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn check(place: Place, end: End) {
    let _alone = alone();
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
    let _alone = alone();
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
    set_child_subreaper(None).unwrap();
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
            use super::shape::{End, Place};
            use super::{check, check_kill};

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
