//! What the output of a failed command says about the sandbox. It is text that a model may have chosen:
//! nothing is allowed because of it, and every path found here is checked before it is offered.

/// What the kernel and common libraries say when a file is refused, in lower case.
const FILE_WORDS: [&str; 5] = [
    "permission denied",
    "read-only file system",
    "operation not permitted",
    "eacces",
    "erofs",
];

/// What the kernel says when a protected file is to be replaced, in lower case. There are other reasons for
/// it, so a path must be named.
const BUSY_WORDS: [&str; 2] = ["device or resource busy", "ebusy"];

/// What they say when a connection is refused by the sandbox, in lower case.
const NETWORK_WORDS: [&str; 9] = [
    "network is unreachable",
    "could not resolve host",
    "could not resolve proxy",
    "temporary failure in name resolution",
    "name or service not known",
    "no address associated with hostname",
    "getaddrinfo",
    "failed to lookup address information",
    "eai_again",
];

/// How the proxy begins to say that an allowed host does not exist, in lower case. Words as above follow.
const NO_SUCH_HOST: &str = "cannot find the address of ";

/// Words for the sockets of other programs, in lower case.
const SOCKET_WORDS: [&str; 3] = ["socket", ".sock", "unix:"];

/// What they say about a file that the sandbox may hide, in lower case.
const MISSING_WORDS: [&str; 3] = [
    "no such file or directory",
    "directory nonexistent",
    "enoent",
];

/// Words that mean that a file was to be changed, in lower case.
const CHANGE_WORDS: [&str; 16] = [
    "device or resource busy",
    "ebusy",
    "read-only file system",
    "erofs",
    "cannot create",
    "cannot touch",
    "cannot remove",
    "cannot move",
    "cannot make",
    "could not create",
    "could not lock",
    "could not write",
    "unable to create",
    "for writing",
    "mkdir",
    "unlink",
];

/// What programs in Go name before the reason when it is about a socket.
const CALLS: [&str; 3] = ["socket", "connect", "bind"];

/// How many lines of an output are searched for a path.
///
/// Limit: paths in later lines are not found.
const MAX_SEARCHED_LINES: usize = 200;

/// A path that a line of the output names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedPath<'a> {
    pub(super) line: &'a str,
    /// What the path may be, the likeliest first.
    pub(super) candidates: Vec<&'a str>,
    pub(super) kind: Complaint,
    /// Whether the line says that the file was to be changed.
    pub(super) is_change: bool,
}

/// What a line says about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Complaint {
    Refused,
    Missing,
}

/// What a sandbox may have refused, by the words of the kernel in an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Suspicion {
    pub(super) files: bool,
    pub(super) network: bool,
    /// Unix sockets, of which the words are the same as of files.
    pub(super) sockets: bool,
}

/// Returns what a sandbox may have refused, if the output contains words of the kernel that it may have caused.
pub(super) fn suspicion(output: &str) -> Option<Suspicion> {
    let output = output.to_lowercase();
    let says = |text: &str, words: &[&str]| words.iter().any(|words| text.contains(words));
    let lines = || output.lines().filter(|line| !line.contains(NO_SUCH_HOST));
    let mut refusals = lines().filter(|line| says(line, &FILE_WORDS)).peekable();
    let found = Suspicion {
        sockets: refusals.peek().is_some() && says(&output, &SOCKET_WORDS),
        files: refusals.any(|line| !says(line, &SOCKET_WORDS)),
        network: lines().any(|line| says(line, &NETWORK_WORDS)),
    };
    (found.files || found.network || found.sockets).then_some(found)
}

/// Returns the paths that lines of the output complain about.
pub(super) fn named_paths(output: &str) -> impl Iterator<Item = NamedPath<'_>> {
    output
        .lines()
        .take(MAX_SEARCHED_LINES)
        .filter_map(named_path)
}

impl NamedPath<'_> {
    /// Returns whether the line is about starting `candidate`: its name may be a word for a change.
    pub(super) fn may_be_start_of(&self, candidate: &str) -> bool {
        self.kind == Complaint::Refused && (!self.is_change || CHANGE_WORDS.contains(&candidate))
    }
}

fn named_path(line: &str) -> Option<NamedPath<'_>> {
    // Keeps the length, so that positions are the same in both.
    let lower = line.to_ascii_lowercase();
    let find = |all: &[&str]| all.iter().find_map(|words| lower.find(words));
    let refused = find(&FILE_WORDS).or_else(|| find(&BUSY_WORDS));
    let (at, kind) = match (refused, find(&MISSING_WORDS)) {
        (Some(at), _) => (at, Complaint::Refused),
        (None, Some(at)) => (at, Complaint::Missing),
        (None, None) => return None,
    };
    let mut candidates = Vec::new();
    candidates.extend(quoted(line));
    let before = line[..at].trim_end().trim_end_matches(':');
    let segment = before.rsplit(": ").next().unwrap_or(before).trim();
    candidates.push(segment);
    if let Some(slash) = segment.find(" /") {
        candidates.push(&segment[slash + 1..]);
    }
    candidates.extend(segment.rsplit(' ').next());
    candidates.retain(|candidate| !candidate.is_empty() && !CALLS.contains(candidate));
    candidates.dedup();
    (!candidates.is_empty()).then_some(NamedPath {
        line,
        candidates,
        kind,
        is_change: find(&CHANGE_WORDS).is_some(),
    })
}

/// Returns the text in the last quotation marks of a line.
fn quoted(line: &str) -> Option<&str> {
    const MARKS: [(char, char); 4] = [('\'', '\''), ('‘', '’'), ('"', '"'), ('`', '\'')];
    MARKS.iter().find_map(|(opening, closing)| {
        let end = line.rfind(*closing)?;
        let start = line[..end].rfind(*opening)?;
        Some(&line[start + opening.len_utf8()..end])
    })
}

#[cfg(test)]
mod tests;
