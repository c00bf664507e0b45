//! `zino agent`, `zino attach` and `zino sessions`.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use zino::config::{Config, ConfigError};
use zino::program::agent;
use zino::program::attach::{AttachError, AttachExit, attach};
use zino::program::run::config_path;
use zino::program::store::list_sessions;
use zot_rpc::Token;
use zot_stdio::executor;

use crate::arguments::{Agent, Attach, ConfigArgument};
use crate::{Failure, block_on, load_and_warn, warn};

/// The exit code when a session could not be opened.
const NOT_STARTED: u8 = 2;

/// Holds what a client of `zot rpc` has to send first.
const TOKEN_VARIABLE: &str = "ZOTCORE_RPC_TOKEN";

/// Runs sessions for clients on the bus.
pub(crate) fn run_workers(arguments: Agent) -> Result<ExitCode, Failure> {
    let path = config_path(arguments.config.config);
    let mut config = Config::load(&path)
        .map(warn)
        .map_err(|error| error.to_string())?;
    agent::hide_addresses(&mut config);
    block_on(agent::run(&config, &path, &arguments.profiles))?
        .map_err(|error| error.to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the sessions in the database, the last changed first.
pub(crate) fn list(config: ConfigArgument) -> Result<ExitCode, Failure> {
    let config = load_and_warn(config)?;
    let sessions = block_on(list_sessions(&config))?.map_err(|error| error.to_string())?;
    let mut output = zot_terminal::stdout();
    for session in sessions {
        let worker = session.worker.as_deref().unwrap_or("-");
        let _ = writeln!(
            output,
            "{}  {}  {}  {} UTC  {} bytes",
            session.id, session.profile, worker, session.changed, session.bytes
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Attaches a program that speaks `zot rpc` to a session.
pub(crate) fn attach_client(arguments: Attach) -> Result<ExitCode, Failure> {
    let token = match zot_process::take_secret(TOKEN_VARIABLE).map(OsString::into_string) {
        None => None,
        Some(Ok(token)) => Some(token).filter(|token| !token.is_empty()),
        Some(Err(_)) => {
            let problem = format!("{TOKEN_VARIABLE} is not UTF-8, so no client could send it");
            return Ok(not_started(&problem));
        }
    };
    // Variables can name the bus, and an argument the profile.
    let path = config_path(arguments.config.config.clone());
    let config = match Config::load(&path) {
        Ok(loaded) => warn(loaded),
        Err(ConfigError::Missing(_)) => Config::default(),
        Err(error) => return Ok(not_started(&error.to_string())),
    };
    let request = arguments.request(token.as_deref().map(Token::new));
    let attached = executor::run(|idle| async move { attach(&config, request, idle).await })
        .map_err(|error| error.to_string())?;
    match attached {
        Ok(AttachExit::Finished) => Ok(ExitCode::SUCCESS),
        Ok(AttachExit::WorkerLost) => {
            Err("the worker was lost before the work was done".to_owned())
        }
        Ok(AttachExit::BadToken) => Err("bad auth token".to_owned()),
        Ok(AttachExit::ReaderGone) => Err("standard output was closed".to_owned()),
        Ok(AttachExit::Signalled(signal)) => Ok(ExitCode::from(signal.exit_code())),
        Err(AttachError::Io(error)) => Err(error.to_string()),
        Err(error) => Ok(not_started(&error.to_string())),
    }
}

fn not_started(problem: &str) -> ExitCode {
    // Standard error may be closed.
    let _ = writeln!(zot_terminal::stderr(), "zino: {problem}");
    ExitCode::from(NOT_STARTED)
}
