//! `exc`: runs code.

mod claimed;
mod code_file;
mod confined;
mod exposed;
mod output;
mod program;
mod validator;

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use zot_conversation::BoxFuture;
use zot_process::sandbox::{self, Obstacles};
use zot_wire::zino::claims;
use zot_wire::zino::executor::{Code, ExecutionResult, ExecutorEntry, Request, Response, Seconds};

use crate::config::Config;
use crate::definitions::{ExecutorDefinition, load_executors};
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::peer::Peer;
use crate::service::{Responses, Service};

use claimed::{Asked, Claims};
use code_file::CodeFile;
pub use confined::SandboxError;
use confined::{Pool, Sandboxes};
pub use exposed::Exposed;
use exposed::Reachable;
use program::{Finished, Limits};
use validator::Validator;
pub use validator::ValidatorError;

/// How long a validator may take.
///
/// Limit: the check is abandoned.
const VALIDATION_TIMEOUT: Duration = Duration::from_secs(15);

/// How much of a validator's output is kept.
///
/// Limit: the output of the check is cut.
const MAX_VALIDATION_BYTES: usize = 64 * 1024;

/// The exit code of a program that did not run to its end.
const NO_EXIT_CODE: i64 = -1;

/// Runs the code of tools and skills.
pub struct ExecutorService {
    config: Config,
    log: Log,
    limits: Limits,
    /// Where programs run.
    directory: PathBuf,
    /// Where programs in the sandbox can write; empty without one.
    reachable: Vec<Reachable>,
    sandboxes: Sandboxes,
    executors: Mutex<Arc<Vec<ExecutorDefinition>>>,
    /// First come, first served.
    slots: Semaphore,
    claims: Claims,
}

/// Why `exc` cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum ExecutorError {
    #[error("[exc] timeout must be more than 0 seconds, not {0}")]
    Timeout(f64),
    #[error("[exc] working_dir: cannot use {}: {source}", .path.display())]
    WorkingDirectory { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error(transparent)]
    Exposed(#[from] Exposed),
    #[error("[exc] {0}")]
    Validator(#[from] ValidatorError),
}

/// What `[exc]` says, as it is applied.
struct Setup {
    limits: Limits,
    directory: PathBuf,
    reachable: Vec<Reachable>,
    sandboxes: Sandboxes,
}

impl Setup {
    fn new(config: &Config) -> Result<Self, ExecutorError> {
        let exc = &config.exc;
        let time = Duration::try_from_secs_f64(exc.timeout)
            .ok()
            .filter(|time| !time.is_zero())
            .ok_or(ExecutorError::Timeout(exc.timeout))?;
        let directory = working_directory(exc.working_dir.as_deref())?;
        let reachable = exposed::reachable(config, &directory);
        exposed::check(config, &reachable)?;
        Ok(Self {
            limits: Limits {
                time,
                output_bytes: exc.max_output_bytes,
            },
            sandboxes: Sandboxes::new(exc, &directory)?,
            reachable,
            directory,
        })
    }
}

/// Why a program did not start.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error("cannot write the code to a file: {0}")]
    CodeFile(io::Error),
    #[error("cannot confine it: {0}")]
    Confine(#[from] sandbox::SandboxError),
    #[error("cannot confine it: {0}")]
    Sandbox(#[from] SandboxError),
    #[error("cannot start {program}: {source}")]
    Program { program: String, source: io::Error },
}

impl ExecutorService {
    /// `claims` is where runs with a name are claimed, if a store is shared.
    pub fn new(
        config: Config,
        log: Log,
        claims: Option<Peer<claims::Request>>,
    ) -> Result<Self, ExecutorError> {
        // Left behind by earlier runs that were killed.
        zot_files::sweep_scratch();
        let Setup {
            limits,
            directory,
            reachable,
            sandboxes,
        } = Setup::new(&config)?;
        let slots = Semaphore::new(config.exc.concurrency.clamp(1, Semaphore::MAX_PERMITS));
        let executors = usable_executors(&config, &reachable, log)?;
        let executors = Mutex::new(Arc::new(executors));
        Ok(Self {
            config,
            log,
            limits,
            directory,
            reachable,
            sandboxes,
            executors,
            slots,
            claims: Claims::new(claims, log),
        })
    }

    /// Returns why `exc` would not start with this configuration, or what it would warn of.
    pub fn check(config: &Config, log: Log) -> Result<Vec<String>, ExecutorError> {
        let setup = Setup::new(config)?;
        let executors = load_executors(config.tools_dir(), log);
        Ok(validator::untrusted(&executors, &setup.reachable)?)
    }

    async fn execute(&self, code: &Code, asked: Asked) -> Response {
        let Some(executor) = self.find(&code.executor) else {
            return Response::Result(not_run(format!("Unknown executor: {}", code.executor)));
        };
        let work = self.run(&executor, &code.code);
        let result = match &code.call {
            Some(call) => self.claims.run_once(call, asked, work).await,
            None => Ok(work.await),
        };
        match result {
            Ok(result) => Response::Result(result),
            Err(failure) => Response::Error(failure),
        }
    }

    async fn validate(&self, code: &Code) -> Response {
        let errors = match self.find(&code.executor) {
            None => Some(format!("Unknown executor: {}", code.executor)),
            Some(executor) => {
                let _slot = self.slots.acquire().await;
                self.complaints(&executor, &code.code).await
            }
        };
        Response::Validation {
            ok: errors.is_none(),
            errors: errors.unwrap_or_default(),
        }
    }

    fn capabilities(&self) -> Response {
        let executors = Arc::clone(&self.lock());
        let entry = |executor: &ExecutorDefinition| ExecutorEntry {
            command: executor.name.clone(),
            file_extension: executor.file_extension.clone(),
            has_validator: matches!(
                validator::find(executor, &self.reachable),
                Ok(Validator::Program(_))
            ),
            static_analysis: executor.static_analysis.clone(),
        };
        Response::Capabilities {
            executors: executors
                .iter()
                .map(|executor| (executor.name.clone(), entry(executor)))
                .collect(),
            timeout: Seconds(self.config.exc.timeout),
        }
    }

    async fn run(&self, executor: &ExecutorDefinition, code: &str) -> ExecutionResult {
        // The semaphore is never closed, so this cannot fail.
        let _slot = self.slots.acquire().await;
        // Concurrently: the validator's verdict does not affect the run.
        let checked = async {
            if let Some(complaints) = self.complaints(executor, code).await {
                self.log
                    .warning(format_args!("{}: {complaints}", executor.name));
            }
        };
        let programs = self.sandboxes.programs();
        let ran = self.run_on(programs, &executor.name, executor, code, self.limits);
        match tokio::join!(ran, checked) {
            (Ok((finished, refused)), ()) => {
                result(&finished, self.config.exc.timeout, refused.as_ref())
            }
            (Err(error), ()) => not_run(error.to_string()),
        }
    }

    /// Runs `program` with a file that holds `code`, in a sandbox of `pool` if there is one. Returns what the
    /// sandbox refused as well.
    async fn run_on(
        &self,
        pool: Option<&Pool>,
        program: impl AsRef<OsStr>,
        executor: &ExecutorDefinition,
        code: &str,
        limits: Limits,
    ) -> Result<(Finished, Option<Obstacles>), StartError> {
        let program = program.as_ref();
        let extension = &executor.file_extension;
        let not_started = |source| StartError::Program {
            program: program.display().to_string(),
            source,
        };
        let Some(pool) = pool else {
            let file = CodeFile::new(code, extension).map_err(StartError::CodeFile)?;
            let command = self.command(program, file.path());
            let command = self.sandboxes.open(command)?;
            let finished = program::run(command, limits).await;
            return Ok((finished.map_err(not_started)?, None));
        };
        let mut sandbox = pool.take()?;
        let file = sandbox
            .write_code(code, extension)
            .map_err(StartError::CodeFile)?;
        let (command, run) = sandbox.prepare(self.command(program, &file))?;
        let finished = program::run(command, limits).await;
        let obstacles = sandbox.obstacles(&run);
        pool.put_back(sandbox).await;
        Ok((finished.map_err(not_started)?, Some(obstacles)))
    }

    /// Runs the executor's validator, if there is one, and returns its complaints. It is confined where
    /// programs are, because it may obey files that they have written.
    async fn complaints(&self, executor: &ExecutorDefinition, code: &str) -> Option<String> {
        let validator = match validator::find(executor, &self.reachable) {
            Ok(Validator::Program(path)) => path,
            Ok(Validator::None | Validator::Untrusted(_)) => return None,
            Err(error) => return Some(error.to_string()),
        };
        let limits = Limits {
            time: VALIDATION_TIMEOUT,
            output_bytes: MAX_VALIDATION_BYTES,
        };
        let validators = self.sandboxes.validators();
        let ran = self.run_on(validators, &validator, executor, code, limits);
        let finished = match ran.await {
            Ok((finished, _)) => finished,
            Err(error) => return Some(error.to_string()),
        };
        let timed_out = finished.status.is_none();
        let success = finished.status.flatten().is_some_and(|end| end.success());
        let output = format!("{}{}", finished.stdout.text(), finished.stderr.text());
        let time = VALIDATION_TIMEOUT.as_secs();
        match (timed_out, success) {
            (true, _) => Some(format!("the check timed out after {time}s")),
            (false, true) => None,
            (false, false) => Some(output.trim().to_owned()),
        }
    }

    fn command(&self, program: impl AsRef<OsStr>, file: &Path) -> Command {
        let mut command = Command::new(program);
        command.arg(file).current_dir(&self.directory);
        command
    }

    fn find(&self, name: &str) -> Option<ExecutorDefinition> {
        let executors = self.lock();
        executors
            .iter()
            .find(|executor| executor.name == name)
            .cloned()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Arc<Vec<ExecutorDefinition>>> {
        self.executors
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The result of code that did not run.
fn not_run(reason: String) -> ExecutionResult {
    ExecutionResult {
        exit_code: NO_EXIT_CODE,
        stdout: String::new(),
        stderr: reason,
    }
}

fn result(finished: &Finished, time_limit: f64, refused: Option<&Obstacles>) -> ExecutionResult {
    let mut stderr = finished.stderr.text();
    for remark in refused.into_iter().flat_map(remarks) {
        begin_line(&mut stderr);
        stderr.push_str(&remark);
        stderr.push('\n');
    }
    let exit_code = match finished.status {
        Some(status) => status.map_or(NO_EXIT_CODE, exit_code),
        None => {
            begin_line(&mut stderr);
            stderr.push_str(&format!("Execution timed out after {time_limit}s."));
            NO_EXIT_CODE
        }
    };
    ExecutionResult {
        exit_code,
        stdout: finished.stdout.text(),
        stderr,
    }
}

fn begin_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Says what the sandbox refused, for the model that wrote the code.
fn remarks(refused: &Obstacles) -> Vec<String> {
    let hosts = refused.hosts.iter().map(|contact| {
        let (host, port) = (&contact.host, contact.port);
        format!(
            "The sandbox refused a connection to {host}:{port}, which [exc] connect does not list."
        )
    });
    let files = refused.withheld_files.iter().map(|(path, renamed)| {
        let (path, renamed) = (path.display(), renamed.display());
        format!("{path} is protected: what the program created there was renamed to {renamed}.")
    });
    let changed = refused.changed_files.iter();
    let changed = changed.map(|path| {
        let path = path.display();
        format!("{path} is protected, and was changed while the program ran.")
    });
    hosts.chain(files).chain(changed).collect()
}

/// A program killed by a signal has the negated signal number, as in Python.
fn exit_code(status: ExitStatus) -> i64 {
    let signal = || status.signal().map(|signal| -i64::from(signal));
    let code = status.code().map(i64::from);
    code.or_else(signal).unwrap_or(NO_EXIT_CODE)
}

impl Service for ExecutorService {
    type Request = Request;

    fn kind(&self) -> ServiceKind {
        ServiceKind::Executor
    }

    fn handle(&self, request: Request, responses: Responses<Response>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let response = match request {
                Request::Execute(code) => self.execute(&code, Asked::First).await,
                Request::Outcome(code) => self.execute(&code, Asked::Again).await,
                Request::Validate(code) => self.validate(&code).await,
                Request::Capabilities => self.capabilities(),
            };
            responses.finish(response).await;
        })
    }

    fn prepare(&self, _log: Log, stop: &CancellationToken) {
        // This is a thread for blocking work.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.block_on(async {
                stop.cancelled().await;
                self.claims.end(self.config.drain_timeout()).await;
            });
        }
    }

    fn reload(&self) -> Result<(), String> {
        let executors = usable_executors(&self.config, &self.reachable, self.log);
        *self.lock() = Arc::new(executors.map_err(|error| error.to_string())?);
        Ok(())
    }
}

/// Loads the executors, unless one has a validator that must not be used.
fn usable_executors(
    config: &Config,
    reachable: &[Reachable],
    log: Log,
) -> Result<Vec<ExecutorDefinition>, ValidatorError> {
    let executors = load_executors(config.tools_dir(), log);
    for warning in validator::untrusted(&executors, reachable)? {
        log.warning(format_args!("{warning}"));
    }
    Ok(executors)
}

fn working_directory(given: Option<&Path>) -> Result<PathBuf, ExecutorError> {
    let path = given.unwrap_or(Path::new("."));
    let failed = |source| ExecutorError::WorkingDirectory {
        path: path.to_owned(),
        source,
    };
    let directory = path.canonicalize().map_err(failed)?;
    match directory.is_dir() {
        true => Ok(directory),
        false => Err(failed(io::ErrorKind::NotADirectory.into())),
    }
}
