//! Finds the theme that the user chose, or one for the terminal's background.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::bounded;
use crate::style::{Theme, ThemeError};

/// No theme needs a larger file.
///
/// Limit: the theme is refused.
const MAX_THEME_FILE_BYTES: u64 = 64 * 1024;

/// Why a theme cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoadError {
    #[error("unknown theme {name:?}: expected one of {}; put your own into {}", .known.join(", "), .directory.display())]
    Unknown {
        name: String,
        known: Vec<String>,
        directory: PathBuf,
    },
    #[error("{}: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}: {source}", .path.display())]
    Invalid { path: PathBuf, source: ThemeError },
}

/// Loads `light`, `dark`, or a file of the user.
pub(super) fn load(name: &str, directory: Option<&Path>) -> Result<Theme, LoadError> {
    match name {
        "light" => return Ok(Theme::LIGHT),
        "dark" => return Ok(Theme::DARK),
        _ => {}
    }
    let directory = directory.unwrap_or(Path::new("."));
    let unknown = || LoadError::Unknown {
        name: name.to_owned(),
        known: list(Some(directory)),
        directory: directory.to_owned(),
    };
    // Names are not paths.
    if name.contains(['/', '\0']) || name.starts_with('.') {
        return Err(unknown());
    }
    let path = directory.join(format!("{name}.json"));
    let text = match bounded::text(&path, MAX_THEME_FILE_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(unknown()),
        Err(source) => return Err(LoadError::Unreadable { path, source }),
    };
    Theme::parse(&text).map_err(|source| LoadError::Invalid { path, source })
}

/// Returns the names of all themes.
pub(super) fn list(directory: Option<&Path>) -> Vec<String> {
    let mut own: Vec<String> = directory
        .and_then(|directory| fs::read_dir(directory).ok())
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            Some(
                entry
                    .file_name()
                    .to_str()?
                    .strip_suffix(".json")?
                    .to_owned(),
            )
        })
        .collect();
    own.sort_unstable();
    [vec!["dark".to_owned(), "light".to_owned()], own].concat()
}

/// Guesses a theme from the environment; dark without a hint.
pub(super) fn guess(variable: impl Fn(&str) -> Option<String>) -> Theme {
    let background = variable("COLORFGBG");
    let background = background
        .as_deref()
        .and_then(|both| both.rsplit(';').next());
    match background.and_then(|colour| colour.parse::<u8>().ok()) {
        Some(7 | 9..=15) => Theme::LIGHT,
        _ => Theme::DARK,
    }
}
