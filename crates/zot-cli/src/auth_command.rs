//! `zot auth status`: which credentials there are, without showing them.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Parser, Subcommand};
use serde_json::{Value, json};
use zot_sdk::auth::CredentialError;
use zot_sdk::{AssemblyError, CredentialStatus, Credentials};

use crate::command::CommandFailure;
use crate::failure::USAGE;
use crate::output::say_json;

/// Exit code when there is no credential at all.
const NONE: u8 = 1;

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
pub(crate) enum Failure {
    #[error(transparent)]
    Assembly(#[from] AssemblyError),
    #[error(transparent)]
    Credential(#[from] CredentialError),
    #[error("{0}")]
    Output(#[from] io::Error),
}

impl CommandFailure for Failure {
    fn exit_code(&self) -> u8 {
        USAGE
    }

    fn of_output(&self) -> Option<&io::Error> {
        match self {
            Self::Output(error) => Some(error),
            _ => None,
        }
    }
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let Action::Status { json: as_json } = arguments.action;
    let credentials = Credentials::open(None)?;
    // A file that cannot be used does not hide what the environment has.
    let (found, problem) = match credentials.status() {
        Ok(found) => (found, None),
        Err(error) => (credentials.environment(), Some(error)),
    };
    let mut output = zot_terminal::stdout();
    if as_json {
        let credentials: Vec<Value> = found.iter().map(as_object).collect();
        say_json(&json!({"credentials": credentials}))?;
    } else if found.is_empty() && problem.is_none() {
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
            if let Some(problem) = &status.problem {
                writeln!(output, "{:<18} cannot be used: {problem}", "")?;
            }
        }
    }
    if let Some(problem) = problem {
        return Err(problem.into());
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
    let mut object = json!({
        "provider": status.provider,
        "kind": status.kind.as_str(),
        "source": status.source,
        "shown": status.shown,
        "expires_at": status.expires.and_then(seconds),
    });
    if let Some(problem) = &status.problem {
        object["problem"] = json!(problem);
    }
    object
}

fn expiry(status: &CredentialStatus) -> String {
    let (Some(expires), None) = (status.expires, &status.problem) else {
        return String::new();
    };
    match expires.duration_since(SystemTime::now()) {
        Ok(left) => format!(" (renewed in time; ends in {} min)", left.as_secs() / 60),
        Err(_) => " (over; renewed when it is used)".to_owned(),
    }
}
