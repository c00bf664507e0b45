//! `zot doctor`: what there is, what is wrong with it, and how to mend it. Works also when files
//! cannot be used: that is what it is for.

mod checks;
mod surroundings;

use std::io::{self, Write as _};
use std::process::ExitCode;

use serde_json::{Value, json};
use zot_sdk::{Config, Persistence, Plan, ProbeStep, VERSION, diagnose, probe};
use zot_stdio::executor;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::output::say_json;

/// What else is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    Configuration,
    /// Which hosts would be contacted.
    Network,
    /// Whether they can be reached.
    Probe,
}

/// One thing that was looked at.
struct Check {
    name: &'static str,
    state: State,
    found: String,
    /// What to do about it.
    fix: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    /// Works, but not as well as it could.
    Doubtful,
    Wrong,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Doubtful => "warning",
            Self::Wrong => "problem",
        }
    }
}

impl Check {
    fn good(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Good,
            found: found.into(),
            fix: None,
        }
    }

    fn doubtful(name: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Doubtful,
            found: found.into(),
            fix: Some(fix.into()),
        }
    }

    fn wrong(name: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            state: State::Wrong,
            ..Self::doubtful(name, found, fix)
        }
    }

    /// An error whose words say what to do.
    fn failed(name: &'static str, error: &dyn std::error::Error) -> Self {
        Self {
            name,
            state: State::Wrong,
            found: crate::with_causes(error),
            fix: None,
        }
    }
}

pub(crate) fn run(arguments: Arguments, depth: Depth) -> Result<ExitCode, Failure> {
    let as_json = arguments.is_json();
    let mut config = arguments.config(Persistence::Never);
    let mut checks = Vec::new();
    checks.extend(checks::home());
    checks.extend(checks::settings(&mut config));
    checks.extend(checks::credentials());
    let (selection, network) = selection(&config, depth);
    checks.push(selection);
    checks.extend(surroundings::terminal());
    checks.extend(surroundings::sandbox());
    checks.extend(surroundings::programs());
    let steps = match &network {
        Some(plan) if depth == Depth::Probe => executor::run(|_| async { probe(plan).await })?,
        _ => Vec::new(),
    };
    let shown = network.filter(|_| depth != Depth::Configuration);
    let written = match as_json {
        true => write_json(&checks, shown.as_ref(), &steps),
        false => write_text(&checks, shown.as_ref(), &steps),
    };
    match written {
        // Whoever closed the pipe has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error.into()),
        _ => {}
    }
    Ok(match is_wrong(&checks, &steps) {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

/// What a run would use, and whom it would contact.
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
        [] => Check::good("model", found),
        warnings => Check::doubtful("model", found, warnings.join("; ")),
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

fn is_wrong(checks: &[Check], steps: &[ProbeStep]) -> bool {
    checks.iter().any(|check| check.state == State::Wrong)
        || steps.iter().any(|step| step.outcome.is_err())
}

fn write_text(checks: &[Check], plan: Option<&Plan>, steps: &[ProbeStep]) -> io::Result<()> {
    let mut output = zot_terminal::stdout();
    writeln!(output, "zot {VERSION}")?;
    for check in checks {
        let state = check.state.as_str();
        writeln!(output, "{state:<8} {:<10} {}", check.name, check.found)?;
        if let Some(fix) = &check.fix {
            writeln!(output, "{:<8} {:<10} → {fix}", "", "")?;
        }
    }
    if let Some(plan) = plan {
        writeln!(output, "{plan}")?;
    }
    for step in steps {
        let milliseconds = step.took.as_millis();
        match &step.outcome {
            Ok(found) => writeln!(output, "{}: {found} ({milliseconds} ms)", step.stage)?,
            Err(problem) => writeln!(output, "{}: failed: {problem}", step.stage)?,
        }
    }
    Ok(())
}

fn write_json(checks: &[Check], plan: Option<&Plan>, steps: &[ProbeStep]) -> io::Result<()> {
    let checks_shown: Vec<Value> = checks
        .iter()
        .map(|check| {
            json!({
                "name": check.name,
                "state": check.state.as_str(),
                "found": check.found,
                "fix": check.fix,
            })
        })
        .collect();
    let network = plan.map(|plan| {
        json!({
            "provider": plan.provider,
            "base_url": plan.base_url,
            "request_url": plan.request_url,
            "host": plan.host,
            "port": plan.port,
            "encrypted": plan.secure,
            "proxy": plan.proxy.as_ref().map(ToString::to_string),
        })
    });
    let probe: Vec<Value> = steps
        .iter()
        .map(|step| {
            let milliseconds = u64::try_from(step.took.as_millis()).unwrap_or(u64::MAX);
            json!({
                "stage": step.stage.to_string(),
                "ok": step.outcome.is_ok(),
                "found": step.outcome.as_ref().unwrap_or_else(|problem| problem),
                "milliseconds": milliseconds,
            })
        })
        .collect();
    let report = json!({
        "version": VERSION,
        "ok": !is_wrong(checks, steps),
        "checks": checks_shown,
        "network": network,
        "probe": probe,
    });
    say_json(&report)
}
