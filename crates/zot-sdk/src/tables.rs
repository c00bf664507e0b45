//! The tables of models and providers: what is built in, and what the user's files add to it.

use std::path::Path;

use zot_provider::Providers;
use zot_provider::catalog::Catalog;

/// Models and providers.
pub(crate) struct Tables {
    pub(crate) catalog: Catalog,
    pub(crate) providers: Providers,
    /// What of `models.json` and `providers.json` is not used, and why.
    pub(crate) problems: Vec<String>,
}

impl Tables {
    /// Those of the user whose files are in `home`. A file that is wrong is no reason to stop.
    pub(crate) fn load(home: &Path) -> Self {
        let (catalog, said) = Catalog::load(Some(&home.join("models.json")));
        let mut providers = Providers::load(&home.join("providers.json"));
        providers.add_user_providers(&said.providers);
        let models = said.problems.iter().map(ToString::to_string);
        let others = providers.problems().iter().map(ToString::to_string);
        Self {
            problems: models.chain(others).collect(),
            catalog,
            providers,
        }
    }
}
