//! How the sandbox was in the way of a command, in words for the model.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use zot_process::sandbox::{Contact, Level, Obstacles};

use super::denial::{self, Complaint, NamedPath};
use super::hint;
use crate::sandbox::{Allowance, Walls};

/// How many refused hosts a result names.
///
/// Limit: further hosts are counted only, and not offered.
const MAX_NAMED_HOSTS: usize = 8;

/// How long the names of the hosts are that a question offers: they have to be shown in full.
///
/// Limit: further hosts are not offered.
const MAX_OFFERED_HOST_BYTES: usize = 300;

/// What a command said about itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a> {
    pub(super) output: &'a str,
    /// The command itself.
    pub(super) script: &'a str,
    /// Whether its exit code is another than 0. That of `command | tail` is the one of `tail`.
    pub(super) failed: bool,
}

/// How the sandbox was in the way of a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Obstruction {
    pub(super) level: Level,
    directory: PathBuf,
    has_network: bool,
    hosts: Vec<Contact>,
    /// Protected files that the command made, and what they are called now.
    withheld: Vec<(PathBuf, PathBuf)>,
    /// Protected files that it changed, where the system could not prevent it.
    changed: Vec<PathBuf>,
    /// A file that the command wanted to use, and what would allow it.
    file: Option<Allowance>,
    /// What else was in the way, in words: no question can allow it.
    others: Vec<String>,
    /// Whether the command failed with words of the kernel that the sandbox may have caused.
    is_suspected: bool,
}

impl Obstruction {
    /// Finds out whether the sandbox was in the way of a command that has `said` this.
    pub(super) fn find(
        walls: &Walls,
        cwd: &Path,
        obstacles: Obstacles,
        said: Option<Said<'_>>,
    ) -> Option<Self> {
        let mut others = Vec::new();
        let mut file = None;
        if let Some(said) = said {
            match first_in_the_way(walls, cwd, said.output) {
                Some(InTheWay::File(allowance)) => file = Some(allowance),
                Some(InTheWay::Other(sentence)) => others.push(sentence),
                None => {}
            }
            others.extend(socket_in_the_way(walls, cwd, said));
            let host = hint::missed_local_host(said.output).filter(|_| walls.has_own_loopback());
            others.extend(host.map(|host| {
                format!(
                    "the sandbox has a loopback of its own, where only servers of the same command listen; a \
                     server of the user is reached through the proxy, by HTTP only, if the user allows it with \
                     --sandbox-connect {host}:PORT"
                )
            }));
        }
        let found = Self {
            level: walls.level(),
            directory: walls.directory().to_owned(),
            has_network: walls.has_network(),
            is_suspected: said
                .is_some_and(|said| said.failed && denial::mentions_refusal(said.output)),
            hosts: obstacles.hosts,
            withheld: obstacles.withheld_files,
            changed: obstacles.changed_files,
            file,
            others,
        };
        let is_in_the_way = found.is_suspected
            || found.file.is_some()
            || !found.others.is_empty()
            || !found.hosts.is_empty()
            || !found.withheld.is_empty()
            || !found.changed.is_empty();
        is_in_the_way.then_some(found)
    }

    /// Returns what would have allowed what was refused: only hosts that the proxy has refused, and a
    /// file that the sandbox does refuse.
    pub(super) fn allowances(&self) -> Vec<Allowance> {
        let mut length = 0;
        let hosts = self.hosts.iter().take(MAX_NAMED_HOSTS);
        let hosts: Vec<Allowance> = hosts
            .filter_map(|contact| Some(Allowance::Connect(contact.rule()?)))
            .take_while(|allowance| {
                length += allowance.to_string().len();
                length <= MAX_OFFERED_HOST_BYTES
            })
            .collect();
        match hosts.is_empty() {
            true => self.file.iter().cloned().collect(),
            false => hosts,
        }
    }

    /// Explains it to the model, in lines of their own.
    pub(super) fn explain(&self) -> String {
        let mut text = String::new();
        let mut line = |what: String| {
            // Writing to a text does not fail.
            let _ = write!(text, "\n[sandbox {}] {what}", self.level);
        };
        if !self.hosts.is_empty() {
            line(format!(
                "connections refused: {}; only the user can allow them, with --sandbox-connect HOST:PORT",
                self.host_names()
            ));
        }
        for (path, renamed) in &self.withheld {
            line(format!(
                "{path}, which the command made, is called {} now, because programs outside of the \
                 sandbox act on it; only the user can allow it, with --sandbox-write {path}",
                renamed.display(),
                path = path.display()
            ));
        }
        for path in &self.changed {
            line(format!(
                "the command changed {}, on which programs outside of the sandbox act; tell the user",
                path.display()
            ));
        }
        for sentence in &self.others {
            line(sentence.clone());
        }
        if let Some(allowance) = &self.file {
            let option = match allowance {
                Allowance::Read(path) => format!("--sandbox-read {}", path.display()),
                Allowance::Write(path) => format!("--sandbox-write {}", path.display()),
                Allowance::Connect(rule) => format!("--sandbox-connect {rule}"),
            };
            line(format!(
                "{allowance} is refused; only the user can allow it, with {option}"
            ));
        } else if self.is_suspected && self.hosts.is_empty() && self.others.is_empty() {
            let directory = self.directory.display();
            let files = match self.level {
                Level::ReadOnly => format!("{directory} can only be read, $TMPDIR can be changed"),
                Level::Off | Level::Workspace => {
                    format!("only {directory} and $TMPDIR can be changed")
                }
            };
            let network = match self.has_network {
                true => "",
                false => ", and the network is closed",
            };
            line(format!(
                "this may be why the command failed: {files}{network}. Only the user can allow more, \
                 with --sandbox-write PATH, --sandbox-connect HOST:PORT or --sandbox off"
            ));
        }
        text
    }

    fn host_names(&self) -> String {
        let names = self.hosts.iter().take(MAX_NAMED_HOSTS).map(|contact| {
            let private = match contact.private_address {
                Some(address) => format!(" (at the private address {address})"),
                None => String::new(),
            };
            format!("{}:{}{private}", contact.host, contact.port)
        });
        let mut text = names.collect::<Vec<_>>().join(", ");
        if self.hosts.len() > MAX_NAMED_HOSTS {
            let more = self.hosts.len() - MAX_NAMED_HOSTS;
            text.push_str(&format!(" and {more} more"));
        }
        text
    }
}

/// Something that the output complains about.
enum InTheWay {
    File(Allowance),
    /// In words.
    Other(String),
}

/// Returns the first thing that the output complains about and the sandbox refuses.
fn first_in_the_way(walls: &Walls, cwd: &Path, output: &str) -> Option<InTheWay> {
    denial::named_paths(output).find_map(|named| {
        let mut candidates = named.candidates.iter();
        candidates.find_map(|candidate| in_the_way(walls, cwd, &named, candidate))
    })
}

fn in_the_way(
    walls: &Walls,
    cwd: &Path,
    named: &NamedPath<'_>,
    candidate: &str,
) -> Option<InTheWay> {
    if named.may_be_start_of(candidate)
        && let Some(program) = walls.refused_program(candidate, cwd)
    {
        let program = program.display();
        return Some(InTheWay::Other(format!(
            "starting {program} is refused; only the user can allow it, with --sandbox-run {program}"
        )));
    }
    let path = cwd.join(candidate);
    if let Some(masked) = walls.masked(&path) {
        return Some(InTheWay::Other(format!(
            "{} cannot be used in the sandbox: it holds secrets, and no rule shows it",
            masked.display()
        )));
    }
    let allowance = match named.kind {
        Complaint::Refused => walls.refusal_of(&path, named.is_change),
        Complaint::Missing => walls.hidden(&path, named.is_change),
    };
    allowance.map(InTheWay::File)
}

/// Returns a sentence about a socket of the user that the output, or the script of a command that failed,
/// names.
fn socket_in_the_way(walls: &Walls, cwd: &Path, said: Said<'_>) -> Option<String> {
    let script = said.failed.then(|| hint::words(said.script));
    let mut words = hint::possible_sockets(said.output).chain(script.into_iter().flatten());
    let socket = words.find_map(|word| walls.refused_socket(&cwd.join(word)))?;
    let socket = socket.display();
    Some(format!(
        "connecting to {socket} is refused; only the user can allow it, with --sandbox-unix-socket {socket}"
    ))
}

#[cfg(test)]
mod tests;
