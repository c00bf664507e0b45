//! Where zot keeps its files.

use std::path::{Path, PathBuf};

/// Returns the directory that holds `auth.json`, `models.json`, sessions and the rest.
///
/// `$ZOT_HOME`, else `$XDG_STATE_HOME/zot`, else the platform's directory below the home directory.
pub fn zot_home(env: &dyn Fn(&str) -> Option<String>) -> PathBuf {
    let set = |name| env(name).filter(|value| !value.is_empty());
    if let Some(home) = set("ZOT_HOME") {
        return PathBuf::from(home);
    }
    // The XDG specification says to ignore relative paths.
    if let Some(state) = set("XDG_STATE_HOME").filter(|path| Path::new(path).is_absolute()) {
        return Path::new(&state).join("zot");
    }
    // Without $HOME the standard library asks the user database; without an entry there, fall back to
    // the current directory.
    let home = set("HOME")
        .map(PathBuf::from)
        .or_else(std::env::home_dir)
        .unwrap_or_default();
    home.join(STATE_BELOW_HOME)
}

#[cfg(target_os = "macos")]
const STATE_BELOW_HOME: &str = "Library/Application Support/zot";
#[cfg(not(target_os = "macos"))]
const STATE_BELOW_HOME: &str = ".local/state/zot";

#[cfg(test)]
mod tests;
