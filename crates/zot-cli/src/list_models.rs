//! `zot --list-models`.

use std::io;
use std::process::ExitCode;

use zot_sdk::credentials::Credentials;
use zot_sdk::models::{self, ModelList};
use zot_sdk::models::{ModelInfo, today};
use zot_stdio::executor;
use zot_terminal::Print;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::output::print;
use crate::warn;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let credentials = Credentials::open(None)?;
    warn(credentials.problems());
    if arguments.refresh() {
        refresh(&credentials, arguments.provider())?;
    }
    let list = models::list(&credentials, arguments.provider())?;
    print(|output| write(output, &list))?;
    Ok(ExitCode::SUCCESS)
}

/// Asks the providers for their models, and warns about those that cannot be asked.
fn refresh(credentials: &Credentials, only: Option<&str>) -> Result<(), Failure> {
    let outcomes = executor::run(|_| credentials.refresh_models(only))??;
    for (provider, outcome) in outcomes {
        if let Err(problem) = outcome {
            warn(&[format!("{provider} could not be asked: {problem}")]);
        }
    }
    Ok(())
}

fn write(output: &mut dyn Print, list: &ModelList) -> io::Result<()> {
    writeln!(
        output,
        "{:<11} {:<44} {:>9} {:>9}  {:<9} {:>8} {:>8} {:>8} {:>8}  NOTES",
        "PROVIDER", "MODEL", "CONTEXT", "OUTPUT", "REASONING", "IN", "OUT", "READ", "WRITE"
    )?;
    for model in &list.models {
        let rates = &model.prices.base;
        writeln!(
            output,
            "{:<11} {:<44} {:>9} {:>9}  {:<9} {:>8} {:>8} {:>8} {:>8}{}",
            model.provider,
            model.id,
            model.context_window,
            model.max_output,
            if model.reasoning { "yes" } else { "no" },
            rates.input,
            rates.output,
            rates.cache_read,
            rates.cache_write,
            notes(model)
        )?;
    }
    let snapshot = &list.snapshot;
    writeln!(
        output,
        "Prices in US dollars per million tokens (input, output, cache read, cache write), as of {snapshot}."
    )
}

/// Describes the prices of long prompts and the model's deprecation.
fn notes(model: &ModelInfo) -> String {
    let tiers = model.prices.tiers.iter().map(|tier| {
        let rates = &tier.rates;
        format!(
            "prompts above {}: {} {} {} {}",
            tier.above, rates.input, rates.output, rates.cache_read, rates.cache_write
        )
    });
    let end = model.deprecation.iter().map(|end| end.describe(today()));
    tiers
        .chain(end)
        .fold(String::new(), |notes, note| notes + "  " + &note)
}
