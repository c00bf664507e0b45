//! Part of the build scripts of `zot`, `zino` and `glasspane`: the version that `--version` prints.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sets `ZOT_BUILD_VERSION` for the crate being built, such as `0.1.0 (abc1234 2026-11-17)`.
///
/// The commit and its date come from `ZOT_BUILD` or, in optimised builds, from git. Debug builds name
/// neither, so that a commit does not make them stale, and a source archive has no git to ask.
pub(crate) fn set_version() {
    println!("cargo::rerun-if-env-changed=ZOT_BUILD");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let build = env::var("ZOT_BUILD").ok().filter(|build| !build.is_empty());
    let version = match build.or_else(ask_git) {
        Some(build) => format!("{version} ({build})"),
        None => version,
    };
    println!("cargo::rustc-env=ZOT_BUILD_VERSION={version}");
}

fn ask_git() -> Option<String> {
    let root = Path::new(&env::var_os("CARGO_MANIFEST_DIR")?).join("../..");
    // A source archive may lie within another repository.
    if env::var("PROFILE").ok()? != "release" || !root.join(".git").exists() {
        return None;
    }
    // Every commit and checkout adds a line to it.
    let log = PathBuf::from(git(&root, &["rev-parse", "--git-path", "logs/HEAD"])?);
    let log = root.join(log);
    if log.exists() {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    git(&root, &["show", "--no-patch", "--format=%h %cs", "HEAD"])
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(arguments)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
