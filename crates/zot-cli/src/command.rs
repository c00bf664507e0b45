//! Commands with a parser of their own, so that the other modes do not pay for it.

use std::env;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::{ExitCode, Termination};

use clap::Parser;

use crate::arguments::Shown;

/// Why a command failed.
pub(crate) trait CommandFailure: Display {
    fn exit_code(&self) -> u8;

    /// What happened to the output, if it was that.
    fn of_output(&self) -> Option<&io::Error>;
}

/// Runs a command on what follows the name of the program.
pub(crate) fn run<Arguments, Success, Failure>(
    command: impl FnOnce(Arguments) -> Result<Success, Failure>,
) -> ExitCode
where
    Arguments: Parser,
    Success: Termination,
    Failure: CommandFailure,
{
    // Its own name stands where a program's does.
    // As everywhere, of a repeated flag the last counts.
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
        // Whoever closed the pipe has seen enough.
        Err(failure) if failure.of_output().is_some_and(is_broken_pipe) => ExitCode::SUCCESS,
        Err(failure) => {
            // When even standard error is gone, the exit code is all that is left to say.
            let _ = writeln!(zot_terminal::stderr(), "zot: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn is_broken_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}
