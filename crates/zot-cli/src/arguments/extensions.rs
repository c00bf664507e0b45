//! The flags about extensions.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use zot_sdk::ExtensionSearch;

use super::{heading, values};

#[derive(Args)]
#[command(next_help_heading = heading::EXTENSIONS)]
pub(super) struct ExtensionArguments {
    /// Also load the extension in this directory, instead of an installed one of the same name
    /// (repeatable)
    #[arg(short, long, value_name = "DIR", value_parser = values::path())]
    ext: Vec<PathBuf>,
    /// Load only the extensions given with --ext
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
            ..Self::default()
        }
    }
}
