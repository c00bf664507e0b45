//! Starts the process of an extension, confined to its permissions.

mod grants;

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep};
use zot_process::ProcessGroup;
use zot_process::launch::{ConfineError, Confinement, Enforcement, FileAccess, Status, confine};

use crate::limits::EffectiveLimits;
use crate::manifest::{DATA_DIRECTORY, Manifest, Permissions};
use crate::program::{ProgramError, check_program};

/// The secret between zot and the program that drives it, which extensions must not see.
const RPC_TOKEN: &str = "ZOTCORE_RPC_TOKEN";

/// Variables that an extension with permissions gets without listing them.
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

/// How long a program may be open for writing, and how often that is checked.
const BUSY_TIME: Duration = Duration::from_secs(1);
const BUSY_INTERVAL: Duration = Duration::from_millis(10);

/// What to start, and how.
pub struct Launch<'a> {
    pub manifest: &'a Manifest,
    /// Where the manifest and the program are.
    pub directory: &'a Path,
    /// Created for extensions that declare permissions; others create it themselves.
    pub data_dir: &'a Path,
    /// Where the agent works.
    pub cwd: &'a Path,
    pub limits: EffectiveLimits,
}

/// A running extension and our ends of its standard streams.
pub struct Process {
    pub group: ProcessGroup,
    pub stdin: pipe::Sender,
    pub stdout: pipe::Receiver,
    pub stderr: pipe::Receiver,
    /// The permissions that are not enforced here, and those that cannot be granted.
    pub shortfalls: Vec<String>,
}

/// Why an extension could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error("{} cannot be started: {source}{}", .program.display(), hint(.source))]
    Spawn { program: PathBuf, source: io::Error },
    #[error("cannot create its data directory {}: {source}", .path.display())]
    DataDirectory { path: PathBuf, source: io::Error },
    #[error("cannot enforce its permissions: {0}")]
    Confinement(#[from] ConfineError),
    #[error("cannot connect to it: {0}")]
    Pipes(#[from] io::Error),
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => " (does its first line name an interpreter that is installed?)",
        _ => "",
    }
}

/// Starts an extension, waiting while its program is open for writing: by an editor, a build, or a
/// process between fork and exec.
pub async fn start(launch: &Launch<'_>) -> Result<Process, LaunchError> {
    let deadline = Instant::now() + BUSY_TIME;
    loop {
        match start_now(launch) {
            Err(LaunchError::Spawn { source, .. })
                if source.kind() == io::ErrorKind::ExecutableFileBusy
                    && Instant::now() < deadline =>
            {
                sleep(BUSY_INTERVAL).await;
            }
            started => return started,
        }
    }
}

fn start_now(launch: &Launch<'_>) -> Result<Process, LaunchError> {
    let Launch {
        manifest,
        directory,
        ..
    } = launch;
    let program = manifest.program(directory);
    let mut command = Command::new(&program);
    command.args(&manifest.args).current_dir(directory);
    let places = Places {
        directory,
        data_dir: launch.data_dir,
        cwd: launch.cwd,
    };
    let confinement = confinement(manifest.permissions.as_ref(), launch.limits.memory_bytes);
    let permissions = manifest.permissions.as_ref();
    spawn(command, permissions, &BTreeMap::new(), &places, confinement).map_err(|error| match error
    {
        LaunchError::Spawn { source, .. } => match check_program(manifest, directory) {
            Err(error) => error.into(),
            Ok(_) => LaunchError::Spawn { program, source },
        },
        other => other,
    })
}

/// A program other than an extension, which can be confined like one.
pub struct ProgramLaunch<'a> {
    /// A path, or a name to look up in `PATH`.
    pub program: &'a str,
    pub args: &'a [String],
    /// What it gets beside the environment that its permissions leave it.
    pub env: &'a BTreeMap<String, String>,
    /// Where it runs; `$CWD` in its permissions.
    pub cwd: &'a Path,
    /// Created for programs with permissions, which may write there.
    pub data_dir: &'a Path,
    /// Without them, it may do everything the user may do.
    pub permissions: Option<&'a Permissions>,
}

/// Returns where a confined program other than an extension keeps its data. No extension has such a name.
pub fn program_data_dir(home: &Path, kind: &str, name: &str) -> PathBuf {
    home.join(DATA_DIRECTORY).join(format!("{kind}@{name}"))
}

/// Starts a program other than an extension.
pub fn start_program(launch: &ProgramLaunch<'_>) -> Result<Process, LaunchError> {
    let mut command = Command::new(launch.program);
    command.args(launch.args).current_dir(launch.cwd);
    let places = Places {
        directory: launch.data_dir,
        data_dir: launch.data_dir,
        cwd: launch.cwd,
    };
    let confinement = confinement(launch.permissions, None);
    spawn(
        command,
        launch.permissions,
        launch.env,
        &places,
        confinement,
    )
}

/// The directories that decide what a program is granted.
struct Places<'a> {
    directory: &'a Path,
    data_dir: &'a Path,
    cwd: &'a Path,
}

fn spawn(
    mut command: Command,
    permissions: Option<&Permissions>,
    env: &BTreeMap<String, String>,
    places: &Places<'_>,
    mut confinement: Confinement,
) -> Result<Process, LaunchError> {
    let (child_stdin, stdin) = io::pipe()?;
    let (stdout, child_stdout) = io::pipe()?;
    let (stderr, child_stderr) = io::pipe()?;
    let program = PathBuf::from(command.get_program());
    command
        .stdin(child_stdin)
        .stdout(child_stdout)
        .stderr(child_stderr);
    let mut shortfalls = Vec::new();
    let mut includes_project_extensions = false;
    match permissions {
        None => {
            command.env_remove(RPC_TOKEN);
        }
        Some(permissions) => {
            command.env_clear().envs(variables(permissions));
            let grants = grants::grants(places, permissions)?;
            confinement = confinement.filesystem(grants.files);
            includes_project_extensions = grants.includes_project_extensions;
            shortfalls = grants.refusals;
        }
    }
    command.envs(env);
    let (command, mut enforcement) = confine(command, &confinement)?;
    if includes_project_extensions {
        enforcement.files = with_gap(enforcement.files, grants::PROJECT_GAP);
    }
    for (part, status) in enforcement.parts() {
        if let Status::Partly(_) | Status::NotEnforced(_) = status {
            shortfalls.push(format!("{part}: {status}"));
        }
    }
    let group =
        ProcessGroup::spawn(command).map_err(|source| LaunchError::Spawn { program, source })?;
    Ok(Process {
        group,
        stdin: pipe::Sender::from_owned_fd(stdin.into())?,
        stdout: pipe::Receiver::from_owned_fd(stdout.into())?,
        stderr: pipe::Receiver::from_owned_fd(stderr.into())?,
        shortfalls,
    })
}

/// Returns how far this system enforces the permissions of `manifest`.
pub fn enforcement(manifest: &Manifest) -> Enforcement {
    let memory = EffectiveLimits::of(manifest).memory_bytes;
    let mut confinement = confinement(manifest.permissions.as_ref(), memory);
    if let Some(permissions) = &manifest.permissions {
        confinement = confinement.filesystem(FileAccess {
            execute: grants::execution(permissions),
            ..FileAccess::default()
        });
    }
    let mut enforcement = zot_process::launch::enforcement(&confinement);
    if manifest
        .permissions
        .as_ref()
        .is_some_and(Permissions::writes_whole_project)
    {
        enforcement.files = with_gap(enforcement.files, grants::PROJECT_GAP);
    }
    enforcement
}

fn with_gap(status: Status, gap: &str) -> Status {
    match status {
        Status::NotRequested | Status::Enforced => Status::Partly(gap.to_owned()),
        Status::Partly(gaps) => Status::Partly(format!("{gaps}; {gap}")),
        Status::NotEnforced(reason) => Status::NotEnforced(reason),
    }
}

/// Returns the confinement without file access, which depends on the files that exist.
fn confinement(permissions: Option<&Permissions>, memory_bytes: Option<u64>) -> Confinement {
    let mut confinement = Confinement::default();
    if let Some(bytes) = memory_bytes {
        confinement = confinement.memory_limit(bytes);
    }
    match permissions {
        None => confinement,
        Some(permissions) => confinement.network(permissions.network),
    }
}

/// Returns the environment of an extension that declares permissions.
fn variables(permissions: &Permissions) -> Vec<(OsString, OsString)> {
    let is_given = |name: &str| {
        name != RPC_TOKEN
            && (HARMLESS_VARIABLES.contains(&name)
                || name.starts_with("LC_")
                || permissions.env.iter().any(|listed| listed == name))
    };
    env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(is_given))
        .collect()
}
