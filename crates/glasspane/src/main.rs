//! The `glasspane` binary: arguments and exit codes.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use glasspane::program::{Failure, RunArguments, TailArguments, TopArguments, run, tail, top};
use glasspane::serve::{self, ServeArguments};

/// Watch agents.
#[derive(Parser)]
#[command(
    name = "glasspane",
    version = env!("ZOT_BUILD_VERSION"),
    after_help = "Exit codes: 0 done, 1 failed, 2 usage, 130 interrupted."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Read an agent's events and print normalised records
    Tail(TailArguments),
    /// Start one or several agents and watch them
    Run(RunArguments),
    /// Show a live table of agents
    Top(TopArguments),
    /// Show agents in a web page
    Serve(ServeArguments),
}

fn main() -> ExitCode {
    zot_process::forbid_dumps();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let text = error.render().to_string();
            // It repeats words of the command line, which may be file names.
            let _ = match error.use_stderr() {
                true => zot_terminal::stderr().write_all(text.as_bytes()),
                false => zot_terminal::stdout().write_all(text.as_bytes()),
            };
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match execute(arguments.command) {
        Ok(code) => code,
        Err(failure) => {
            let _ = writeln!(zot_terminal::stderr(), "glasspane: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn execute(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Tail(arguments) => {
            tail(
                &arguments,
                &mut io::stdin().lock(),
                &mut zot_terminal::json_stdout(),
            )?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Run(arguments) => block_on(run(arguments))?,
        Command::Top(arguments) => block_on(top(arguments))?,
        Command::Serve(arguments) => {
            block_on(serve::run(arguments))??;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Failed(format!("cannot start: {error}")))?;
    let output = runtime.block_on(work);
    runtime.shutdown_background();
    Ok(output)
}
