//! Loads the tables of models and providers: the built-in ones and the user's files.

use std::io;
use std::path::Path;

use zot_provider::Providers;
use zot_provider::catalog::{Catalog, CatalogProblem};

use crate::assembly::AssemblyError;

/// Models and providers.
pub(crate) struct Tables {
    pub(crate) catalog: Catalog,
    pub(crate) providers: Providers,
    /// Which entries of `models.json` and `providers.json` are ignored, and why.
    pub(crate) problems: Vec<String>,
}

impl Tables {
    /// Loads the tables of the user whose files are in `home`. A broken file is reported as a problem;
    /// a home that is not a directory is an error.
    pub(crate) fn load(home: &Path) -> Result<Self, AssemblyError> {
        let path = home.join("models.json");
        let (catalog, mut user_file) = Catalog::load(Some(&path));
        let no_directory = |problem: &mut CatalogProblem| {
            matches!(problem, CatalogProblem::Unreadable { source, .. }
                if source.kind() == io::ErrorKind::NotADirectory)
        };
        if let Some(CatalogProblem::Unreadable { path, source }) =
            user_file.problems.extract_if(.., no_directory).next()
        {
            return Err(AssemblyError::Home { path, source });
        }
        let mut providers = Providers::load(&home.join("providers.json"));
        providers.add_user_providers(&user_file.providers);
        let models = user_file.problems.iter().map(ToString::to_string);
        let others = providers.problems().iter().map(ToString::to_string);
        Ok(Self {
            problems: models.chain(others).collect(),
            catalog,
            providers,
        })
    }
}
