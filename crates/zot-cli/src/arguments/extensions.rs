//! The flags about extensions.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use zot_sdk::ExtensionSearch;

use super::values;

#[derive(Args)]
pub(super) struct ExtensionArguments {
    /// Also load this extension (repeatable); it wins over an installed one of the same name
    #[arg(short, long, value_name = "DIR", value_parser = values::path())]
    ext: Vec<PathBuf>,
    /// Load no extensions except those of --ext
    #[arg(long, alias = "no-extensions", action = ArgAction::SetTrue)]
    no_ext: bool,
}

impl ExtensionArguments {
    pub(super) fn unset_empty(&mut self) {
        self.ext.retain(|path| !path.as_os_str().is_empty());
    }
}

impl From<ExtensionArguments> for ExtensionSearch {
    fn from(arguments: ExtensionArguments) -> Self {
        Self {
            discover: !arguments.no_ext,
            paths: arguments.ext,
        }
    }
}
