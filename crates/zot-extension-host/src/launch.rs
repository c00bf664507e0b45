//! Starts the process of an extension, with what it may do settled.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use tokio::net::unix::pipe;
use zot_process::ProcessGroup;
use zot_process::launch::{ConfineError, Confinement, Enforcement, Execution, FileAccess, confine};

use crate::extension::Extension;
use crate::manifest::{ExecPermission, Permissions, Places};

/// The secret between zot and the program that drives it is nobody else's business.
const RPC_TOKEN: &str = "ZOTCORE_RPC_TOKEN";

/// What an extension that names its variables is given without asking.
const HARMLESS_VARIABLES: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TZ",
    "TMPDIR",
    "COLORTERM",
    "NO_COLOR",
    "XDG_RUNTIME_DIR",
    "ZOT_HOME",
];

/// A running extension and our ends of its standard streams.
pub(crate) struct Process {
    pub(crate) group: ProcessGroup,
    pub(crate) stdin: pipe::Sender,
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: pipe::Receiver,
    pub(crate) enforcement: Enforcement,
}

/// Why an extension could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LaunchError {
    #[error("cannot start {}: {source}{}", .program.display(), hint(.source))]
    Spawn { program: PathBuf, source: io::Error },
    #[error("cannot make its data folder {}: {source}", .path.display())]
    DataFolder { path: PathBuf, source: io::Error },
    #[error("cannot hold it to its permissions: {0}")]
    Confinement(#[from] ConfineError),
    #[error("cannot connect to it: {0}")]
    Pipes(#[from] io::Error),
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => " (is it executable? chmod +x helps)",
        _ => "",
    }
}

pub(crate) fn start(extension: &Extension) -> Result<Process, LaunchError> {
    let manifest = &extension.found().manifest;
    let directory = &extension.found().directory;
    let program = manifest.program(directory);
    let (child_stdin, stdin) = io::pipe()?;
    let (stdout, child_stdout) = io::pipe()?;
    let (stderr, child_stderr) = io::pipe()?;
    let mut command = Command::new(&program);
    command
        .args(&manifest.args)
        .current_dir(directory)
        .stdin(child_stdin)
        .stdout(child_stdout)
        .stderr(child_stderr);
    let mut confinement = Confinement::default().die_with_parent(true);
    if let Some(bytes) = extension.limits.memory_bytes {
        confinement = confinement.memory_limit(bytes);
    }
    match &manifest.permissions {
        None => {
            command.env_remove(RPC_TOKEN);
        }
        Some(permissions) => {
            command.env_clear().envs(variables(permissions));
            confinement = confinement
                .network(permissions.network)
                .filesystem(files(extension, permissions)?);
        }
    }
    let enforcement = confine(&mut command, &confinement)?;
    let group =
        ProcessGroup::spawn(command).map_err(|source| LaunchError::Spawn { program, source })?;
    Ok(Process {
        group,
        stdin: pipe::Sender::from_owned_fd(stdin.into())?,
        stdout: pipe::Receiver::from_owned_fd(stdout.into())?,
        stderr: pipe::Receiver::from_owned_fd(stderr.into())?,
        enforcement,
    })
}

/// The environment of an extension that declares permissions.
fn variables(permissions: &Permissions) -> Vec<(OsString, OsString)> {
    let is_given = |name: &str| {
        name != RPC_TOKEN
            && (HARMLESS_VARIABLES.contains(&name)
                || name.starts_with("LC_")
                || permissions.env.iter().any(|wanted| wanted == name))
    };
    env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(is_given))
        .collect()
}

/// The files of an extension that declares permissions: its own folder to read, its data folder to
/// write, and what it asks for.
fn files(extension: &Extension, permissions: &Permissions) -> Result<FileAccess, LaunchError> {
    let data_dir = extension.data_dir();
    fs::create_dir_all(&data_dir).map_err(|source| LaunchError::DataFolder {
        path: data_dir.clone(),
        source,
    })?;
    let home = env::home_dir();
    let places = Places {
        cwd: &extension.surroundings.cwd,
        home: home.as_deref(),
        data_dir: &data_dir,
    };
    let mut read = permissions.readable(&places);
    read.push(extension.found().directory.clone());
    let (mut write, missing): (Vec<PathBuf>, Vec<PathBuf>) = permissions
        .writable(&places)
        .into_iter()
        .partition(|path| path.exists());
    for path in missing {
        extension.log(&format!(
            "fs_write: {} is not there and cannot be written",
            path.display()
        ));
    }
    write.push(data_dir);
    let execute = match &permissions.exec {
        ExecPermission::Anything(true) => Execution::Anything,
        ExecPermission::Anything(false) => Execution::Only(Vec::new()),
        ExecPermission::Only(programs) => {
            Execution::Only(programs.iter().map(|program| on_path(program)).collect())
        }
    };
    Ok(FileAccess {
        read,
        write,
        execute,
    })
}

/// A program as `PATH` has it; as it is named when `PATH` has none.
fn on_path(program: &str) -> PathBuf {
    let named = PathBuf::from(program);
    if program.contains('/') {
        return named;
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
        .unwrap_or(named)
}
