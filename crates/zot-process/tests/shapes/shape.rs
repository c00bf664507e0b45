//! What is run, where, and how it ends.

use std::path::Path;
use std::process::Command;

/// Processes that a script starts. Each is a `sleep` of `MARKER` seconds.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// Starts them. Then the program goes on.
    script: &'static str,
    pub(crate) count: usize,
}

pub(crate) const SHAPES: [Shape; 6] = [
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
pub(crate) enum Place {
    /// Without a sandbox.
    Off,
    /// With namespaces.
    Workspace,
    /// With Landlock and seccomp alone.
    Alone,
}

impl Place {
    pub(crate) const ALL: [Self; 3] = [Self::Off, Self::Workspace, Self::Alone];
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The program exits.
    Exit,
    /// Somebody cancels it.
    Abort,
    Timeout,
    /// The process that runs it is killed.
    Kill,
}

impl Shape {
    pub(crate) fn command(&self, end: End, marker: &str, directory: &Path) -> Command {
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
