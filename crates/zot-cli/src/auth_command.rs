//! `zot auth status`: which credentials there are, without showing them.

use std::env;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Parser, Subcommand};
use serde_json::{Value, json};
use zot_sdk::auth::CredentialError;
use zot_sdk::{AssemblyError, CredentialStatus, Credentials};

use crate::arguments::Shown;

/// Exit code when there is no credential at all.
const NONE: u8 = 1;
/// Exit code of wrong arguments and of files that cannot be used.
const USAGE: u8 = 2;

/// Shows which credentials there are.
#[derive(Parser)]
#[command(name = "zot auth", bin_name = "zot auth")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the credentials, masked, and where they come from
    Status {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Assembly(#[from] AssemblyError),
    #[error(transparent)]
    Credential(#[from] CredentialError),
    #[error("{0}")]
    Output(#[from] io::Error),
}

/// Runs the command when the first argument asks for it.
pub(crate) fn run_if_asked() -> Option<ExitCode> {
    let mut arguments = env::args_os().skip(1).peekable();
    if arguments.peek()? != "auth" {
        return None;
    }
    let Action::Status { json } = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments.action,
        Err(error) => return Some(Shown(error).exit()),
    };
    Some(match status(json) {
        Ok(code) => code,
        // Whoever closed the pipe has seen enough.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            let _ = writeln!(io::stderr(), "zot: {failure}");
            ExitCode::from(USAGE)
        }
    })
}

fn status(as_json: bool) -> Result<ExitCode, Failure> {
    let found = Credentials::open(None)?.status()?;
    let mut output = io::stdout().lock();
    if as_json {
        let credentials: Vec<Value> = found.iter().map(as_object).collect();
        writeln!(output, "{}", json!({"credentials": credentials}))?;
    } else if found.is_empty() {
        writeln!(output, "There are no credentials: run zot login.")?;
    } else {
        for status in &found {
            let CredentialStatus {
                provider,
                kind,
                source,
                shown,
                ..
            } = status;
            let expiry = expiry(status);
            writeln!(
                output,
                "{provider:<18} {:<8} {shown:<6} {source}{expiry}",
                kind.as_str()
            )?;
        }
    }
    Ok(match found.is_empty() {
        true => ExitCode::from(NONE),
        false => ExitCode::SUCCESS,
    })
}

fn as_object(status: &CredentialStatus) -> Value {
    let seconds = |at: SystemTime| {
        at.duration_since(UNIX_EPOCH)
            .ok()
            .map(|since| since.as_secs())
    };
    json!({
        "provider": status.provider,
        "kind": status.kind.as_str(),
        "source": status.source,
        "shown": status.shown,
        "expires_at": status.expires.and_then(seconds),
    })
}

fn expiry(status: &CredentialStatus) -> String {
    let Some(expires) = status.expires else {
        return String::new();
    };
    match expires.duration_since(SystemTime::now()) {
        Ok(left) => format!(" (renewed in time; ends in {} min)", left.as_secs() / 60),
        Err(_) => " (over; renewed when it is used)".to_owned(),
    }
}
