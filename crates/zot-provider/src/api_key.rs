//! A provider's secret, which may be renewed while clients use it.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, PoisonError, RwLock};

use zot_process::Secret;

/// A key or a token. Clones share it: after a renewal all of them send the new one.
#[derive(Clone)]
pub struct ApiKey {
    secret: Arc<RwLock<Arc<Secret>>>,
    scheme: Scheme,
}

/// The current secret.
pub(crate) struct CurrentSecret(Arc<Secret>);

impl Deref for CurrentSecret {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// How a secret is sent to a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    /// In the provider's header for keys.
    Key,
    /// As `Authorization: Bearer`, whatever header the provider uses for keys.
    Bearer,
}

impl ApiKey {
    /// Creates a key from a login's token.
    pub fn token(secret: &str) -> Self {
        Self {
            secret: Arc::new(RwLock::new(Arc::new(secret.into()))),
            scheme: Scheme::Bearer,
        }
    }

    /// Replaces the secret.
    pub fn renew(&self, secret: &str) {
        *self.secret.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(secret.into());
    }

    pub(crate) fn secret(&self) -> CurrentSecret {
        let secret = self.secret.read().unwrap_or_else(PoisonError::into_inner);
        CurrentSecret(Arc::clone(&secret))
    }

    pub(crate) fn is_token(&self) -> bool {
        self.scheme == Scheme::Bearer
    }
}

impl From<&str> for ApiKey {
    fn from(secret: &str) -> Self {
        Self {
            scheme: Scheme::Key,
            ..Self::token(secret)
        }
    }
}

impl From<String> for ApiKey {
    fn from(secret: String) -> Self {
        Self {
            secret: Arc::new(RwLock::new(Arc::new(secret.into()))),
            scheme: Scheme::Key,
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[redacted]")
    }
}
