//! Values of flags.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use zot_sdk::ReasoningEffort;

use crate::failure::Failure;

/// A path that may be empty, as scripts pass it whose variable is not set.
pub(super) fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// The efforts there are, and the empty one, which says nothing.
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

/// An amount that a budget can mean: `nan` would never be reached.
pub(super) fn dollars(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount >= 0.0 => Ok(amount),
        _ => Err("give an amount in US dollars, such as 0.50".to_owned()),
    }
}

/// Says what is wrong with the directory of `--cwd`, before anything looks for files in it.
pub(super) fn check_directory(path: &Path) -> Result<(), Failure> {
    let problem = match fs::metadata(path) {
        Ok(found) if !found.is_dir() => "is not a directory".to_owned(),
        // Looking at what is in it takes the permission to enter it.
        Ok(_) => match fs::metadata(path.join(".")) {
            Ok(_) => return Ok(()),
            Err(error) => format!("cannot be entered: {error}"),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => "does not exist".to_owned(),
        Err(error) => format!("cannot be used: {error}"),
    };
    Err(Failure::usage(format!(
        "the directory of --cwd, {}, {problem}",
        path.display()
    )))
}
