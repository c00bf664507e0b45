//! What is left after a run, and how long it takes to go.

use std::fs;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use testkit::process::living_orphans;

use crate::shape::{End, Place, Shape};

/// The promise.
pub(crate) const SURVIVAL: Duration = Duration::from_secs(1);

/// What was measured.
#[derive(Default)]
pub(crate) struct Figures {
    pub(crate) rounds: usize,
    /// The longest time until the last process was gone, after the call had returned or the kill.
    slowest: Duration,
    /// The rounds in which not all processes had started when they were ended.
    pub(crate) incomplete: usize,
    /// How much longer than usual the time limit is.
    pub(crate) patience: u32,
}

impl Figures {
    /// Fails if a process is left after a second.
    pub(crate) fn wait_until_gone(&mut self, shape: &Shape, end: End, marker: &str) {
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

    pub(crate) fn print(&self, shape: &Shape, end: End, place: Place, took: Duration) {
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
pub(crate) fn children() -> String {
    let mut found = String::new();
    for task in fs::read_dir("/proc/self/task").unwrap().flatten() {
        match fs::read_to_string(task.path().join("children")) {
            Ok(list) => found += list.trim(),
            Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error}"),
        }
    }
    found
}

pub(crate) fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}
