//! Reports tests that this machine cannot run as skipped, not as passed.

use std::fs::OpenOptions;
use std::io::Write as _;

/// The file to which every skipped test adds a line; `scripts/test` reads it.
const LIST_VARIABLE: &str = "ZOT_SKIPPED_TESTS";

/// Features that count as missing, separated by spaces, to try out how `scripts/test` reports them.
const HIDDEN_VARIABLE: &str = "ZOT_HIDDEN_FEATURES";

/// A kernel feature that a test may need.
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
    /// Returns its name in `scripts/test`.
    fn name(self) -> &'static str {
        match self {
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Namespaces => "namespaces",
        }
    }

    /// Returns whether to treat the feature as missing.
    pub fn is_hidden(self) -> bool {
        let hidden = std::env::var(HIDDEN_VARIABLE).unwrap_or_default();
        hidden.split_whitespace().any(|name| name == self.name())
    }
}

/// Records that this thread's test is skipped because the kernel lacks `feature`. The whole run fails if
/// the kernel has it.
pub fn skip_without(feature: KernelFeature, reason: &str) {
    note(feature.name(), reason);
}

/// Records that this thread's test, or a part of it, is skipped for another reason: a missing program, or
/// a restriction of the machine.
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
