//! Other providers to use when one fails.

use std::path::PathBuf;

use zot_conversation::ErrorReport;
use zot_provider::Providers;

use crate::assembly::entry_credential;

/// Finds providers that have a credential. Looks only after a failure.
pub(crate) struct ProviderAlternatives {
    pub(crate) providers: Providers,
    pub(crate) auth_file: PathBuf,
}

impl ProviderAlternatives {
    /// Returns the providers that may succeed where one failed.
    pub(crate) fn to(&self, report: &ErrorReport) -> Vec<String> {
        let Some(failed) = &report.provider else {
            return Vec::new();
        };
        if !report.code.may_succeed_elsewhere() {
            return Vec::new();
        }
        self.providers
            .iter()
            .filter(|entry| entry.name != *failed)
            .filter(|entry| entry_credential(entry, None, &self.auth_file).is_ok())
            .map(|entry| entry.name.to_string())
            .collect()
    }
}
