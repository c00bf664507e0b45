//! The sandbox as the pipe writes it.

use std::path::{Path, PathBuf};

use zot_config::{Item, MIN_OPEN_FILES};
use zot_process::sandbox::{ConnectRule, Level, Policy};
use zot_wire::rpc::{SandboxData, SandboxLevel, SetSandboxCommand};

use super::{SandboxChangeError, SandboxReport};

/// The bytes of a MiB.
pub(super) const MIB: u64 = 1 << 20;

/// Why a client's request was refused.
#[derive(Debug, thiserror::Error)]
pub enum SandboxRequestError {
    /// What it asks for makes no sense; names the field.
    #[error("{0}")]
    Argument(String),
    /// The sandbox was not changed.
    #[error(transparent)]
    Change(#[from] SandboxChangeError),
}

impl From<&SandboxReport> for SandboxData {
    fn from(report: &SandboxReport) -> Self {
        let rules = &report.policy.rules;
        let paths = |paths: &[PathBuf]| paths.iter().map(|path| shown(path)).collect();
        Self {
            level: match report.policy.level {
                Level::Off => SandboxLevel::Off,
                Level::Workspace => SandboxLevel::Workspace,
                Level::ReadOnly => SandboxLevel::ReadOnly,
            },
            read: paths(&rules.read),
            write: paths(&rules.write),
            run: rules.run.as_deref().map(paths),
            connect: rules.connect.iter().map(ToString::to_string).collect(),
            unix_sockets: paths(&rules.unix_sockets),
            environment: rules.environment.clone(),
            memory_mib: rules.limits.memory_bytes.map(|bytes| bytes / MIB),
            processes: rules.limits.processes,
            processor_seconds: rules.limits.processor_seconds,
            open_files: rules.limits.open_files,
            caveats: report.caveats(),
        }
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Returns the policy that a client asks for. What it leaves out is as in `initial`. The error names the
/// field.
pub(crate) fn requested(command: SetSandboxCommand, initial: &Policy) -> Result<Policy, String> {
    let mut policy = initial.clone();
    policy.level = match command.level {
        SandboxLevel::Off => Level::Off,
        SandboxLevel::Workspace => Level::Workspace,
        SandboxLevel::ReadOnly => Level::ReadOnly,
    };
    let rules = &mut policy.rules;
    for (field, given, list) in [
        ("read", command.read, &mut rules.read),
        ("write", command.write, &mut rules.write),
        (
            "unix_sockets",
            command.unix_sockets,
            &mut rules.unix_sockets,
        ),
    ] {
        if let Some(given) = given {
            *list = paths(field, given)?;
        }
    }
    if let Some(programs) = command.run {
        rules.run = Some(paths("run", programs)?);
    }
    if let Some(hosts) = command.connect {
        let parsed = hosts.iter().map(|host| host.parse::<ConnectRule>());
        let parsed: Result<_, _> = parsed.collect();
        rules.connect = parsed.map_err(|problem| format!("connect: {problem}"))?;
    }
    if let Some(names) = command.environment {
        check("environment", Item::Variable, &names)?;
        rules.environment = names;
    }
    if let Some(given @ 1..MIN_OPEN_FILES) = command.open_files {
        return Err(format!(
            "open_files: expected 0 (no limit) or at least {MIN_OPEN_FILES}, got {given}"
        ));
    }
    let limits = &mut rules.limits;
    let bytes = command.memory_mib.map(|mib| mib.saturating_mul(MIB));
    for (given, limit) in [
        (bytes, &mut limits.memory_bytes),
        (command.processes, &mut limits.processes),
        (command.processor_seconds, &mut limits.processor_seconds),
        (command.open_files, &mut limits.open_files),
    ] {
        if let Some(given) = given {
            *limit = (given > 0).then_some(given);
        }
    }
    Ok(policy)
}

fn paths(field: &str, given: Vec<String>) -> Result<Vec<PathBuf>, String> {
    check(field, Item::Path, &given)?;
    Ok(given.into_iter().map(PathBuf::from).collect())
}

fn check(field: &str, item: Item, entries: &[String]) -> Result<(), String> {
    entries
        .iter()
        .try_for_each(|entry| item.check(entry))
        .map_err(|problem| format!("{field}: {problem}"))
}
