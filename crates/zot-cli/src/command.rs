//! Commands with a parser of their own, so that the other modes do not pay for it.

use std::env;
use std::process::{ExitCode, Termination};

use clap::Parser;

use crate::arguments::Shown;
use crate::failure::Failure;

/// Runs a command on the arguments after the name of the program.
pub(crate) fn run<Arguments, Success>(
    command: impl FnOnce(Arguments) -> Result<Success, Failure>,
) -> ExitCode
where
    Arguments: Parser,
    Success: Termination,
{
    // The command's name stands where clap expects the program's. Of a repeated flag the last counts.
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
