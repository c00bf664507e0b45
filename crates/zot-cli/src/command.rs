//! Runs subcommands that have their own parser, which the other modes then need not load.

use std::env;
use std::future::Future;
use std::process::{ExitCode, Termination};

use clap::Parser;
use zot_stdio::executor;
use zot_stdio::signals::{EndSignal, EndSignals};

use crate::arguments::Shown;
use crate::failure::Failure;

/// Parses the arguments of a subcommand and runs it.
pub(crate) fn run<Arguments, Success>(
    command: impl FnOnce(Arguments) -> Result<Success, Failure>,
) -> ExitCode
where
    Arguments: Parser,
    Success: Termination,
{
    // The name of the subcommand takes the place of the program's. The last of repeated flags counts.
    let parsed = Arguments::command()
        .args_override_self(true)
        .try_get_matches_from(env::args_os().skip(1))
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => return Shown(error).exit(),
    };
    match command(arguments) {
        Ok(done) => done.report(),
        Err(failure) => failure.report(),
    }
}

/// Runs a future until it ends or a signal arrives. Dropping the future ends its processes and
/// removes unfinished files.
pub(crate) fn interruptible<F>(make: impl FnOnce() -> F) -> Result<ExitCode, Failure>
where
    F: Future<Output = Result<ExitCode, Failure>>,
{
    executor::run(|_| async {
        let mut signals = EndSignals::new()?;
        tokio::select! {
            signal = signals.next() => Ok(ExitCode::from(EndSignal::exit_code(signal))),
            outcome = make() => outcome,
        }
    })?
}
