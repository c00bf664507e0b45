//! `[store]`: the database of `mem`.

use std::env;
use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;

use super::Config;
use crate::lenient;

/// The variable that wins over `[store] url`, so that the password need not be in a file.
pub const STORE_URL_VARIABLE: &str = "ZINO_STORE_URL";

/// `[store]`, ours: without it `mem` stores files.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Store {
    pub url: Option<StoreUrl>,
    /// The authority that signed the database's certificate; the system's when not given.
    pub ca: Option<PathBuf>,
    /// How many connections `mem` keeps at most.
    #[serde(deserialize_with = "lenient::read_count")]
    pub connections: usize,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            url: None,
            ca: None,
            connections: 8,
        }
    }
}

/// The address of a database, which may hold a password and is therefore never printed.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct StoreUrl(String);

impl StoreUrl {
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StoreUrl(…)")
    }
}

impl Config {
    /// `$ZINO_STORE_URL`, then `[store] url`; `None` when `mem` stores files.
    pub fn store_url(&self) -> Option<StoreUrl> {
        let given = |url: &StoreUrl| !url.0.is_empty();
        env::var(STORE_URL_VARIABLE)
            .ok()
            .map(StoreUrl)
            .filter(given)
            .or_else(|| self.store.url.clone().filter(given))
    }
}
