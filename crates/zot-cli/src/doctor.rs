//! `zot doctor`: what this configuration amounts to.

use std::io::{self, Write as _};
use std::process::ExitCode;

use zot_rpc::executor;
use zot_sdk::{Persistence, VERSION, diagnose, probe};

use crate::arguments::Arguments;
use crate::configuration;
use crate::failure::Failure;

/// What else is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    Configuration,
    /// Which hosts would be contacted.
    Network,
    /// Whether they can be reached.
    Probe,
}

pub(crate) fn run(arguments: Arguments, depth: Depth) -> Result<ExitCode, Failure> {
    let config = configuration::read(arguments, Persistence::Never)?;
    let diagnosis = diagnose(&config)?;
    let mut output = io::stdout().lock();
    writeln!(output, "zot {VERSION}")?;
    writeln!(output, "home: {}", diagnosis.home.display())?;
    writeln!(output, "model: {}", diagnosis.model)?;
    for warning in &diagnosis.warnings {
        writeln!(output, "warning: {warning}")?;
    }
    if depth == Depth::Configuration {
        writeln!(output, "provider: {}", diagnosis.provider)?;
        let key = diagnosis.key_source.as_deref().unwrap_or("none");
        writeln!(output, "key: {key}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let plan = diagnosis
        .network_plan()
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let Some(plan) = plan else {
        writeln!(output, "network: nothing is contacted")?;
        return Ok(ExitCode::SUCCESS);
    };
    writeln!(output, "{plan}")?;
    if depth == Depth::Network {
        return Ok(ExitCode::SUCCESS);
    }
    let steps = executor::run(|_| async { probe(&plan).await })?;
    let mut code = ExitCode::SUCCESS;
    for step in steps {
        let milliseconds = step.took.as_millis();
        match step.outcome {
            Ok(found) => writeln!(output, "{}: {found} ({milliseconds} ms)", step.stage)?,
            Err(problem) => {
                writeln!(output, "{}: failed: {problem}", step.stage)?;
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}
