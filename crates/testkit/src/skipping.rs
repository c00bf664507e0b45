//! Tests that this machine cannot run. They count as skipped, by name, not as passed.

use std::fs::OpenOptions;
use std::io::Write as _;

/// The file to which every skipped test adds a line; `scripts/test` reads it.
const LIST_VARIABLE: &str = "ZOT_SKIPPED_TESTS";

/// Features that count as missing, separated by spaces: what `scripts/test` says then can be tried on
/// a machine that has them.
const HIDDEN_VARIABLE: &str = "ZOT_HIDDEN_FEATURES";

/// What a test can need of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelFeature {
    /// Confinement of files.
    Landlock,
    /// Filters of system calls.
    Seccomp,
    /// User, process and mount namespaces for an ordinary user.
    Namespaces,
}

impl KernelFeature {
    /// The name that `scripts/test` knows it by.
    fn name(self) -> &'static str {
        match self {
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Namespaces => "namespaces",
        }
    }

    /// Whether the feature is to be treated as missing.
    pub fn is_hidden(self) -> bool {
        let hidden = std::env::var(HIDDEN_VARIABLE).unwrap_or_default();
        hidden.split_whitespace().any(|name| name == self.name())
    }
}

/// Notes that the test of this thread is skipped because the kernel lacks `feature`. The run as a
/// whole fails if the kernel has it.
pub fn skip_without(feature: KernelFeature, reason: &str) {
    note(feature.name(), reason);
}

/// Notes that the test of this thread, or a part of it, is skipped for another reason: a program is not
/// installed, or the machine does not allow what is tested.
pub fn skip(reason: &str) {
    note("other", reason);
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn note(feature: &str, reason: &str) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("unnamed");
    let reason = reason.replace(['\n', '\t'], " ");
    eprintln!("skipped: {name}: {reason}");
    let Some(list) = std::env::var_os(LIST_VARIABLE) else {
        return;
    };
    let line = format!("{feature}\t{name}\t{reason}\n");
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(&list)
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .unwrap_or_else(|error| panic!("cannot add to {}: {error}", list.display()));
}
