//! `zot auth status`: lists credentials without showing them.

use std::io;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Parser, Subcommand};
use serde_json::{Value, json};
use zot_sdk::credentials::{CredentialReport, CredentialStatus, Credentials};
use zot_terminal::Print;

use crate::failure::Failure;
use crate::output::{print, print_json, print_line};

/// Exit code if there are no credentials.
const NONE: u8 = 1;

/// Show which credentials there are
#[derive(Parser)]
#[command(
    name = "zot auth",
    bin_name = "zot auth",
    after_help = "Without a command: status.\n\
                  Exit codes: 0 found, 1 none found, 2 usage or a file that cannot be used."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    /// List the credentials, masked, and where they come from
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let as_json = matches!(arguments.action, Some(Action::Status { json: true }));
    let credentials = Credentials::open(None)?;
    let CredentialReport {
        credentials,
        problem,
    } = credentials.report();
    if as_json {
        let credentials: Vec<Value> = credentials.iter().map(as_object).collect();
        print_json(&json!({"credentials": credentials}))?;
    } else if credentials.is_empty() && problem.is_none() {
        print_line("there are no credentials: run zot login")?;
    } else {
        print(|output| write(output, &credentials))?;
    }
    if let Some(problem) = problem {
        return Err(problem.into());
    }
    Ok(match credentials.is_empty() {
        true => ExitCode::from(NONE),
        false => ExitCode::SUCCESS,
    })
}

fn write(output: &mut dyn Print, credentials: &[CredentialStatus]) -> io::Result<()> {
    for status in credentials {
        let CredentialStatus {
            provider,
            kind,
            source,
            shown,
            ..
        } = status;
        let (kind, expiry) = (kind.as_str(), expiry(status));
        writeln!(
            output,
            "{provider:<18} {kind:<8} {shown:<6} {source}{expiry}"
        )?;
        if let Some(problem) = &status.problem {
            writeln!(output, "{:<18} cannot be used: {problem}", "")?;
        }
    }
    Ok(())
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
        Ok(left) => format!(
            " (expires in {} min; renewed automatically)",
            left.as_secs() / 60
        ),
        Err(_) => " (expired; renewed when it is used)".to_owned(),
    }
}
