//! Chooses the file for an exported conversation.

use std::path::{Path, PathBuf};

/// The extensions of export formats.
const ENDINGS: [&str; 5] = ["html", "htm", "md", "markdown", "zotsession"];

/// How many exports without a given name fit into a directory.
const MAX_UNNAMED: usize = 1_000;

/// A file that does not exist yet. The error is for the user.
pub(super) fn destination(cwd: &Path, wanted: &str) -> Result<PathBuf, String> {
    if wanted.is_empty() {
        let later = (2..=MAX_UNNAMED).map(|number| format!("session-{number}.html"));
        let mut names = std::iter::once("session.html".to_owned()).chain(later);
        return names
            .find(|name| cwd.join(name).symlink_metadata().is_err())
            .map(PathBuf::from)
            .ok_or_else(|| "too many session-N.html files: choose a name".to_owned());
    }
    let path = expanded(wanted);
    let ending = path.extension().and_then(|ending| ending.to_str());
    if !ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
        return Err(format!(
            "{wanted}: the name sets the format: NAME.html, NAME.md or NAME.zotsession"
        ));
    }
    match cwd.join(&path).symlink_metadata() {
        Ok(_) => Err(format!("{wanted} exists already: choose another name")),
        Err(_) => Ok(path),
    }
}

/// A path as the user's shell would understand it.
pub(super) fn expanded(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests;
