//! Attempts to get out of the sandbox. Every one runs in a process of its own, confined through the public
//! interface, with namespaces and with Landlock and seccomp alone, as root and as an ordinary user; and once
//! without a sandbox, where it must succeed: an attempt that cannot succeed proves nothing.
//!
//! The attempts are functions in `attempts/*.py`; the table says what is expected of each. Whether one got
//! out is decided from outside: by a secret in its output, by a change of files, by what a bystander
//! process reports, by processes that are left.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests fail the test"
)]

mod attempt;
mod bystander;
mod confined;
mod modes;
mod runner;
mod snapshot;
mod table;
mod world;

use attempt::Expected;
use modes::Mode;

/// Not a test by itself: the others run it in another process, with the rights and variables they choose.
#[test]
fn inside() {
    runner::run_if_asked();
}

#[test]
fn the_table_is_complete() {
    let mut names = std::collections::BTreeSet::new();
    let mut problems = Vec::new();
    for category in table::CATEGORIES {
        for attempt in category.attempts {
            let name = format!("{}/{}", category.name, attempt.name);
            let function = format!("\ndef {}():\n", attempt.name);
            if !category.source.contains(&function) {
                problems.push(format!("{name} is not a function"));
            }
            if !names.insert(name.clone()) {
                problems.push(format!("{name} is listed twice"));
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(names.len() >= 120, "only {} attempts", names.len());
}

/// What gets out is in the documentation, and the numbers there are those of the table.
#[test]
fn what_is_open_is_documented() {
    let documentation = include_str!("../../../../docs/sandbox.md");
    let (mut count, mut open, mut open_alone, mut reported) = (0, Vec::new(), 0, 0);
    for category in table::CATEGORIES {
        for attempt in category.attempts {
            count += 1;
            let name = format!("{}/{}", category.name, attempt.name);
            for expected in [attempt.with_namespaces, attempt.alone] {
                if let Expected::Weaker(words) = expected {
                    assert!(documentation.contains(words), "{name}: {words:?}");
                }
            }
            match (attempt.with_namespaces, attempt.alone) {
                (Expected::Weaker(_), _) => open.push(format!("`{name}`")),
                (_, Expected::Weaker(_)) => open_alone += 1,
                (_, Expected::Reported) => reported += 1,
                _ => {}
            }
        }
    }
    for words in [
        format!("in {count} ways"),
        format!("these get out: {};", open.join(", ")),
        format!("{open_alone} more"),
        format!("{reported} change protected files"),
    ] {
        assert!(documentation.contains(&words), "expected {words:?}");
    }
}

/// Makes a module for each category, with a test for each mode.
macro_rules! categories {
    ($($name:ident)*) => {
        $(mod $name {
            #[test]
            fn with_namespaces() {
                super::modes::check(stringify!($name), super::Mode::Namespaces);
            }

            #[test]
            fn alone() {
                super::modes::check(stringify!($name), super::Mode::Alone);
            }

            #[test]
            fn without_a_sandbox() {
                super::modes::check(stringify!($name), super::Mode::Off);
            }
        })*

        #[test]
        fn every_category_is_tested() {
            let tested = [$(stringify!($name)),*];
            let listed: Vec<&str> = table::CATEGORIES.iter().map(|category| category.name).collect();
            assert_eq!(listed, tested);
        }
    };
}

categories! {
    paths readable links races protected git scratch level
    proc processes supervision inherited terminal limits programs communication
    network proxy sockets uring
    privileges devices mounts namespaces kernel
}

/// Where the kernel refuses namespaces, nobody has to ask for the filters.
#[test]
fn refused_namespaces_are_replaced() {
    for category in ["paths", "processes", "network"] {
        modes::check(category, Mode::Refused);
    }
}
