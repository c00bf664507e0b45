//! Confinement by Landlock, seccomp, resource limits and the parent-death signal.

mod before_exec;
mod files;
mod network;
mod privileges;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Resource, Rlimit, getpgrp, getpid, getrlimit};

use super::programs::{Needs, Surroundings};
use super::{ConfineError, Confinement, Enforcement, Execution, FileAccess, Status};
use before_exec::Steps;
use network::Refused;
use privileges::Surplus;

/// Where the C library looks for programs without a `PATH`.
const DEFAULT_SEARCH_PATH: &str = "/bin:/usr/bin";

pub(super) fn confine(
    command: &mut Command,
    confinement: &Confinement,
) -> Result<Enforcement, ConfineError> {
    let enforcement = enforcement(confinement);
    let mut steps = Steps::default();
    if confinement.dies_with_parent {
        steps.parent = Some(getpid());
    }
    if let Some(bytes) = confinement.memory_limit {
        steps.memory = Some(memory_limit(bytes));
    }
    if let Some(access) = &confinement.files
        && files::landlock_abi().is_ok()
    {
        let needs = needs(command, access);
        steps.files = Some(files::ruleset(access, &needs)?);
        steps.privileges = Surplus::present();
        steps.session_from = Some(getpgrp());
    }
    if let Some(refused) = refused_sockets(confinement)
        && network::filters_available().is_ok()
    {
        steps.calls = network::filters(refused)?;
    }
    if !steps.is_empty() {
        before_exec::install(command, steps);
    }
    Ok(enforcement)
}

pub(super) fn enforceable() -> Enforcement {
    let everything = Confinement::default()
        .die_with_parent(true)
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
    let network = match network::filters_available() {
        Ok(()) => Status::Enforced,
        Err(reason) => Status::NotEnforced(reason),
    };
    let held = files::AlsoHeld {
        sockets: refused_sockets(confinement).is_some() && network == Status::Enforced,
        privileges: !privileges::are_kept(),
    };
    Enforcement {
        files: when(files.is_some(), files::status(abi.clone(), held)),
        execution: when(only_some, files::execution_status(abi)),
        network: when(confinement.without_network, network),
        memory: when(confinement.memory_limit.is_some(), Status::Enforced),
        parent_death: when(confinement.dies_with_parent, Status::Enforced),
    }
}

fn refused_sockets(confinement: &Confinement) -> Option<Refused> {
    if confinement.without_network {
        Some(Refused::Every)
    } else {
        confinement.without_local_sockets.then_some(Refused::Local)
    }
}

/// A process without privileges cannot raise its hard limit, and need not.
fn memory_limit(bytes: u64) -> Rlimit {
    let present = getrlimit(Resource::Data).maximum;
    let bytes = present.map_or(bytes, |present| present.min(bytes));
    Rlimit {
        current: Some(bytes),
        maximum: Some(bytes),
    }
}

/// What the program of `command`, and those it may start, need to start.
fn needs(command: &Command, access: &FileAccess) -> Needs {
    let search_path = variable(command, "PATH").unwrap_or_else(|| DEFAULT_SEARCH_PATH.into());
    let surroundings = Surroundings {
        search_path: &search_path,
        folder: command.get_current_dir(),
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

/// A variable as the child will see it, unless the command clears its environment, which cannot be
/// told from here: then the variable is ours, and more may be allowed than needed.
fn variable(command: &Command, name: &str) -> Option<OsString> {
    let set = command.get_envs().find(|(key, _)| *key == OsStr::new(name));
    match set {
        Some((_, value)) => value.map(OsStr::to_owned),
        None => std::env::var_os(name),
    }
}

#[cfg(test)]
mod tests;
