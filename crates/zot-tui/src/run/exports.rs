//! Chooses the file for an exported conversation.

use std::path::{Path, PathBuf};

/// The extensions of export formats.
const EXTENSIONS: [&str; 5] = ["html", "htm", "md", "markdown", "zotsession"];

/// How many exports without a name may be in a directory.
const MAX_UNNAMED_EXPORTS: usize = 1_000;

/// Returns a file that does not exist yet. The error is for the user.
pub(super) fn destination(cwd: &Path, name: &str) -> Result<PathBuf, String> {
    if name.is_empty() {
        let later = (2..=MAX_UNNAMED_EXPORTS).map(|number| format!("session-{number}.html"));
        let mut names = std::iter::once("session.html".to_owned()).chain(later);
        return names
            .find(|name| cwd.join(name).symlink_metadata().is_err())
            .map(PathBuf::from)
            .ok_or_else(|| "too many session-N.html files: choose a name".to_owned());
    }
    let path = expand(name);
    let extension = path.extension().and_then(|extension| extension.to_str());
    if !extension.is_some_and(|extension| EXTENSIONS.contains(&extension)) {
        return Err(format!(
            "{name}: unknown format: use NAME.html, NAME.md or NAME.zotsession"
        ));
    }
    match cwd.join(&path).symlink_metadata() {
        Ok(_) => Err(format!("{name} already exists: choose another name")),
        Err(_) => Ok(path),
    }
}

/// Expands `~` as the user's shell would.
pub(super) fn expand(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests;
