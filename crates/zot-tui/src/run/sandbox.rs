//! `/sandbox`, `/jail` and `/unjail`.

use std::path::PathBuf;

use zot_sdk::sandbox::{Level, Policy, SandboxChangeError, SandboxReport};

use super::Chat;
use crate::app::Input;

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
        let unconfined = self.unconfined();
        self.tell_sandbox(changed, |report| match level {
            Level::Off => format!("the sandbox is off: {}", describe(report)),
            _ => format!("from the next call on: {} {unconfined}", describe(report)),
        })
    }

    pub(super) fn jail(&mut self) -> Vec<Input> {
        let changed = self.runtime.jail();
        let unconfined = self.unconfined();
        self.tell_sandbox(changed, |report| {
            format!(
                "jailed: from the next call on, zot's tools stay in {}. read, write and edit use \
                     no other file; bash also reads what programs need, and has a temporary \
                     directory for its home. {unconfined} /unjail lifts this",
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

    fn unconfined(&self) -> String {
        let (extensions, servers) = (
            self.runtime.least_of_extensions(),
            self.runtime.least_of_servers(),
        );
        unconfined(extensions, servers)
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

/// Says what the sandbox of the tools does not confine, and what settings do. `extensions` is `None` if there
/// are none.
fn unconfined(extensions: Option<Level>, servers: Level) -> String {
    let kinds = [
        extensions.map(|least| ("extensions", "sandbox_extensions", least)),
        Some(("MCP servers", "sandbox_mcp", servers)),
    ];
    let (free, bound): (Vec<_>, Vec<_>) = kinds
        .into_iter()
        .flatten()
        .partition(|(_, _, least)| *least == Level::Off);
    let programs = match free.as_slice() {
        [] => String::new(),
        [(kind, setting, _)] => {
            format!("{kind} without a sandbox of their own (setting {setting} confines them), and ")
        }
        kinds => {
            let names: Vec<&str> = kinds.iter().map(|(kind, ..)| *kind).collect();
            let settings: Vec<&str> = kinds.iter().map(|(_, setting, _)| *setting).collect();
            format!(
                "{} without a sandbox of their own (settings {} confine them), and ",
                names.join(" and "),
                settings.join(" and ")
            )
        }
    };
    let mut text = format!("Not confined: {programs}what you do yourself with !cmd and @file.");
    for (kind, setting, least) in bound {
        text.push_str(&format!(" At least {least}: {kind} (setting {setting})."));
    }
    text
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

#[cfg(test)]
mod tests;
