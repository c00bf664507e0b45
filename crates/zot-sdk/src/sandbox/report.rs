//! What is in force, and what is not enforced of it.

use std::path::PathBuf;

use zot_process::launch::{Enforcement, Status};
use zot_process::sandbox::{Level, Policy};

/// What the built-in tools may do, and known gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxReport {
    /// What is in force.
    pub policy: Policy,
    /// What was chosen besides the jail.
    pub chosen: Policy,
    /// Whether the jail adds to it.
    pub is_jailed: bool,
    /// The working directory, with links resolved.
    pub directory: PathBuf,
    /// What this system enforces of it.
    pub enforcement: Enforcement,
    /// Whether this system has the namespaces that enforce it best.
    pub has_namespaces: bool,
    /// Whether the user's home directory is inside.
    pub home_inside: bool,
    /// zot's own directory, with keys and sessions, if it is inside.
    pub own_directory_inside: Option<PathBuf>,
    /// Paths of rules that open zot's own directory although it is empty otherwise.
    pub own_directory_rules: Vec<PathBuf>,
    /// Paths of rules that do not exist, which therefore allow nothing.
    pub missing: Vec<PathBuf>,
    /// Paths of rules that lead through a link which a program may have made, and so allow nothing.
    pub linked: Vec<PathBuf>,
    /// Programs of the rule `run` that were not found.
    pub missing_programs: Vec<PathBuf>,
}

impl SandboxReport {
    /// Returns the gaps of the sandbox and the rules without effect, one sentence each.
    pub fn caveats(&self) -> Vec<String> {
        let files = match &self.enforcement.files {
            Status::Enforced | Status::NotRequested => None,
            Status::Partly(gap) => Some(format!("bash is confined, but {gap}")),
            Status::NotEnforced(reason) => Some(format!(
                "bash cannot be confined here ({reason}), so it is refused in the sandbox"
            )),
        };
        let can_run = !matches!(self.enforcement.files, Status::NotEnforced(_));
        let others = [
            ("the programs that bash starts", &self.enforcement.execution),
            ("the network of bash", &self.enforcement.network),
            ("the memory of bash", &self.enforcement.memory),
            ("the processes of bash", &self.enforcement.process_count),
            ("other processes", &self.enforcement.processes),
        ];
        let others = others
            .into_iter()
            .filter_map(|(part, status)| match status {
                Status::Enforced | Status::NotRequested => None,
                Status::Partly(gap) => Some(format!("{part}: {gap}")),
                Status::NotEnforced(reason) => {
                    Some(format!("{part} cannot be limited here ({reason})"))
                }
            });
        // With namespaces, it is empty there.
        let own_directory = self.own_directory_inside.as_ref();
        let own_directory = own_directory.filter(|_| !self.has_namespaces);
        let own_directory = own_directory.map(|directory| {
            format!(
                "zot's own directory, with keys and sessions, is inside it: {}",
                directory.display()
            )
        });
        let gaps = files.into_iter().chain(others.filter(|_| can_run));
        if self.policy.level == Level::Off {
            return gaps.collect();
        }
        let opened = self.own_directory_rules.iter().map(|path| {
            let path = path.display();
            format!("a rule opens zot's own directory, with keys, sessions and extensions: {path}")
        });
        let missing = self.missing.iter().map(|path| {
            let path = path.display();
            format!("{path} does not exist, so the rule that names it has no effect")
        });
        let linked = self.linked.iter().map(|path| {
            let path = path.display();
            format!(
                "{path} leads through a link in a writable directory, so the rule that names it has no effect: \
                 name its target"
            )
        });
        let programs = self.missing_programs.iter().map(|program| {
            let program = program.display();
            format!("{program} was not found, so the rule for programs does not let it start")
        });
        gaps.chain(self.gaps_without_namespaces().filter(|_| can_run))
            .chain(self.home_gap())
            .chain(own_directory)
            .chain(opened)
            .chain(missing)
            .chain(linked)
            .chain(programs)
            .collect()
    }

    /// Returns what is enforced less well because there are no namespaces.
    fn gaps_without_namespaces(&self) -> impl Iterator<Item = String> {
        let rules = &self.policy.rules;
        let is_writable = self.policy.level == Level::Workspace || !rules.write.is_empty();
        let has_hosts = !rules.connect.is_empty() && !rules.allows_every_host();
        let gaps = [
            (
                is_writable,
                "protected files can be changed here; zot reports it afterwards",
            ),
            (
                true,
                "modes and times of files cannot be changed here, so what compilers make is not executable",
            ),
            (
                has_hosts,
                "connections to hosts are refused here, also to those that rules allow",
            ),
        ];
        let has_gaps = !self.has_namespaces;
        let gaps = gaps
            .into_iter()
            .filter(move |(applies, _)| has_gaps && *applies);
        gaps.map(|(_, gap)| gap.to_owned())
    }

    fn home_gap(&self) -> Option<String> {
        let allowed = match self.policy.level {
            Level::ReadOnly => "read",
            Level::Off | Level::Workspace => "read and changed",
        };
        self.home_inside.then(|| {
            format!(
                "the working directory contains your home directory: everything in it, keys in ~/.ssh \
                 included, can be {allowed}"
            )
        })
    }
}
