//! Starts the process of an extension, or another program, in its sandbox.

mod grants;
mod lookup;
mod running;
mod wanted;

pub use running::{ProcessSandbox, SandboxRemark};

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep};
use zot_process::ProcessGroup;
use zot_process::launch::{Enforcement, Status};
use zot_process::sandbox::record::{Caller, NetworkLog};
use zot_process::sandbox::{Level, SandboxError, has_views};

use crate::limits::EffectiveLimits;
use crate::manifest::{DATA_DIRECTORY, Manifest, Permissions};
use crate::program::{ProgramError, check_program};
use wanted::{Applied, Wanted};

/// How long a program may be open for writing, and how often that is checked.
const BUSY_TIME: Duration = Duration::from_secs(1);
const BUSY_INTERVAL: Duration = Duration::from_millis(10);

/// What applies to every program, whatever it asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaunchRules {
    /// The least that a program is confined to. What its permissions name is granted in addition, unless
    /// they come with a project.
    pub minimum: Level,
    /// The variables with keys of model providers, logins and tokens. A program gets them only if it lists
    /// them by name.
    pub withheld: Vec<String>,
    /// zot's own directory, in which contacted hosts are recorded.
    pub zot_home: Option<PathBuf>,
    /// Whether the commands of the agent are confined. Then no program with the rights of the user is taken by
    /// its name from where they can write.
    pub confines_commands: bool,
}

impl LaunchRules {
    /// Returns the rules beside an agent whose commands run at `level`.
    #[must_use]
    pub fn beside_commands_at(self, level: Level) -> Self {
        Self {
            confines_commands: level != Level::Off,
            ..self
        }
    }
}

/// What to start, and how.
pub struct Launch<'a> {
    pub manifest: &'a Manifest,
    /// Where the manifest and the program are.
    pub directory: &'a Path,
    /// Created for extensions that are confined; others create it themselves.
    pub data_dir: &'a Path,
    /// Where the agent works.
    pub cwd: &'a Path,
    pub limits: EffectiveLimits,
    /// Whether the manifest is part of a project.
    pub is_from_project: bool,
    pub rules: &'a LaunchRules,
}

/// A running extension and our ends of its standard streams.
pub struct Process {
    pub group: ProcessGroup,
    pub stdin: pipe::Sender,
    pub stdout: pipe::Receiver,
    pub stderr: pipe::Receiver,
    /// The permissions that are not enforced here, and those that cannot be granted.
    pub shortfalls: Vec<String>,
    /// To be kept until the process has ended.
    pub sandbox: ProcessSandbox,
}

/// Why an extension could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error("{} cannot be started: {source}{}", .program.display(), hint(.source))]
    Spawn { program: PathBuf, source: io::Error },
    #[error("{0} is not in PATH: install it, or give its path")]
    NotOnPath(String),
    #[error("{name} is {} in PATH, inside of the working directory, where confined commands can write: if you \
             trust it, give this path instead of the name", .found.display())]
    InsideWorkspace { name: String, found: PathBuf },
    #[error("cannot create its data directory {}: {source}", .path.display())]
    DataDirectory { path: PathBuf, source: io::Error },
    #[error("cannot confine it: {0}")]
    Confinement(#[from] SandboxError),
    #[error("the project lets it work in {}, outside of the project, which a sandbox of at least {minimum} \
             does not allow: copy it to your own configuration if you want that", .cwd.display())]
    OutsideProject { cwd: PathBuf, minimum: Level },
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
    let places = Places {
        directory,
        data_dir: launch.data_dir,
        cwd: launch.cwd,
    };
    let wanted = Wanted {
        permissions: manifest.permissions.as_ref(),
        sandbox: manifest.sandbox,
        memory_bytes: launch.limits.memory_bytes,
        is_from_project: launch.is_from_project,
        rules: launch.rules,
    };
    let mut program = manifest.program(directory);
    if !wanted.is_confined() && launch.rules.confines_commands {
        program = match lookup::locate(program, None, &[launch.cwd]) {
            Err(LaunchError::NotOnPath(name)) => return Err(ProgramError::NotOnPath(name).into()),
            found => found?,
        };
    }
    let mut command = Command::new(&program);
    command.args(&manifest.args).current_dir(directory);
    let name = format!("extension {}", manifest.name);
    spawn(command, wanted, &places, name).map_err(|error| match error {
        LaunchError::Spawn { source, .. } => match check_program(manifest, directory) {
            Err(error) => error.into(),
            Ok(_) => LaunchError::Spawn { program, source },
        },
        other => other,
    })
}

/// A program other than an extension, which can be confined like one.
pub struct ProgramLaunch<'a> {
    /// What users call it, such as `MCP server NAME`.
    pub name: String,
    /// A path, or a name to look up in `PATH`.
    pub program: &'a str,
    pub args: &'a [String],
    /// What it gets beside the environment that its sandbox leaves it.
    pub env: &'a BTreeMap<String, String>,
    /// Where it runs; `$CWD` in its permissions.
    pub cwd: &'a Path,
    /// Where agents work, whose confined commands can write there.
    pub workspaces: &'a [PathBuf],
    /// Created for confined programs, which may write there.
    pub data_dir: &'a Path,
    pub sandbox: Option<Level>,
    /// Without them and without a sandbox, it may do everything the user may do.
    pub permissions: Option<&'a Permissions>,
    /// The directory of the project that describes it, if one does.
    pub project: Option<&'a Path>,
    pub rules: &'a LaunchRules,
}

/// Returns where a confined program other than an extension keeps its data. No extension has such a name.
pub fn program_data_dir(home: &Path, kind: &str, name: &str) -> PathBuf {
    home.join(DATA_DIRECTORY).join(format!("{kind}@{name}"))
}

/// Starts a program other than an extension.
pub fn start_program(launch: &ProgramLaunch<'_>) -> Result<Process, LaunchError> {
    if let Some(project) = launch.project
        && launch.rules.minimum != Level::Off
        && !is_inside(launch.cwd, project)
    {
        return Err(LaunchError::OutsideProject {
            cwd: launch.cwd.to_owned(),
            minimum: launch.rules.minimum,
        });
    }
    let places = Places {
        directory: launch.data_dir,
        data_dir: launch.data_dir,
        cwd: launch.cwd,
    };
    let wanted = Wanted {
        permissions: launch.permissions,
        sandbox: launch.sandbox,
        memory_bytes: None,
        is_from_project: launch.project.is_some(),
        rules: launch.rules,
    };
    let mut program = PathBuf::from(launch.program);
    if !wanted.is_confined() && launch.rules.confines_commands {
        let search_path = launch.env.get("PATH").map(OsStr::new);
        let workspaces: Vec<&Path> = launch.workspaces.iter().map(PathBuf::as_path).collect();
        program = lookup::locate(program, search_path, &workspaces)?;
    }
    let mut command = Command::new(program);
    command
        .args(launch.args)
        .current_dir(launch.cwd)
        .envs(launch.env);
    spawn(command, wanted, &places, launch.name.clone())
}

/// Returns whether `path` is `directory` or below it. One that cannot be resolved is not.
fn is_inside(path: &Path, directory: &Path) -> bool {
    let resolved = (path.canonicalize(), directory.canonicalize());
    matches!(resolved, (Ok(path), Ok(directory)) if path.starts_with(&directory))
}

/// The directories that decide what a program is granted.
struct Places<'a> {
    directory: &'a Path,
    data_dir: &'a Path,
    cwd: &'a Path,
}

fn spawn(
    mut command: Command,
    wanted: Wanted<'_>,
    places: &Places<'_>,
    name: String,
) -> Result<Process, LaunchError> {
    let (child_stdin, stdin) = io::pipe()?;
    let (stdout, child_stdout) = io::pipe()?;
    let (stderr, child_stderr) = io::pipe()?;
    let program = PathBuf::from(command.get_program());
    let network_log = wanted.rules.zot_home.as_ref().map(|home| {
        let caller = Caller {
            session: None,
            program: Some(name),
            directory: places.cwd.display().to_string(),
        };
        NetworkLog::new(home, caller)
    });
    command
        .stdin(child_stdin)
        .stdout(child_stdout)
        .stderr(child_stderr);
    let Applied {
        sandbox,
        scratch,
        includes_project_extensions,
        refusals: mut shortfalls,
    } = wanted.apply(places)?;
    let prepared = sandbox.prepare(command)?;
    wanted.check(&prepared.enforcement)?;
    let mut enforcement = prepared.enforcement;
    if includes_project_extensions && !has_views() {
        enforcement.files = with_gap(enforcement.files, grants::PROJECT_GAP);
    }
    for (part, status) in enforcement.parts() {
        if let Status::Partly(_) | Status::NotEnforced(_) = status {
            shortfalls.push(format!("{part}: {status}"));
        }
    }
    let group = ProcessGroup::spawn(prepared.command)
        .map_err(|source| LaunchError::Spawn { program, source })?;
    Ok(Process {
        group,
        stdin: pipe::Sender::from_owned_fd(stdin.into())?,
        stdout: pipe::Receiver::from_owned_fd(stdout.into())?,
        stderr: pipe::Receiver::from_owned_fd(stderr.into())?,
        shortfalls,
        sandbox: ProcessSandbox::new(sandbox, prepared.run, scratch, network_log),
    })
}

/// Returns how far this system enforces the sandbox and the permissions of `manifest`.
pub fn enforcement(manifest: &Manifest) -> Enforcement {
    let wanted = Wanted {
        permissions: manifest.permissions.as_ref(),
        sandbox: manifest.sandbox,
        memory_bytes: EffectiveLimits::of(manifest).memory_bytes,
        is_from_project: false,
        rules: &LaunchRules::default(),
    };
    let mut enforcement = wanted.policy().enforcement();
    let writes_project = manifest.permissions.as_ref();
    let writes_project = writes_project.is_some_and(Permissions::writes_whole_project);
    if writes_project && manifest.sandbox.is_none() && !has_views() {
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
