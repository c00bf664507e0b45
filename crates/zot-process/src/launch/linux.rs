//! Confinement by Landlock, namespaces, seccomp, resource limits and a supervisor.

mod before_exec;
mod calls;
pub(super) mod files;
mod namespaces;
mod privileges;
mod supervisor;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Rlimit, getrlimit};

use super::programs::{Needs, Surroundings};
use super::{ConfineError, Confinement, Enforcement, Execution, FileAccess, Status};
use before_exec::Isolation;
pub(super) use before_exec::{Steps, install};
use calls::Sockets;
use namespaces::{Means, Namespaces};
use privileges::Surplus;

/// Where the C library looks for programs if `PATH` is not set.
const DEFAULT_SEARCH_PATH: &str = "/bin:/usr/bin";

/// Prepares what the child of `command` has to do before it starts its program.
pub(super) fn steps(command: &Command, confinement: &Confinement) -> Result<Steps, ConfineError> {
    let mut steps = Steps {
        closes_descriptors: true,
        memory: confinement.memory_limit.map(memory_limit),
        open_files: confinement.open_files.map(open_files_limit),
        ..Steps::default()
    };
    let has_filters = calls::available().is_ok();
    if let Some(access) = &confinement.files
        && files::landlock_abi().is_ok()
    {
        let needs = needs(command, access);
        steps.files = Some(files::ruleset(access, &needs)?);
        steps.has_session = true;
        match namespaces::available() {
            Ok(means) => steps.namespaces = Some(isolation(means, command, access)?),
            Err(_) if has_filters => steps.calls.extend(calls::instead_of_namespaces()?),
            Err(_) => {}
        }
        let changes_user = steps.namespaces.as_ref();
        let changes_user = changes_user.is_some_and(|own| own.namespaces.changes_user());
        steps.privileges = Surplus::present(changes_user);
        if has_filters {
            steps.calls.extend(calls::without_performance_events()?);
            if access.execute != Execution::Anything {
                steps.calls.extend(calls::without_memory_programs()?);
            }
        }
    }
    if let Some(refused) = refused_sockets(confinement)
        && has_filters
    {
        steps.calls.extend(calls::without_sockets(refused)?);
    }
    Ok(steps)
}

fn isolation(
    means: Means,
    command: &Command,
    access: &FileAccess,
) -> Result<Isolation, ConfineError> {
    let directory = command.get_current_dir().unwrap_or(Path::new("."));
    let made = || {
        let namespaces = Namespaces::new(means, directory, &access.write)?;
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(Isolation {
            namespaces,
            report_reader: Some(reader),
            report_writer: writer,
        })
    };
    made().map_err(ConfineError::Namespaces)
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
    let has_namespaces = files.is_some() && namespaces::available().is_ok();
    let network = match filters {
        Ok(()) => Status::Enforced,
        Err(reason) => Status::NotEnforced(reason),
    };
    let others = files::OtherRestrictions {
        sockets: refused_sockets(confinement).is_some() && has_filters,
        privileges: !privileges::are_kept(),
        attributes: has_namespaces || has_filters,
    };
    Enforcement {
        files: when(files.is_some(), files::status(abi.clone(), others)),
        execution: when(only_some, files::execution_status(abi.clone(), has_filters)),
        network: when(confinement.without_network, network),
        memory: when(confinement.memory_limit.is_some(), Status::Enforced),
        processes: when(
            files.is_some(),
            files::processes_status(abi, has_namespaces, has_filters),
        ),
        parent_death: Status::Enforced,
    }
}

/// Describes how confined children are kept from other processes and from attributes of files.
pub(super) fn isolation_report() -> String {
    match (namespaces::available(), calls::available()) {
        (Ok(Means::Privileged), _) => "namespaces".to_owned(),
        (Ok(Means::UserNamespace), _) => "user namespaces".to_owned(),
        (Err(reason), Ok(())) => format!(
            "a system call filter, which refuses every change of modes, owners and times: {reason}"
        ),
        (Err(reason), Err(also)) => format!("nothing: {reason}; {also}"),
    }
}

fn refused_sockets(confinement: &Confinement) -> Option<Sockets> {
    if confinement.without_network {
        Some(Sockets::Every)
    } else {
        confinement.without_local_sockets.then_some(Sockets::Local)
    }
}

/// Never above the present hard limit, which an unprivileged process cannot raise.
fn memory_limit(bytes: u64) -> Rlimit {
    let current = getrlimit(Resource::Data).maximum;
    let bytes = current.map_or(bytes, |current| current.min(bytes));
    Rlimit {
        current: Some(bytes),
        maximum: Some(bytes),
    }
}

/// Sets the soft limit only.
fn open_files_limit(count: u64) -> Rlimit {
    Rlimit {
        current: Some(count),
        maximum: getrlimit(Resource::Nofile).maximum,
    }
}

/// Returns what the program of `command`, and the programs it may start, need to start.
fn needs(command: &Command, access: &FileAccess) -> Needs {
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
    if let Execution::Only(programs) = &access.execute {
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
