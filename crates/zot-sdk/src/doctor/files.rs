//! Checks of zot's own files: `$ZOT_HOME`, the settings, the credentials, the MCP servers.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use zot_mcp::configuration::ProjectState;

use super::{Check, CheckState};
use crate::config::Config;
use crate::configuration;
use crate::credentials::Credentials;
use crate::workspace::Workspace;

/// Permission bits with which group or others could change what zot trusts.
const WRITABLE_BY_OTHERS: u32 = 0o022;

const WRITABLE_FIX: &str =
    "free some space, change its owner or mode, or name another directory in ZOT_HOME";

/// Checks that `$ZOT_HOME` is a directory that zot can write to and others cannot, or can be created.
pub(super) fn home(workspace: &Workspace) -> Check {
    let home = &workspace.zot_home;
    let shown = home.display();
    let metadata = match fs::metadata(home) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !home.is_symlink() => {
            return match try_writing(nearest_existing(home)) {
                Ok(()) => Check::ok("home", format!("{shown} (created when needed)")),
                Err(error) => {
                    let found = format!("{shown} cannot be created: {error}");
                    let fix = "create it yourself, or name another directory in ZOT_HOME";
                    Check::problem("home", found, fix)
                }
            };
        }
        Err(error) => {
            let fix = "make it accessible, or name another directory in ZOT_HOME";
            return Check::problem("home", format!("{shown}: {error}"), fix);
        }
    };
    if !metadata.is_dir() {
        let fix = "move it away, or name a directory in ZOT_HOME";
        return Check::problem("home", format!("{shown} is not a directory"), fix);
    }
    let mode = metadata.mode() & 0o7777;
    if mode & WRITABLE_BY_OTHERS != 0 {
        let found = format!("{shown} can be changed by other users (mode {mode:04o})");
        return Check::problem("home", found, format!("chmod go-w '{shown}'"));
    }
    // A run as another user may have left behind what this one cannot change.
    for directory in [home.clone(), home.join("sessions")] {
        match try_writing(&directory) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let found = format!("{} cannot be written to: {error}", directory.display());
                return Check::problem("home", found, WRITABLE_FIX);
            }
        }
    }
    Check::ok("home", shown.to_string())
}

/// Returns the nearest ancestor of `path` that exists.
fn nearest_existing(path: &Path) -> &Path {
    let mut ancestors = path.ancestors().skip(1);
    let found = ancestors.find(|ancestor| ancestor.as_os_str().is_empty() || ancestor.exists());
    match found {
        Some(ancestor) if !ancestor.as_os_str().is_empty() => ancestor,
        _ => Path::new("."),
    }
}

/// Creates and removes a file.
fn try_writing(directory: &Path) -> io::Result<()> {
    let path = directory.join(format!(".doctor-{}", std::process::id()));
    File::create(&path)?;
    fs::remove_file(&path)
}

/// Checks `config.json` of the user and the project, and fills in `config` from them.
pub(super) fn settings(workspace: &Workspace, config: &mut Config) -> Vec<Check> {
    let layers = match configuration::layers(workspace) {
        Ok(layers) => layers,
        Err(error) => return vec![Check::failed("settings", &error)],
    };
    config.fill_in(layers.settings());
    let suspicious = layers.warnings().iter().chain(layers.unknown());
    let mut checks: Vec<Check> = suspicious
        .map(|warning| {
            let fix = "correct it, or remove it: zot config unset NAME [--project]";
            Check::warning("settings", warning, fix)
        })
        .collect();
    if checks.is_empty() {
        let set = layers
            .list()
            .iter()
            .filter(|setting| setting.value.is_some())
            .count();
        let found = format!("{set} set (zot config list)");
        checks.push(Check::ok("settings", found));
    }
    let notes = layers.notes().iter();
    checks.extend(notes.map(|note| Check::ok("settings", note)));
    checks
}

/// Checks `models.json`, `providers.json` and `auth.json`.
pub(super) fn credentials(workspace: &Workspace) -> Vec<Check> {
    let mut checks = Vec::new();
    let credentials = match Credentials::open(Some(workspace.zot_home.clone())) {
        Ok(credentials) => credentials,
        Err(error) => {
            checks.push(Check::failed("providers", &error));
            return checks;
        }
    };
    for problem in credentials.problems() {
        checks.push(Check {
            name: match problem.contains("models.json") {
                true => "models",
                false => "providers",
            },
            state: CheckState::Problem,
            found: problem.clone(),
            fix: None,
        });
    }
    let found = credentials.status();
    for status in found.iter().flatten() {
        if let Some(problem) = &status.problem {
            let fix = format!("zot login {}", status.provider);
            checks.push(Check::warning("keys", problem, fix));
        }
    }
    checks.push(match found {
        Err(error) => Check::failed("keys", &error),
        Ok(found) if found.is_empty() => {
            let fix = "run zot login, or set a variable such as ANTHROPIC_API_KEY";
            Check::warning("keys", "none", fix)
        }
        Ok(found) => {
            let usable = found.iter().filter(|key| key.problem.is_none());
            let mut names: Vec<&str> = usable.map(|key| key.provider.as_str()).collect();
            names.dedup();
            if names.is_empty() {
                names.push("none that can be used");
            }
            Check::ok("keys", format!("{} (zot auth status)", names.join(", ")))
        }
    });
    checks
}

/// Checks the configuration of MCP servers, if there is one. None is started.
pub(super) fn servers(workspace: &Workspace, config: &Config) -> Vec<Check> {
    const NAME: &str = "mcp";
    let found = match crate::servers::find(&config.mcp, workspace) {
        Ok(found) => found,
        Err(error) => return vec![Check::failed(NAME, &error)],
    };
    let problems = found.warnings.iter();
    let mut checks: Vec<Check> = problems
        .map(|problem| {
            Check::warning(
                NAME,
                problem,
                "correct the entry; docs/mcp.md shows them all",
            )
        })
        .collect();
    let names: Vec<String> = found
        .entries
        .iter()
        .map(|server| match server.enabled {
            true => server.name.clone(),
            false => format!("{} (disabled)", server.name),
        })
        .collect();
    if !names.is_empty() {
        checks.push(Check::ok(
            NAME,
            format!("{} (zot mcp list shows their states)", names.join(", ")),
        ));
    }
    if let Some(project) = found.project
        && project.state != ProjectState::Included
    {
        let path = project.path.display();
        checks.push(Check::ok(
            NAME,
            format!("{path} is not started: the chat asks about it, --project-mcp starts it"),
        ));
    }
    checks
}
