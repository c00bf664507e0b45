//! `zot rpc`.

use std::process::ExitCode;

use zot_rpc::{Exit, ServeOptions, executor, serve};
use zot_sdk::{Persistence, Runtime};

use crate::arguments::{Arguments, rpc_token};
use crate::configuration;
use crate::failure::Failure;
use crate::warn;

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    // The embedding program owns persistence, unless it hands it over.
    let config = configuration::read(arguments, Persistence::Never)?;
    let options = ServeOptions {
        token: rpc_token()?,
    };
    let exit = executor::run(|idle| async move {
        let runtime = Runtime::new(config)?;
        warn(runtime.warnings());
        Ok::<_, Failure>(serve(runtime, options, idle).await?)
    })??;
    match exit {
        Exit::Finished => Ok(ExitCode::SUCCESS),
        Exit::Signalled(signal) => Ok(ExitCode::from(signal.exit_code())),
        Exit::BadToken => Err(Failure::BadToken),
        Exit::ReaderGone => Err(Failure::ReaderGone),
    }
}
