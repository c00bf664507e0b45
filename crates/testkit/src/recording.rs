//! Recorded sessions of the original zot, and their comparison with ours.
//!
//! A recording is a text file: `> ` lines were sent, `< ` lines received, `# ` lines are remarks
//! (exit code, standard error, files left behind). For an intended deviation, `<name>.ours.jsonl` gives
//! the reason in its first line and then the expected run.

mod normalise;
#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Workdir;
use normalise::{Masks, normalise};

/// Set this variable to update the `.ours.jsonl` files from a run; review the changes.
const UPDATE: &str = "UPDATE_FIXTURES";
const DEVIATES: &str = "# deviates: ";
const REASON_MISSING: &str = "give a reason, with the number of the decision";
/// Lines shown on each side of the first difference.
const CONTEXT: usize = 4;

/// The lines that went through the pipes of one run, in order.
#[derive(Debug, Clone, Default)]
pub struct Transcript(Vec<String>);

impl Transcript {
    /// Creates a transcript from lines in the notation of recordings.
    pub(crate) fn from_notes(notes: Vec<String>) -> Self {
        Self(notes)
    }

    pub(crate) fn sent(&mut self, line: &str) {
        self.0.push(format!("> {line}"));
    }

    pub(crate) fn received(&mut self, line: &str) {
        self.0.push(format!("< {line}"));
    }

    pub(crate) fn ended(&mut self, stderr: &str, code: i32) {
        let stderr = stderr.lines().map(|line| format!("# stderr {line}"));
        self.0.extend(stderr);
        self.0.push(format!("# exit {code}"));
    }

    /// Adds a file that the run left behind.
    pub fn file(&mut self, path: &Path, text: &str) {
        self.0.push(format!("# file {}", path.display()));
        self.0
            .extend(text.lines().map(|line| format!("# | {line}")));
    }

    pub fn lines(&self) -> &[String] {
        &self.0
    }

    /// Removes sent lines, for runs whose recording does not contain them.
    pub fn without_sent(mut self) -> Self {
        self.0.retain(|line| !line.starts_with("> "));
        self
    }
}

/// How much of a run depends on timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Nothing: the order of frames is compared.
    Steady,
    /// The amount streamed before another event, and the position of responses between events. Both are
    /// made uniform.
    Racy,
    /// The order of an extension's frames. The original sends events in any order, so they are sorted and
    /// come last; the greeting comes first.
    Extension,
}

/// A directory of recordings.
pub struct Fixtures {
    directory: PathBuf,
}

impl Fixtures {
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        Self { directory }
    }

    /// Returns the names of all recordings, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.files().filter(|n| !n.ends_with(".ours")).collect();
        names.sort();
        names
    }

    /// Returns the problems of the `.ours.jsonl` files: no recording, or no reason.
    pub fn problems(&self) -> Vec<String> {
        let ours = self.files().filter(|name| name.ends_with(".ours"));
        ours.filter_map(|name| {
            let recorded = name.strip_suffix(".ours")?;
            let reason = self.reason(recorded).unwrap_or_default();
            if !self.path(recorded).exists() {
                Some(format!("{name}: the recording {recorded} is missing"))
            } else if reason.is_empty() || reason == REASON_MISSING {
                Some(format!(
                    "{name}: its first line must be `{DEVIATES}<reason>`"
                ))
            } else {
                None
            }
        })
        .collect()
    }

    /// Returns the sent lines, in order, without the mark.
    pub fn sent_lines(&self, name: &str) -> Vec<String> {
        let lines = self.lines(name).into_iter();
        lines
            .filter_map(|line| line.strip_prefix("> ").map(str::to_owned))
            .collect()
    }

    /// Compares the run named `workdir.name()` with its recording and fails the test if they differ.
    pub fn check(&self, workdir: &Workdir, pace: Pace, run: &Transcript) {
        self.check_as(workdir.name(), workdir, pace, run);
    }

    /// Like [`Fixtures::check`], for a run in `workdir` that has several recordings.
    pub fn check_as(&self, name: &str, workdir: &Workdir, pace: Pace, run: &Transcript) {
        let masks = Masks::of(workdir);
        let actual = normalise(run.lines(), pace, &masks);
        let recorded = normalise(&self.lines(name), pace, &masks);
        let ours = format!("{name}.ours");
        if std::env::var_os(UPDATE).is_some() {
            self.update(name, &actual, &recorded);
            return;
        }
        let (source, expected) = if self.path(&ours).exists() {
            let expected = normalise(&self.lines(&ours), pace, &masks);
            (ours.as_str(), expected)
        } else {
            (name, recorded)
        };
        if let Some(difference) = first_difference(&expected, &actual) {
            panic!("{source}: the run differs\n{difference}");
        }
    }

    fn update(&self, name: &str, actual: &[String], recorded: &[String]) {
        let path = self.path(&format!("{name}.ours"));
        if actual == recorded {
            if path.exists() {
                fs::remove_file(&path).expect("remove a fixture that is no longer needed");
            }
            return;
        }
        let reason = self.reason(name).unwrap_or(REASON_MISSING.to_owned());
        let text = format!("{DEVIATES}{reason}\n{}\n", actual.join("\n"));
        fs::write(&path, text).expect("write the fixture");
    }

    fn reason(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.path(&format!("{name}.ours"))).ok()?;
        let reason = text.lines().next()?.strip_prefix(DEVIATES)?;
        Some(reason.to_owned())
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let path = self.path(name);
        let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        // One recording contains sent bytes that are not UTF-8.
        let text = String::from_utf8_lossy(&text);
        // Not `lines()`: U+2028 and a lone CR are part of a line.
        let text = text.strip_suffix('\n').unwrap_or(&text);
        text.split('\n').map(str::to_owned).collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.jsonl"))
    }

    fn files(&self) -> impl Iterator<Item = String> {
        let entries = fs::read_dir(&self.directory).expect("list the fixtures");
        entries.filter_map(|entry| {
            let name = entry.ok()?.file_name();
            Some(name.to_str()?.strip_suffix(".jsonl")?.to_owned())
        })
    }
}

fn first_difference(expected: &[String], actual: &[String]) -> Option<String> {
    let longest = expected.len().max(actual.len());
    let index = (0..longest).find(|&index| expected.get(index) != actual.get(index))?;
    let mut report = String::new();
    for line in &actual[index.saturating_sub(CONTEXT).min(actual.len())..index] {
        let _ = writeln!(report, "          {line}");
    }
    for (side, lines) in [("expected", expected), ("actual  ", actual)] {
        for line in lines.iter().skip(index).take(CONTEXT) {
            let _ = writeln!(report, "{side}  {line}");
        }
        if lines.len() <= index {
            let _ = writeln!(report, "{side}  (end)");
        }
    }
    Some(report)
}
