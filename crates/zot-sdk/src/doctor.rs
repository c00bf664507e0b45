//! Finds problems with the installation and suggests fixes.
//!
//! [`examine`] works even if files are unusable. It reads the environment of the process, and writes one
//! file to `$ZOT_HOME` to check that it can.

mod diagnosis;
mod files;
mod surroundings;

use std::error::Error;

use crate::causes::with_causes;
use crate::config::Config;
use crate::sandbox::{ContactedHost, contacted_hosts};
use crate::workspace::Workspace;

pub use diagnosis::{Diagnosis, diagnose, probe};
pub use zot_provider::network::{Plan, PlanError, ProbeStep};

/// How much is examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Files, settings, credentials, terminal and system.
    Configuration,
    /// And which hosts would be contacted.
    Network,
    /// And whether they can be reached.
    Probe,
}

/// Whether the program has a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Screen {
    /// The output is a terminal.
    Terminal,
    /// The output is a file or a pipe.
    None,
}

/// What an examination found.
#[derive(Debug)]
pub struct Report {
    /// The checks, in order.
    pub checks: Vec<Check>,
    /// What would be contacted; only with [`Depth::Network`] and [`Depth::Probe`].
    pub network: Option<Plan>,
    /// What commands, extensions and MCP servers in a sandbox have contacted or were refused, the latest
    /// first; only with [`Depth::Network`] and [`Depth::Probe`].
    pub contacts: Vec<ContactedHost>,
    /// The steps of the connection; only with [`Depth::Probe`].
    pub probe: Vec<ProbeStep>,
}

/// One thing that was examined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What was examined.
    pub name: &'static str,
    /// Whether it works.
    pub state: CheckState,
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub fix: Option<String>,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckState {
    /// Works.
    Ok,
    /// Works, but not as well as it could.
    Warning,
    /// Does not work.
    Problem,
}

impl CheckState {
    /// Returns the name of the state, as in `zot doctor --json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// Examines everything that a runtime with this `config` would use. Settings from files are filled in
/// if they can be read.
pub async fn examine(mut config: Config, depth: Depth, screen: Screen) -> Report {
    let mut workspace = Workspace::of_process();
    if let Some(cwd) = &config.cwd {
        workspace = workspace.in_directory(cwd);
    }
    if let Some(home) = &config.home {
        workspace = workspace.with_zot_home(home);
    }
    let mut checks = vec![files::home(&workspace)];
    checks.extend(files::settings(&workspace, &mut config));
    checks.extend(files::credentials(&workspace));
    checks.extend(files::servers(&workspace, &config));
    let (selection, plan) = selection(&config, depth);
    checks.push(selection);
    checks.extend(surroundings::terminal(screen));
    checks.push(surroundings::sandbox());
    checks.extend(surroundings::commands(&workspace, &config));
    checks.extend(surroundings::programs());
    let probe = match &plan {
        Some(plan) if depth == Depth::Probe => probe(plan).await,
        _ => Vec::new(),
    };
    Report {
        checks,
        contacts: match depth {
            Depth::Configuration => Vec::new(),
            Depth::Network | Depth::Probe => contacted_hosts(&workspace.zot_home),
        },
        network: plan.filter(|_| depth != Depth::Configuration),
        probe,
    }
}

/// Returns what a run would use and which hosts it would contact.
fn selection(config: &Config, depth: Depth) -> (Check, Option<Plan>) {
    let diagnosis = match diagnose(config) {
        Ok(diagnosis) => diagnosis,
        Err(error) => return (Check::failed("model", &error), None),
    };
    let key = match &diagnosis.key_source {
        Some(source) => format!("key from {source}"),
        None => "no key".to_owned(),
    };
    let found = format!("{} of {}, {key}", diagnosis.model, diagnosis.provider);
    let check = match diagnosis.warnings.as_slice() {
        [] => Check::ok("model", found),
        warnings => Check::warning("model", found, warnings.join("; ")),
    };
    match diagnosis.network_plan() {
        Ok(None) if depth != Depth::Configuration => {
            let found = format!("{}; nothing is contacted", check.found);
            (Check { found, ..check }, None)
        }
        Ok(plan) => (check, plan),
        Err(error) => (Check::failed("network", &error), None),
    }
}

impl Report {
    /// Returns whether there is no problem and every probed host can be reached.
    pub fn is_healthy(&self) -> bool {
        let checks = self.checks.iter();
        let mut probe = self.probe.iter();
        checks
            .map(|check| check.state)
            .all(|state| state != CheckState::Problem)
            && probe.all(|step| step.outcome.is_ok())
    }
}

impl Check {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            name,
            state: CheckState::Ok,
            found: found.into(),
            fix: None,
        }
    }

    fn warning(name: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            name,
            state: CheckState::Warning,
            found: found.into(),
            fix: Some(fix.into()),
        }
    }

    fn problem(name: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            state: CheckState::Problem,
            ..Self::warning(name, found, fix)
        }
    }

    /// Creates a problem from an error whose message says what to do.
    fn failed(name: &'static str, error: &dyn Error) -> Self {
        Self {
            state: CheckState::Problem,
            ..Self::ok(name, with_causes(error))
        }
    }
}
