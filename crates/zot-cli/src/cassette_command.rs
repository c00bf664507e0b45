//! `zot cassette`: looks at recordings and changes them.

use std::env;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use zot_sdk::Credentials;
use zot_sdk::cassette::{
    CassetteError, ExchangeRange, Inspection, Redactor, Timing, inspect, redact, trim,
};

use crate::command::CommandFailure;
use crate::failure::FAILED;
use crate::output::say;

/// Looks at recordings of model exchanges and changes them.
#[derive(Parser)]
#[command(
    name = "zot cassette",
    bin_name = "zot cassette",
    after_help = "Exit codes: 0 in order, 1 not in order or not readable, 2 usage."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the exchanges
    Show { file: PathBuf },
    /// Check every line, and look for secrets
    Verify {
        file: PathBuf,
        /// Count this text as a secret, too (repeatable)
        #[arg(long, value_name = "TEXT")]
        pattern: Vec<String>,
    },
    /// Take out secrets: values of variables named like one, and what looks like a key
    Redact {
        file: PathBuf,
        /// Take out this text, too (repeatable)
        #[arg(long, value_name = "TEXT")]
        pattern: Vec<String>,
    },
    /// Keep some exchanges, or forget when things happened
    #[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
    Trim {
        file: PathBuf,
        /// The exchanges to keep, both ends included: 2..5, 2.., ..5 or 2
        #[arg(long, value_name = "A..B", group = "what", value_parser = range)]
        keep: Option<ExchangeRange>,
        /// Set all times to zero
        #[arg(long, group = "what")]
        drop_timing: bool,
    },
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    #[error("{0}")]
    Output(#[from] io::Error),
}

impl CommandFailure for Failure {
    fn exit_code(&self) -> u8 {
        FAILED
    }

    fn of_output(&self) -> Option<&io::Error> {
        match self {
            Self::Output(error) => Some(error),
            _ => None,
        }
    }
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    match arguments.action {
        Action::Show { file } => {
            show(&inspect(&file, &redactor(&[]))?)?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Verify { file, pattern } => verify(&file, &pattern),
        Action::Redact { file, pattern } => {
            let redactor = redactor(&pattern);
            let places = secrets(&inspect(&file, &redactor)?);
            if places > 0 {
                redact(&file, &redactor)?;
            }
            say(format_args!("{}: {places} places redacted", file.display()))?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Trim {
            file,
            keep,
            drop_timing,
        } => {
            let timing = match drop_timing {
                true => Timing::Drop,
                false => Timing::Keep,
            };
            let kept = trim(&file, keep.unwrap_or(ExchangeRange::ALL), timing)?;
            say(format_args!("{}: {kept} exchanges kept", file.display()))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn verify(file: &Path, pattern: &[String]) -> Result<ExitCode, Failure> {
    let inspection = inspect(file, &redactor(pattern))?;
    let suspects: Vec<String> = inspection
        .exchanges
        .iter()
        .filter(|exchange| exchange.secrets > 0)
        .map(|exchange| exchange.number.to_string())
        .collect();
    if !suspects.is_empty() {
        let file = file.display();
        let _ = writeln!(
            zot_terminal::stderr(),
            "zot: {file}: {} places look like secrets (exchange {}): run `zot cassette redact {file}`",
            secrets(&inspection),
            suspects.join(", ")
        );
        return Ok(ExitCode::from(FAILED));
    }
    say(format_args!(
        "{}: {} exchanges, in order, no secrets found",
        file.display(),
        inspection.exchanges.len()
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn show(inspection: &Inspection) -> io::Result<()> {
    let mut output = zot_terminal::buffered_stdout();
    let header = &inspection.header;
    writeln!(
        output,
        "{} {}, recorded {} by zot {}",
        header.provider, header.model, header.created, header.version
    )?;
    writeln!(
        output,
        "{:>5} {:<24} {:>8} {:>5} {:>7} {:>9} {:>9} {:>7}  ENDED",
        "N", "MODEL", "MESSAGES", "NEW", "EVENTS", "MS", "IN", "OUT"
    )?;
    for exchange in &inspection.exchanges {
        writeln!(
            output,
            "{:>5} {:<24} {:>8} {:>5} {:>7} {:>9} {:>9} {:>7}  {}",
            exchange.number,
            exchange.model,
            exchange.messages,
            exchange.new_messages,
            exchange.events,
            exchange.duration_ms,
            exchange.usage.prompt_tokens(),
            exchange.usage.output,
            exchange.ending
        )?;
    }
    output.flush()
}

fn secrets(inspection: &Inspection) -> usize {
    let exchanges = inspection.exchanges.iter();
    exchanges.map(|exchange| exchange.secrets).sum()
}

fn redactor(patterns: &[String]) -> Redactor {
    let environment = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    // Without a usable home there are no keys in it.
    let secrets = Credentials::open(None).map(|credentials| credentials.secrets());
    let secrets = secrets.unwrap_or_default();
    let mut redactor = Redactor::new(secrets.iter().map(String::as_str), environment);
    for pattern in patterns {
        redactor.add_text(pattern);
    }
    redactor
}

/// Reads `2..5`, `2..`, `..5` or `2`.
fn range(text: &str) -> Result<ExchangeRange, String> {
    let number = |text: &str, otherwise| match text {
        "" => Ok(otherwise),
        text => match text.parse::<usize>() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(format!("{text:?} is not the number of an exchange")),
        },
    };
    let ExchangeRange { first, last } = ExchangeRange::ALL;
    let range = match text.split_once("..") {
        _ if text.is_empty() || text == ".." => {
            return Err("name the exchanges, for example 2..5".to_owned());
        }
        Some((from, to)) => ExchangeRange {
            first: number(from, first)?,
            last: number(to, last)?,
        },
        None => {
            let only = number(text, first)?;
            ExchangeRange {
                first: only,
                last: only,
            }
        }
    };
    if range.first > range.last {
        return Err(format!("{} comes after {}", range.first, range.last));
    }
    Ok(range)
}
