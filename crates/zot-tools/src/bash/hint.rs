//! What the output of a command says about limits and connections of the sandbox. It is text that a model may
//! have chosen: it leads to advice only.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use zot_process::sandbox::Limits;

const MIB: u64 = 1024 * 1024;

/// The signals that end a process which has used up its processor time: SIGKILL and SIGXCPU.
const KILLED: i32 = 9;
const OUT_OF_TIME: i32 = 24;

/// What a shell adds to the number of a signal to make an exit code of it.
const SIGNAL_CODE: i32 = 128;

/// What programs say when there is no more memory, in lower case.
const MEMORY_WORDS: [&str; 5] = [
    "cannot allocate memory",
    "memoryerror",
    "out of memory",
    "memory exhausted",
    "bad_alloc",
];

/// What they say when there can be no more processes, in lower case.
const PROCESS_WORDS: [&str; 4] = [
    "resource temporarily unavailable",
    "cannot fork",
    "can't start new thread",
    "eagain",
];

/// What they say when they have too many files open, in lower case.
const OPEN_FILES_WORDS: [&str; 2] = ["too many open files", "emfile"];

/// What they say when nobody listens at an address, in lower case.
const NOBODY_LISTENS_WORDS: [&str; 4] = [
    "connection refused",
    "failed to connect",
    "couldn't connect",
    "econnrefused",
];

/// The names of the machine itself, in the words of programs and in those of rules.
const LOOPBACK_NAMES: [(&str, &str); 3] = [
    ("localhost", "localhost"),
    ("127.0.0.1", "127.0.0.1"),
    ("::1", "[::1]"),
];

/// Words of lines about a socket that cannot be used, in lower case.
const SOCKET_WORDS: [&str; 7] = [
    "permission denied",
    "operation not permitted",
    "no such file or directory",
    "connect",
    "eacces",
    "eperm",
    "enoent",
];

/// What git says of a worktree or submodule whose repository it cannot find.
const NO_REPOSITORY: &str = "fatal: not a git repository: ";

/// What programs say when a mode, an owner or a time is not changed, in lower case. The module `venv` of Python
/// says only which of its commands failed.
const NOT_PERMITTED_WORDS: [&str; 3] = ["operation not permitted", "eperm", "ensurepip"];

/// What joins commands, so that the exit code is that of only one of them.
const JOINS: [char; 4] = ['|', ';', '&', '\n'];

/// How many words of a text are looked at for sockets.
///
/// Limit: a socket that is named later is not found.
const MAX_SOCKET_WORDS: usize = 2_000;

/// How a command ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) status: Option<ExitStatus>,
    pub(super) elapsed: Duration,
}

impl Ended {
    fn failed(&self) -> bool {
        self.status.is_none_or(|status| !status.success())
    }

    /// Returns whether `signal` ended the command, or the last one of a shell.
    fn is_by(&self, signal: i32) -> bool {
        self.status.is_some_and(|status| {
            status.signal() == Some(signal) || status.code() == Some(SIGNAL_CODE + signal)
        })
    }
}

/// Returns a sentence about every one of `limits` that the command seems to have reached.
pub(super) fn reached_limits(limits: &Limits, output: &str, ended: &Ended) -> Vec<String> {
    if !ended.failed() {
        return Vec::new();
    }
    let output = output.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| output.contains(words));
    let is_out_of_time = |seconds: u64| {
        let is_over = ended.elapsed >= Duration::from_secs(seconds);
        ended.is_by(OUT_OF_TIME)
            || says(&["cpu time limit exceeded"])
            || (is_over && (ended.is_by(KILLED) || says(&["killed"])))
    };
    let time = limits
        .processor_seconds
        .filter(|seconds| is_out_of_time(*seconds));
    let memory = limits.memory_bytes.filter(|_| says(&MEMORY_WORDS));
    let processes = limits.processes.filter(|_| says(&PROCESS_WORDS));
    let open_files = limits.open_files.filter(|_| says(&OPEN_FILES_WORDS));
    let found = [
        time.map(|seconds| {
            (
                format!("{seconds} s of processor time for each process"),
                "processor-seconds",
            )
        }),
        memory.map(|bytes| {
            (
                format!("{} MiB of memory for each process", bytes / MIB),
                "memory-mib",
            )
        }),
        processes.map(|count| (format!("{count} processes"), "processes")),
        open_files.map(|count| (format!("{count} open files for each process"), "open-files")),
    ];
    let found = found.into_iter().flatten();
    found
        .map(|(limit, option)| {
            format!(
                "the command seems to have reached the limit of {limit}; only the user can raise it, with \
                 --sandbox-{option} N"
            )
        })
        .collect()
}

/// Returns the name of the machine itself, as a rule has it, if a line says that nobody listens there. Programs
/// ask the proxy only for a host that a rule names in the same way.
pub(super) fn missed_local_host(output: &str) -> Option<&'static str> {
    output.lines().find_map(|line| {
        let line = line.to_lowercase();
        if !NOBODY_LISTENS_WORDS
            .iter()
            .any(|words| line.contains(words))
        {
            return None;
        }
        let mut names = LOOPBACK_NAMES.iter();
        names
            .find(|(name, _)| line.contains(name))
            .map(|(_, rule)| *rule)
    })
}

/// Returns whether the output says that something could not be connected to.
pub(super) fn misses_server(output: &str) -> bool {
    let output = output.to_lowercase();
    NOBODY_LISTENS_WORDS
        .iter()
        .any(|words| output.contains(words))
}

/// Returns whether the output says that something is not permitted, other than by the mode of a file.
pub(super) fn is_not_permitted(output: &str) -> bool {
    let output = output.to_lowercase();
    NOT_PERMITTED_WORDS
        .iter()
        .any(|words| output.contains(words))
}

/// Returns whether ssh failed.
pub(super) fn is_of_ssh(output: &str) -> bool {
    output.lines().any(|line| line.starts_with("ssh: "))
}

/// Returns whether a command of `script` may have failed although its exit code is 0.
pub(super) fn hides_failures(script: &str) -> bool {
    script.trim().contains(JOINS)
}

/// Returns the repositories that git could not find, as a worktree or submodule names them.
pub(super) fn missed_repositories(output: &str) -> impl Iterator<Item = &str> {
    output
        .lines()
        .filter_map(|line| line.strip_prefix(NO_REPOSITORY))
}

/// Returns the words of lines about connections and refusals, which may be paths of sockets.
pub(super) fn possible_sockets(output: &str) -> impl Iterator<Item = &str> {
    let lines = output.lines().filter(|line| {
        let line = line.to_lowercase();
        SOCKET_WORDS.iter().any(|words| line.contains(words))
    });
    lines.flat_map(words).take(MAX_SOCKET_WORDS)
}

/// Returns the paths of sockets that an output names as such.
pub(super) fn named_sockets(output: &str) -> impl Iterator<Item = &str> {
    let names = output.match_indices("unix:///").take(MAX_SOCKET_WORDS);
    names.filter_map(|(at, _)| words(&output[at..]).next())
}

/// Returns the words of a command.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_between =
        |character: char| character.is_whitespace() || "'\"‘’`()[]{}<>=,;|&".contains(character);
    let words = text.split(is_between).map(|word| {
        let word = word.trim_end_matches([':', '.']);
        let inside = word.strip_prefix("unix://").or(word.strip_prefix("unix:"));
        inside.unwrap_or(word)
    });
    words.filter(|word| !word.is_empty()).take(MAX_SOCKET_WORDS)
}

#[cfg(test)]
mod tests;
