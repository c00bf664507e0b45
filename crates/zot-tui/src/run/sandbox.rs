//! `/sandbox`, `/jail` and `/unjail`.

use std::path::PathBuf;

use zot_sdk::sandbox::{Level, Policy, SandboxChangeError, SandboxReport};

use super::Chat;
use crate::app::Input;

const UNCONFINED: &str = "Not confined: extensions and MCP servers (settings sandbox_extensions and \
                          sandbox_mcp confine them), and what you do yourself with !cmd and @file.";

impl Chat {
    /// Shows what the tools may do, or changes it.
    pub(super) fn sandbox(&mut self, level: Option<Level>) -> Vec<Input> {
        let Some(level) = level else {
            return vec![Input::note(describe(&self.runtime.sandbox()))];
        };
        let policy = Policy {
            level,
            ..self.runtime.sandbox().chosen
        };
        let changed = self.runtime.set_sandbox(policy);
        self.tell_sandbox(changed, |report| match level {
            Level::Off => format!("the sandbox is off: {}", describe(report)),
            _ => format!("from the next call on: {} {UNCONFINED}", describe(report)),
        })
    }

    pub(super) fn jail(&mut self) -> Vec<Input> {
        let changed = self.runtime.jail();
        self.tell_sandbox(changed, |report| {
            format!(
                "jailed: from the next call on, zot's tools stay in {}. read, write and edit use \
                     no other file; bash also reads what programs need, and has a temporary \
                     directory for its home. {UNCONFINED} /unjail lifts this",
                report.directory.display()
            )
        })
    }

    pub(super) fn unjail(&mut self) -> Vec<Input> {
        if self.runtime.jailed().is_none() {
            let text = "zot is not jailed; /jail would confine its tools to the working directory";
            return vec![Input::note(text)];
        }
        let changed = self.runtime.unjail();
        self.tell_sandbox(changed, |report| match report.policy.level {
            Level::Off => {
                "no longer jailed: from the next call on, zot's tools may use any file that \
                           you may"
                    .to_owned()
            }
            _ => format!("no longer jailed. {}", describe(report)),
        })
    }

    /// Tells what was changed, and what is not enforced.
    fn tell_sandbox(
        &self,
        changed: Result<SandboxReport, SandboxChangeError>,
        describe: impl FnOnce(&SandboxReport) -> String,
    ) -> Vec<Input> {
        match changed {
            Ok(report) => {
                let mut inputs = vec![self.current_info(), Input::note(describe(&report))];
                inputs.extend(report.caveats().into_iter().map(Input::failure));
                inputs
            }
            Err(error) => vec![Input::failure(error)],
        }
    }
}

/// Says what zot's tools may do.
fn describe(report: &SandboxReport) -> String {
    let rules = &report.policy.rules;
    let files = match report.policy.level {
        Level::Off => {
            return "zot's tools may do what you may; /sandbox workspace would let them change only the \
                    working directory, without a network"
                .to_owned();
        }
        Level::Workspace => format!("zot's tools change only {}", report.directory.display()),
        Level::ReadOnly => "zot's tools change no files of yours".to_owned(),
    };
    let besides = match rules.write.as_slice() {
        [] => String::new(),
        paths => format!(" and {}", listed(paths)),
    };
    let hosts: Vec<String> = rules.connect.iter().map(ToString::to_string).collect();
    let network = match hosts.as_slice() {
        _ if rules.allows_every_host() => "may use the network".to_owned(),
        [] => "have no network".to_owned(),
        hosts => format!("connect only to {}", hosts.join(", ")),
    };
    let lifted = match (report.is_jailed, report.chosen.level) {
        (true, Level::Off) => "jailed: /unjail lifts this",
        (true, _) => "jailed: /unjail and /sandbox off lift this",
        (false, _) => "/sandbox off lifts this",
    };
    format!("{files}{besides}, and {network} ({lifted}).")
}

fn listed(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    paths.join(", ")
}
