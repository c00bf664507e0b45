//! `zot cassette`: inspects and edits recordings.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use zot_sdk::Workspace;
use zot_sdk::recordings::{self, ExchangeRange, Inspection, Timing, Verification};
use zot_terminal::Print;

use crate::failure::Failure;
use crate::output::{print, print_line};

/// Inspect and edit recordings of model exchanges
#[derive(Parser)]
#[command(
    name = "zot cassette",
    bin_name = "zot cassette",
    after_help = "Exit codes: 0 valid, 1 invalid or not readable, 2 usage."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the exchanges
    Show {
        /// The recording
        file: PathBuf,
    },
    /// Check every line, and look for secrets
    Verify {
        /// The recording
        file: PathBuf,
        /// Also count this text as a secret (repeatable)
        #[arg(long, value_name = "TEXT")]
        pattern: Vec<String>,
    },
    /// Redact secrets: values of variables with secret-like names, and text that looks like a key
    Redact {
        /// The recording, which is changed in place
        file: PathBuf,
        /// Also redact this text (repeatable)
        #[arg(long, value_name = "TEXT")]
        pattern: Vec<String>,
    },
    /// Keep only some of the exchanges, or remove the timing
    #[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
    Trim {
        /// The recording, which is changed in place
        file: PathBuf,
        /// The exchanges to keep, inclusive: 2..5, 2.., ..5 or 2
        #[arg(long, value_name = "A..B", group = "what", value_parser = range)]
        keep: Option<ExchangeRange>,
        /// Set all times to zero
        #[arg(long, group = "what")]
        drop_timing: bool,
    },
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let workspace = &Workspace::of_process();
    match arguments.action {
        Action::Show { file } => {
            let inspection = recordings::inspect(workspace, &file)?;
            print(|output| write(output, &inspection))?;
        }
        Action::Verify { file, pattern } => {
            let found = recordings::verify(workspace, &file, &pattern)?;
            return show_verification(&file, &found);
        }
        Action::Redact { file, pattern } => {
            let places = recordings::redact(workspace, &file, &pattern)?;
            print_line(format_args!(
                "{}: {places} secrets redacted",
                file.display()
            ))?;
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
            let kept = recordings::trim(&file, keep.unwrap_or(ExchangeRange::ALL), timing)?;
            print_line(format_args!("{}: {kept} exchanges kept", file.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show_verification(file: &Path, found: &Verification) -> Result<ExitCode, Failure> {
    let file = file.display();
    let Verification {
        exchanges,
        secrets,
        suspects,
    } = found;
    if suspects.is_empty() {
        print_line(format_args!(
            "{file}: {exchanges} exchanges, valid, no secrets found"
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    let suspects: Vec<String> = suspects.iter().map(ToString::to_string).collect();
    let suspects = suspects.join(", ");
    Err(Failure::failed(format!(
        "{file}: {secrets} places look like secrets (exchange {suspects}): run `zot cassette \
         redact {file}`"
    )))
}

fn write(output: &mut dyn Print, inspection: &Inspection) -> io::Result<()> {
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
    Ok(())
}

/// Reads `2..5`, `2..`, `..5` or `2`.
fn range(text: &str) -> Result<ExchangeRange, String> {
    let number = |text: &str, otherwise| match text {
        "" => Ok(otherwise),
        text => match text.parse::<usize>() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(format!("expected the number of an exchange, got {text:?}")),
        },
    };
    let ExchangeRange { first, last } = ExchangeRange::ALL;
    let range = match text.split_once("..") {
        _ if text.is_empty() || text == ".." => {
            return Err("expected a range of exchanges, such as 2..5".to_owned());
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
