//! Parsers and checks of flag values.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use zot_sdk::ReasoningEffort;

use crate::failure::Failure;

/// Returns a parser for a path, which may be empty: scripts pass variables that are not set.
pub(super) fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// Returns a parser for reasoning efforts; an empty value means not given.
pub(super) fn efforts() -> PossibleValuesParser {
    let known = ReasoningEffort::ALL.map(|effort| match effort {
        ReasoningEffort::None => PossibleValue::new("none").alias("off"),
        effort => PossibleValue::new(effort.as_str()),
    });
    let empty = PossibleValue::new("").hide(true);
    PossibleValuesParser::new(known.into_iter().chain([empty]))
}

pub(super) fn unset_empty(value: &mut Option<String>) {
    value.take_if(|value| value.is_empty());
}

pub(super) fn unset_empty_path(value: &mut Option<PathBuf>) {
    value.take_if(|value| value.as_os_str().is_empty());
}

/// Trims the names of a list and drops the empty ones.
pub(super) fn trim_names(names: &mut Vec<String>) {
    for name in names.iter_mut() {
        *name = name.trim().to_owned();
    }
    names.retain(|name| !name.is_empty());
}

/// Parses an amount of money; a budget of `nan` would never be reached.
pub(super) fn dollars(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount >= 0.0 => Ok(amount),
        _ => Err("expected an amount in US dollars, such as 0.50".to_owned()),
    }
}

/// Checks that the directory of `--cwd` can be used.
pub(crate) fn check_directory(path: &Path) -> Result<(), Failure> {
    let problem = match fs::metadata(path) {
        Ok(found) if !found.is_dir() => "is not a directory".to_owned(),
        // Needs the permission to enter the directory.
        Ok(_) => match fs::metadata(path.join(".")) {
            Ok(_) => return Ok(()),
            Err(error) => format!("cannot be entered: {error}"),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => "does not exist".to_owned(),
        Err(error) => format!("cannot be used: {error}"),
    };
    Err(Failure::usage(format!(
        "--cwd: {} {problem}",
        path.display()
    )))
}
