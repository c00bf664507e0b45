//! Checks of what zot runs in: the terminal, the system, the installed programs.

use std::env;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use zot_extension_contract::{EnforcementStatus, enforceable, isolation};
use zot_process::launch::Status;
use zot_process::sandbox::{Environment, Level, Policy, has_views};

use super::{Check, Screen};
use crate::config::Config;
use crate::known_secrets::withheld_variables;
use crate::sandbox;
use crate::workspace::Workspace;

pub(super) fn terminal(screen: Screen) -> Vec<Check> {
    if screen == Screen::None {
        let found = "none, which is fine for -p, --json and rpc";
        return vec![Check::ok("terminal", found)];
    }
    let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let term = set("TERM");
    let mut checks = Vec::new();
    match term.as_deref() {
        None | Some("dumb") => checks.push(Check::warning(
            "terminal",
            "TERM does not name a capable terminal",
            "set TERM to your terminal, for example xterm-256color",
        )),
        Some(name) => checks.push(Check::ok("terminal", name)),
    }
    // The first one that is set wins, as everywhere.
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
        checks.push(Check::warning("terminal", found, "export LANG=C.UTF-8"));
    }
    checks
}

/// Checks that the permissions of extensions are enforced.
pub(super) fn sandbox() -> Check {
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
    if gaps.is_empty() && cfg!(target_os = "linux") && !has_views() {
        let found = format!(
            "files and hosts are enforced less well than with namespaces (docs/sandbox.md): confined programs \
             are held by {}",
            isolation()
        );
        let read = |name: &str| std::fs::read_to_string(Path::new("/proc/sys").join(name)).ok();
        return Check::warning("sandbox", found, namespace_remedy(read));
    }
    if gaps.is_empty() {
        return Check::ok(
            "sandbox",
            format!(
                "permissions of extensions are enforced; other processes and files are kept from \
                 confined programs by {}",
                isolation()
            ),
        );
    }
    let fix = match cfg!(target_os = "linux") {
        true => "a newer Linux with Landlock enforces more; install only extensions you trust",
        false => "only Linux enforces them; install only extensions you trust",
    };
    Check::warning("sandbox", gaps.join("; "), fix)
}

/// Returns what would allow namespaces, by the settings of the kernel, which `read` returns.
fn namespace_remedy(read: impl Fn(&str) -> Option<String>) -> &'static str {
    let is = |name: &str, value: &str| read(name).is_some_and(|text| text.trim() == value);
    if is("kernel/apparmor_restrict_unprivileged_userns", "1") {
        "allow them: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    } else if is("kernel/unprivileged_userns_clone", "0") {
        "allow them: sudo sysctl kernel.unprivileged_userns_clone=1"
    } else if is("user/max_user_namespaces", "0") {
        "allow them: sudo sysctl user.max_user_namespaces=15000"
    } else {
        "in a container, allow the system calls unshare, setns and mount, for example with docker run \
         --security-opt seccomp=unconfined"
    }
}

/// Tells what commands of `bash` may do, how they are held, and which variables they do not get.
pub(super) fn commands(workspace: &Workspace, config: &Config) -> Vec<Check> {
    let policy = config.tools.policy();
    let means = sandbox::means();
    let level = match (policy.level, config.tools.jail) {
        (level, true) => format!("{level}, jailed"),
        (level, false) => level.to_string(),
    };
    let withheld = withheld_variables(&workspace.zot_home);
    let withheld = match Environment::new(&policy, &withheld).missing().as_slice() {
        [] => "none that is set".to_owned(),
        names => names.join(", "),
    };
    let gap = match Policy::at(Level::Workspace).enforcement().files {
        Status::NotEnforced(reason) => Some(reason),
        _ => None,
    };
    let files = match gap {
        None => Check::ok("files", means.files),
        Some(_) => {
            let fix = "bash is refused with --sandbox and --jail here: use a container instead";
            Check::warning("files", means.files, fix)
        }
    };
    vec![
        Check::ok("commands", format!("sandbox {level}")),
        Check::ok("processes", means.processes),
        files,
        Check::ok("hosts", means.network),
        Check::ok("withheld", withheld),
    ]
}

pub(super) fn programs() -> Vec<Check> {
    let mut checks = Vec::new();
    if !Path::new("/bin/sh").exists() {
        let fix = "install a shell, or disable its tool: zot config set tools read,write,edit";
        let found = "/bin/sh is missing, which the bash tool needs";
        checks.push(Check::problem("programs", found, fix));
    }
    if !is_installed("git") {
        let found = "git is missing, which installs extensions";
        checks.push(Check::warning("programs", found, "install git"));
    }
    if checks.is_empty() {
        checks.push(Check::ok("programs", "/bin/sh, git"));
    }
    checks
}

fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| {
        let metadata = directory.join(program).metadata();
        metadata.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::namespace_remedy;

    #[test]
    fn the_setting_that_forbids_namespaces_is_named() {
        let remedy = |name: &'static str, value: &'static str| {
            namespace_remedy(move |asked| (asked == name).then(|| format!("{value}\n")))
        };
        let ubuntu = remedy("kernel/apparmor_restrict_unprivileged_userns", "1");
        assert!(ubuntu.contains("apparmor"), "{ubuntu}");
        assert!(remedy("kernel/unprivileged_userns_clone", "0").contains("clone=1"));
        assert!(remedy("user/max_user_namespaces", "0").contains("max_user_namespaces"));
        let other = remedy("kernel/apparmor_restrict_unprivileged_userns", "0");
        assert!(other.contains("container"), "{other}");
    }
}
