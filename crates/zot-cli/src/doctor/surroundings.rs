//! What zot works in: the terminal, the system, the programs there are.

use std::env;
use std::io::{self, IsTerminal as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use zot_sdk::extensions::{EnforcementStatus, enforceable, isolation};

use super::Check;

pub(super) fn terminal() -> Vec<Check> {
    if !io::stdout().is_terminal() {
        let found = "none, which is fine for -p, --json and rpc";
        return vec![Check::good("terminal", found)];
    }
    let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let term = set("TERM");
    let mut checks = Vec::new();
    match term.as_deref() {
        None | Some("dumb") => checks.push(Check::doubtful(
            "terminal",
            "TERM does not name a terminal that can do anything",
            "set TERM to what yours is, for example xterm-256color",
        )),
        Some(name) => checks.push(Check::good("terminal", name)),
    }
    // The first that is set decides, as for every program.
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    let is_utf8 = locale.as_deref().is_some_and(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    if !is_utf8 && !cfg!(target_os = "macos") {
        let found = format!(
            "the locale is {}, not UTF-8",
            locale.as_deref().unwrap_or("not set")
        );
        checks.push(Check::doubtful("terminal", found, "export LANG=C.UTF-8"));
    }
    checks
}

/// Whether extensions that state permissions are held to them.
pub(super) fn sandbox() -> Vec<Check> {
    let enforcement = enforceable();
    let gaps: Vec<String> = enforcement
        .parts()
        .into_iter()
        .filter_map(|(part, status)| match status {
            EnforcementStatus::Partly(gap) => Some(format!("{part}: {gap}")),
            EnforcementStatus::NotEnforced(reason) => Some(format!("{part}: {reason}")),
            EnforcementStatus::Enforced | EnforcementStatus::NotRequested => None,
        })
        .collect();
    if gaps.is_empty() {
        return vec![Check::good(
            "sandbox",
            format!(
                "permissions of extensions are enforced; other processes and files are kept from \
                 confined programs by {}",
                isolation()
            ),
        )];
    }
    let fix = match cfg!(target_os = "linux") {
        true => "a newer Linux with Landlock enforces more; install only extensions you trust",
        false => "only Linux enforces them; install only extensions you trust",
    };
    vec![Check::doubtful("sandbox", gaps.join("; "), fix)]
}

pub(super) fn programs() -> Vec<Check> {
    let mut checks = Vec::new();
    if !Path::new("/bin/sh").exists() {
        let fix = "install a shell, or leave its tool out: zot config set tools read,write,edit";
        let found = "there is no /bin/sh for the tool bash";
        checks.push(Check::wrong("programs", found, fix));
    }
    if !is_there("git") {
        let found = "there is no git, which extensions are installed with";
        checks.push(Check::doubtful("programs", found, "install git"));
    }
    if checks.is_empty() {
        checks.push(Check::good("programs", "/bin/sh, git"));
    }
    checks
}

fn is_there(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| {
        let metadata = directory.join(program).metadata();
        metadata.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}
