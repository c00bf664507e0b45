//! Confinement by Landlock, namespaces, seccomp, resource limits and a supervisor.

mod before_exec;
mod calls;
mod control_group;
mod files;
mod namespaces;
mod privileges;
mod supervisor;
mod sweep;
mod view;
mod watch;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use landlock::RulesetCreated;
use rustix::process::{Resource, Rlimit, getrlimit};

use super::programs::{Needs, Surroundings};
use super::{ConfineError, Confinement, Enforcement, Execution, FileAccess, Status};
use before_exec::Isolation;
pub(super) use before_exec::{Steps, install};
use calls::Refused;
use control_group::ControlGroup;
pub(crate) use files::READABLE as SYSTEM_FILES;
#[cfg(test)]
pub(crate) use namespaces::can_limit_root;
use namespaces::{Joining, Means};
use privileges::Surplus;
use sweep::Sweep;
pub(crate) use view::View;
pub(crate) use watch::DirectoryWatch;

/// Where the C library looks for programs if `PATH` is not set.
const DEFAULT_SEARCH_PATH: &str = "/bin:/usr/bin";

/// What is said where namespaces do not hide other processes.
const COVERED_PROC: &str = "their command lines and connections can be listed, because parts of /proc are \
     covered here, as in containers, so that it cannot be mounted again";

/// Renames what is at the paths of `sweeping` now.
pub(super) fn sweep(sweeping: &Arc<super::Sweeping>) {
    Sweep::new(sweeping).carry_out();
}

/// Returns whether views can be had here; the error is the reason why not.
pub(crate) fn namespaces_available() -> Result<(), String> {
    namespaces::available().map(|_| ())
}

/// The rules for the files of a child, which many children can apply.
#[derive(Debug)]
pub(crate) struct FileRules(RulesetCreated);

impl FileRules {
    /// Makes the rules for `command`. In a view, `root` is the directory that is its root.
    pub(crate) fn new(
        command: &Command,
        access: &FileAccess,
        root: Option<&Path>,
    ) -> Result<Self, ConfineError> {
        let needs = needs(command, &access.execute);
        files::ruleset(access, &needs, root).map(Self)
    }

    fn copy(&self) -> Result<RulesetCreated, ConfineError> {
        self.0.try_clone().map_err(ConfineError::FileRules)
    }
}

/// Prepares what the child of `command` has to do before it starts its program.
pub(super) fn steps(command: &Command, confinement: &Confinement) -> Result<Steps, ConfineError> {
    let mut steps = Steps {
        closes_descriptors: true,
        limits: limits(confinement),
        sweep: Sweep::new(&confinement.sweeping),
        ..Steps::default()
    };
    if let Some(access) = &confinement.files
        && files::landlock_abi().is_ok()
    {
        let rules = match &confinement.rules {
            Some(rules) => rules.copy()?,
            None => FileRules::new(command, access, None)?.copy()?,
        };
        steps.files = Some(rules);
        steps.has_session = true;
        let mut changes_user = false;
        if let Some(view) = &confinement.view {
            let directory = command.get_current_dir().unwrap_or(Path::new("."));
            let guarded = &confinement.guarded;
            let joining = Joining::new(Arc::clone(view), directory, guarded, confinement.processes);
            let isolation = joining
                .and_then(Isolation::new)
                .map_err(ConfineError::Namespaces)?;
            changes_user = isolation.joining.changes_user();
            steps.isolation = Some(isolation);
        }
        if confinement.view.is_none() {
            steps.control_group = ControlGroup::new();
        }
        steps.privileges = Surplus::present(changes_user);
    }
    if calls::available().is_ok() {
        let refused = refused_calls(confinement);
        steps.calls = calls::filter(refused).map_err(ConfineError::CallFilter)?;
    }
    Ok(steps)
}

/// Returns the system calls that `confinement` refuses.
fn refused_calls(confinement: &Confinement) -> Refused {
    let files = confinement.files.as_ref();
    let view = confinement.view.as_ref();
    let has_own_network = view.is_some_and(|view| view.has_own_network());
    Refused {
        unconfined: files.is_some(),
        privileged: files.is_some() && privileges::are_kept(),
        instead_of_namespaces: files.is_some() && view.is_none(),
        memory_programs: files.is_some_and(|files| files.execute != Execution::Anything),
        internet: confinement.without_network && !has_own_network,
        local_sockets: confinement.without_local_sockets,
    }
}

pub(super) fn enforceable() -> Enforcement {
    let everything = Confinement::default()
        .memory_limit(u64::MAX)
        .network(false)
        .filesystem(FileAccess {
            execute: Execution::Only(Vec::new()),
            ..FileAccess::default()
        });
    enforcement(&everything)
}

pub(super) fn enforcement(confinement: &Confinement) -> Enforcement {
    let when = |requested: bool, status: Status| {
        if requested {
            status
        } else {
            Status::NotRequested
        }
    };
    let files = confinement.files.as_ref();
    let only_some = files.is_some_and(|files| files.execute != Execution::Anything);
    let abi = files::landlock_abi();
    let filters = calls::available();
    let has_filters = filters.is_ok();
    let has_namespaces = files.is_some() && confinement.view.is_some();
    let network = match filters {
        Ok(()) => Status::Enforced,
        Err(reason) => Status::NotEnforced(reason),
    };
    let others = files::OtherRestrictions {
        sockets: confinement.without_local_sockets && has_filters,
        privileges: !privileges::are_kept(),
        attributes: has_namespaces || has_filters,
    };
    let processes = files::processes_status(abi.clone(), has_namespaces, has_filters);
    let processes = match files.is_some() && namespaces::shows_other_processes() {
        true => processes.with_gap(COVERED_PROC),
        false => processes,
    };
    Enforcement {
        files: when(files.is_some(), files::status(abi.clone(), others)),
        execution: when(only_some, files::execution_status(abi, has_filters)),
        network: when(confinement.without_network, network),
        memory: when(confinement.memory_limit.is_some(), Status::Enforced),
        process_count: when(
            confinement.processes.is_some(),
            process_count_status(files.is_some()),
        ),
        processes: when(files.is_some(), processes),
        parent_death: Status::Enforced,
    }
}

fn process_count_status(is_confined: bool) -> Status {
    let root_is_limited =
        is_confined && namespaces::available().is_ok() && namespaces::can_limit_root();
    match root_is_limited || !rustix::process::geteuid().is_root() {
        true => Status::Enforced,
        false => Status::NotEnforced(
            "root is limited only at workspace and read-only, with namespaces of Linux 6.14"
                .to_owned(),
        ),
    }
}

/// Describes how confined children are kept from other processes and from attributes of files.
pub(super) fn isolation_report() -> String {
    match (namespaces::available(), calls::available()) {
        (Ok(Means::Privileged), _) => "namespaces".to_owned(),
        (Ok(Means::UserNamespace), _) => "user namespaces".to_owned(),
        (Err(reason), Ok(())) => format!(
            "a system call filter, which refuses every change of modes, owners and times, and {}: {reason}",
            match control_group::is_delegated() {
                true => "a control group each",
                false => "no control group, because none is delegated to us",
            }
        ),
        (Err(reason), Err(also)) => format!("nothing: {reason}; {also}"),
    }
}

/// Returns the limits of the child, none above the present hard limit, which only root can raise.
fn limits(confinement: &Confinement) -> Vec<(Resource, Rlimit)> {
    let hard = [
        (Resource::Data, confinement.memory_limit),
        (Resource::Nproc, confinement.processes),
        (Resource::Cpu, confinement.processor_seconds),
    ];
    let hard = hard.into_iter().filter_map(|(resource, limit)| {
        let highest = getrlimit(resource).maximum;
        let limit = Some(highest.map_or(limit?, |highest| highest.min(limit.unwrap_or(highest))));
        Some((
            resource,
            Rlimit {
                current: limit,
                maximum: limit,
            },
        ))
    });
    // A soft limit only.
    let open_files = confinement.open_files.map(|count| {
        let maximum = getrlimit(Resource::Nofile).maximum;
        let current = Some(maximum.map_or(count, |maximum| maximum.min(count)));
        (Resource::Nofile, Rlimit { current, maximum })
    });
    hard.chain(open_files).collect()
}

/// Returns the files that the program of `command`, and the programs it may start, need to start, and
/// the links that lead to them.
pub(crate) fn files_needed(command: &Command, execute: &Execution) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let needs = needs(command, execute);
    let mut files = needs.execute;
    files.extend(needs.read);
    (files, needs.links)
}

/// Returns what the program of `command`, and the programs it may start, need to start.
fn needs(command: &Command, execute: &Execution) -> Needs {
    let search_path = variable(command, "PATH").unwrap_or_else(|| DEFAULT_SEARCH_PATH.into());
    let surroundings = Surroundings {
        search_path: &search_path,
        directory: command.get_current_dir(),
        home: variable(command, "HOME")
            .map(PathBuf::from)
            .or_else(std::env::home_dir),
    };
    let mut needs = Needs::default();
    needs.add(Path::new(command.get_program()), &surroundings);
    if let Execution::Only(programs) = execute {
        for program in programs {
            needs.add(program, &surroundings);
        }
    }
    needs
}

/// Returns a variable as the child will see it. A command that clears its environment cannot be
/// recognised: then the variable is ours, and more may be allowed than needed.
fn variable(command: &Command, name: &str) -> Option<OsString> {
    let set = command.get_envs().find(|(key, _)| *key == OsStr::new(name));
    match set {
        Some((_, value)) => value.map(OsStr::to_owned),
        None => std::env::var_os(name),
    }
}

#[cfg(test)]
mod tests;
