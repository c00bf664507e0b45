//! `zot --list-models`.

use std::env;
use std::io::{self, Write as _};
use std::process::ExitCode;

use zot_sdk::{Credentials, ModelInfo, today, zot_home};
use zot_stdio::executor;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::warn;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let home = zot_home(&|name| env::var(name).ok());
    let credentials = Credentials::open(Some(home))?;
    warn(credentials.problems());
    let mut catalog = credentials.catalog().clone();
    if arguments.refresh() {
        refresh(&credentials, arguments.provider())?;
    }
    credentials.add_live_models(&mut catalog);
    let only = arguments.provider().map(|name| credentials.canonical(name));
    let models: Vec<&ModelInfo> = catalog
        .all()
        .filter(|model| only.is_none_or(|provider| model.provider == provider))
        .collect();
    if models.is_empty() {
        return Err(Failure::Usage(format!(
            "no models are listed for provider {:?}; servers such as ollama take any model they have",
            arguments.provider().unwrap_or_default()
        )));
    }
    match write_table(&models, catalog.snapshot()) {
        // Whoever closed the pipe has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Asks the providers; one that does not answer is no reason to show nothing.
fn refresh(credentials: &Credentials, only: Option<&str>) -> Result<(), Failure> {
    let said = executor::run(|_| credentials.refresh_models(only))??;
    for (provider, outcome) in said {
        if let Err(problem) = outcome {
            warn(&[format!("{provider} could not be asked: {problem}")]);
        }
    }
    Ok(())
}

fn write_table(models: &[&ModelInfo], snapshot: &str) -> io::Result<()> {
    let mut output = zot_terminal::buffered_stdout();
    writeln!(
        output,
        "{:<11} {:<44} {:>9} {:>9}  {:<9} {:>8} {:>8} {:>8} {:>8}  NOTES",
        "PROVIDER", "MODEL", "CONTEXT", "OUTPUT", "REASONING", "IN", "OUT", "READ", "WRITE"
    )?;
    for model in models {
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
    writeln!(
        output,
        "Prices in US dollars per million tokens (input, output, cache read, cache write), as of {snapshot}."
    )?;
    output.flush()
}

/// The prices of long prompts, and the end of the model.
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
