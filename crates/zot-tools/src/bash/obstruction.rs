//! How the sandbox was in the way of a command, in words for the model.

mod alone;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use zot_process::sandbox::{Contact, Level, Obstacles};

use super::denial::{self, Complaint, NamedPath, Suspicion};
use super::hint;
use crate::sandbox::{Allowance, Remedy, Walls};

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

impl Said<'_> {
    /// Returns whether a part of the command failed, as far as it is known.
    fn may_have_failed(&self) -> bool {
        self.failed || hint::hides_failures(self.script)
    }
}

/// How the sandbox was in the way of a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Obstruction {
    pub(super) level: Level,
    directory: PathBuf,
    has_network: bool,
    has_view: bool,
    hosts: Vec<Contact>,
    /// Protected files that the command made, and what they are called now.
    withheld: Vec<(PathBuf, PathBuf)>,
    /// Protected files that it changed, where the system could not prevent it.
    changed: Vec<PathBuf>,
    /// A file that the command wanted to use, and what would allow it.
    file: Option<Allowance>,
    /// What else was in the way, in words: it cannot be allowed while zot runs.
    others: Vec<String>,
    /// What the user may not do either, in words.
    beyond_user: Option<String>,
    /// What else the sandbox may have refused, if the command failed with words of the kernel.
    suspicion: Option<Suspicion>,
}

impl Obstruction {
    /// Finds out whether the sandbox was in the way of a command that has `said` this.
    pub(super) fn find(
        walls: &Walls,
        cwd: &Path,
        obstacles: Obstacles,
        said: Option<Said<'_>>,
    ) -> Option<Self> {
        let mut found = Self {
            level: walls.level(),
            directory: walls.directory().to_owned(),
            has_network: walls.has_network(),
            has_view: walls.has_view(),
            hosts: obstacles.hosts,
            withheld: obstacles.withheld_files,
            changed: obstacles.changed_files,
            file: None,
            others: Vec::new(),
            beyond_user: None,
            suspicion: None,
        };
        if let Some(said) = said {
            found.listen(walls, cwd, said);
        }
        let is_in_the_way =
            found.may_be_lifted() || found.beyond_user.is_some() || !found.changed.is_empty();
        is_in_the_way.then_some(found)
    }

    /// Adds what the words of a command and of its output give away.
    fn listen(&mut self, walls: &Walls, cwd: &Path, said: Said<'_>) {
        let suspicion = denial::suspicion(said.output);
        self.suspect(suspicion.filter(|_| said.failed));
        let socket = socket_in_the_way(walls, cwd, said);
        let in_the_way = first_in_the_way(walls, cwd, said.output)
            .or_else(|| missing_socket(said.output).map(InTheWay::BeyondUser));
        match in_the_way {
            Some(InTheWay::File(allowance)) => self.file = Some(allowance),
            Some(InTheWay::Other(sentence)) => self.others.push(sentence),
            Some(InTheWay::BeyondUser(sentence)) if socket.is_none() => {
                self.beyond_user = Some(sentence);
                // That is what the words about files are about.
                self.suspect(self.suspicion.map(|suspicion| Suspicion {
                    files: false,
                    sockets: false,
                    ..suspicion
                }));
            }
            Some(InTheWay::BeyondUser(_)) | None => {}
        }
        self.others.extend(socket);
        if hint::is_of_ssh(said.output) && !self.has_network && self.has_view {
            self.others.push(
                "ssh does not use an HTTP proxy, and only programs that do can be allowed to connect to a host: use \
                 https if the server has it. Only the user can open the whole network, with --sandbox-connect '*'"
                    .to_owned(),
            );
        }
        let host = hint::missed_local_host(said.output).filter(|_| walls.has_own_loopback());
        self.others.extend(host.map(|host| {
            format!(
                "the sandbox has a loopback of its own, where only servers of the same command listen; a \
                 server of the user is reached through the proxy, by HTTP only, if the user allows it with \
                 --sandbox-connect {host}:PORT"
            )
        }));
        if !self.has_view && said.may_have_failed() {
            self.others
                .extend(alone::sentence(walls, cwd, said, suspicion));
        }
    }

    fn suspect(&mut self, suspicion: Option<Suspicion>) {
        self.suspicion = suspicion.filter(|suspicion| {
            let is_closed = suspicion.network && !self.has_network;
            suspicion.files || suspicion.sockets || is_closed
        });
    }

    /// Returns whether the command might do better outside of the sandbox.
    pub(super) fn may_be_lifted(&self) -> bool {
        self.suspicion.is_some()
            || self.file.is_some()
            || !self.others.is_empty()
            || !self.hosts.is_empty()
            || !self.withheld.is_empty()
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
                "connections refused: {}; only the user can allow them, with {}",
                self.host_names(),
                self.host_options()
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
        for sentence in self.others.iter().chain(&self.beyond_user) {
            line(sentence.clone());
        }
        if let Some(allowance) = &self.file {
            line(format!(
                "{allowance} is refused; only the user can allow it, with {}",
                allowance.option()
            ));
        } else if let Some(suspicion) = self.suspicion
            && self.hosts.is_empty()
            && self.others.is_empty()
        {
            line(self.explain_suspicion(suspicion));
        }
        text
    }

    /// Says what the sandbox may have refused, with the options that could help.
    fn explain_suspicion(&self, suspicion: Suspicion) -> String {
        let directory = self.directory.display();
        let mut reasons = Vec::new();
        let mut options = Vec::new();
        if suspicion.files {
            reasons.push(match self.level {
                Level::ReadOnly => format!("{directory} can only be read, $TMPDIR can be changed"),
                Level::Off | Level::Workspace => {
                    format!("only {directory} and $TMPDIR can be changed")
                }
            });
            options.push("--sandbox-write PATH");
        }
        if suspicion.sockets {
            reasons.push("Unix sockets cannot be connected to".to_owned());
            options.push("--sandbox-unix-socket PATH");
        }
        if suspicion.files && !self.has_view {
            reasons.push(alone::NO_PROGRAMS.to_owned());
        }
        if suspicion.network && !self.has_network {
            reasons.push(
                "the network is closed to programs that do not use the HTTP proxy of the sandbox ($HTTP_PROXY)"
                    .to_owned(),
            );
            options.push("--sandbox-connect '*'");
        }
        options.push("--sandbox off");
        format!(
            "this may be why the command failed: {}. Only the user can allow more, with {}",
            reasons.join(", and "),
            options.join(" or ")
        )
    }

    /// Returns what a question has to say about hosts with a private address: a name that leads to one may be
    /// an attack.
    pub(super) fn private_hosts(&self) -> Option<String> {
        let hosts = self.hosts.iter().take(MAX_NAMED_HOSTS);
        let leads = hosts.filter_map(|contact| {
            let address = contact.private_address?;
            Some(format!(
                "{} leads to the private address {address}",
                contact.host
            ))
        });
        let leads: Vec<String> = leads.collect();
        (!leads.is_empty()).then(|| leads.join(", "))
    }

    /// Returns the options that would allow the hosts. A private address must be named itself, whatever name leads
    /// to it.
    fn host_options(&self) -> String {
        let mut options = Vec::new();
        let mut has_names = false;
        for contact in self.hosts.iter().take(MAX_NAMED_HOSTS) {
            match contact.rule().filter(|_| contact.private_address.is_some()) {
                Some(rule) => options.push(Allowance::Connect(rule).option()),
                None => has_names = true,
            }
        }
        options.dedup();
        if has_names || self.hosts.len() > MAX_NAMED_HOSTS {
            options.push("--sandbox-connect HOST:PORT".to_owned());
        }
        options.join(" and ")
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
    /// What the user may not do either, in words.
    BeyondUser(String),
}

impl From<Remedy> for InTheWay {
    fn from(remedy: Remedy) -> Self {
        match remedy {
            Remedy::Allow(allowance) => Self::File(allowance),
            Remedy::BeyondUser(allowance) => Self::BeyondUser(format!(
                "{allowance} is refused, and the user may not do it outside of the sandbox either"
            )),
        }
    }
}

/// Returns the first thing that the output complains about and the sandbox refuses; what could be allowed comes
/// first.
fn first_in_the_way(walls: &Walls, cwd: &Path, output: &str) -> Option<InTheWay> {
    let mut repositories = hint::missed_repositories(output);
    let repository = repositories.find_map(|path| walls.refused_repository(&cwd.join(path)));
    if let Some(remedy) = repository {
        return Some(remedy.into());
    }
    let mut beyond_user = None;
    for named in denial::named_paths(output) {
        let mut candidates = named.candidates.iter();
        match candidates.find_map(|candidate| in_the_way(walls, cwd, &named, candidate)) {
            Some(found @ InTheWay::BeyondUser(_)) => beyond_user = beyond_user.or(Some(found)),
            Some(found) => return Some(found),
            None => {}
        }
    }
    beyond_user
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
        let sentence = format!(
            "{} cannot be used in the sandbox: it holds secrets, and no rule shows it",
            masked.display()
        );
        return Some(
            match rustix::fs::access(&masked, rustix::fs::Access::READ_OK) {
                Ok(()) => InTheWay::Other(sentence),
                Err(_) => InTheWay::BeyondUser(sentence),
            },
        );
    }
    if let Some(meant) = walls.meant_in_user_home(&path) {
        return alone::in_user_home(walls, &path, &meant);
    }
    let remedy = match named.kind {
        Complaint::Refused => walls.refusal_of(&path, named.is_change),
        Complaint::Missing => walls.hidden(&path, named.is_change),
    };
    remedy.map(InTheWay::from)
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

/// Returns a sentence about a socket that the output names, if there is none: the daemon does not run.
fn missing_socket(output: &str) -> Option<String> {
    let mut named = hint::named_sockets(output).map(Path::new);
    let missing = named.find(|path| path.try_exists().is_ok_and(|exists| !exists))?;
    Some(format!(
        "there is no socket {} outside of the sandbox either",
        missing.display()
    ))
}

#[cfg(test)]
mod tests;
