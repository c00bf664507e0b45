//! `zot rpc`.

use std::process::ExitCode;

use zot_rpc::{Connection, Exit, ServeOptions, UNANNOUNCED_CONFIRM_TIMEOUT, serve};
use zot_sdk::{Persistence, Runtime};
use zot_stdio::executor;

use crate::arguments::Arguments;
use crate::configuration;
use crate::failure::Failure;
use crate::{mention_project_servers, warn};

pub(crate) fn run(mut arguments: Arguments) -> Result<ExitCode, Failure> {
    let unannounced_confirm_time =
        (!arguments.has_confirm_timeout()).then_some(UNANNOUNCED_CONFIRM_TIMEOUT);
    let token = arguments.take_rpc_token()?;
    // The embedding program stores the conversation, unless a flag asks for a session.
    let mut config = configuration::read(arguments, Persistence::Never)?;
    config.recording.secrets.extend(token.clone());
    let options = ServeOptions {
        token,
        unannounced_confirm_time,
    };
    let exit = executor::run(|idle| async move {
        let runtime = Runtime::new(config)?;
        warn(runtime.warnings());
        mention_project_servers(&runtime);
        let connection = Connection::standard(idle)?;
        Ok::<_, Failure>(serve(runtime, connection, options).await?)
    })??;
    match exit {
        Exit::Finished | Exit::Stopped => Ok(ExitCode::SUCCESS),
        Exit::Signalled(signal) => Ok(ExitCode::from(signal.exit_code())),
        Exit::BadToken => Err(Failure::failed("rpc: bad auth token")),
        Exit::ReaderGone => Err(Failure::reader_gone()),
    }
}
