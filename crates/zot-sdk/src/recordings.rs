//! Recordings of model exchanges: inspect them, check them for secrets, redact and trim them.
//!
//! Secrets are the known keys of the [`Workspace`], the values of environment variables of this process
//! whose names suggest one, and texts that look like keys.

use std::env;
use std::path::Path;

use zot_cassette::Redactor;

use crate::credentials::Credentials;
use crate::workspace::Workspace;

pub use zot_cassette::{
    CassetteError, ExchangeRange, ExchangeSummary, Header, Inspection, ReplayMode, ReplayPace,
    Timing, trim,
};

/// The result of checking a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// How many exchanges the recording has.
    pub exchanges: usize,
    /// How many texts look like secrets.
    pub secrets: usize,
    /// The numbers of the exchanges with such texts.
    pub suspects: Vec<usize>,
}

/// Reads a recording and describes each exchange.
pub fn inspect(workspace: &Workspace, file: &Path) -> Result<Inspection, CassetteError> {
    zot_cassette::inspect(file, &redactor(workspace, &[]))
}

/// Checks every line of a recording, and looks for secrets and for `patterns`.
pub fn verify(
    workspace: &Workspace,
    file: &Path,
    patterns: &[String],
) -> Result<Verification, CassetteError> {
    let inspection = zot_cassette::inspect(file, &redactor(workspace, patterns))?;
    let exchanges = &inspection.exchanges;
    let suspects = exchanges.iter().filter(|exchange| exchange.secrets > 0);
    Ok(Verification {
        exchanges: exchanges.len(),
        secrets: secrets(&inspection),
        suspects: suspects.map(|exchange| exchange.number).collect(),
    })
}

/// Removes secrets and `patterns` from a recording and returns how many there were.
pub fn redact(
    workspace: &Workspace,
    file: &Path,
    patterns: &[String],
) -> Result<usize, CassetteError> {
    let redactor = redactor(workspace, patterns);
    let count = secrets(&zot_cassette::inspect(file, &redactor)?);
    if count > 0 {
        zot_cassette::redact(file, &redactor)?;
    }
    Ok(count)
}

fn secrets(inspection: &Inspection) -> usize {
    let exchanges = inspection.exchanges.iter();
    exchanges.map(|exchange| exchange.secrets).sum()
}

fn redactor(workspace: &Workspace, patterns: &[String]) -> Redactor {
    let environment = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    // Without a usable home there are no keys in it.
    let credentials = Credentials::open(Some(workspace.zot_home.clone()));
    let secrets = credentials.map(|credentials| credentials.secrets());
    let secrets = secrets.unwrap_or_default();
    let mut redactor = Redactor::new(secrets.iter().map(String::as_str), environment);
    for pattern in patterns {
        redactor.add_text(pattern);
    }
    redactor
}
