//! Keeps a login fresh: renews it before it expires, in one process at a time.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use zot_files::{Lock, LockError};

use super::client::{OAuthClient, OAuthError, TokenTransport};
use super::tokens::Tokens;
use crate::{AuthFile, CredentialError};

/// How long before it expires a token is renewed: longer than a model's response usually takes.
///
/// Limit: a login is renewed this long before it expires.
const RENEWAL_MARGIN: Duration = Duration::from_secs(300);

/// How long another process may take to renew it.
///
/// Limit: the renewal fails with an error that names the lock.
const RENEWAL_LOCK_PATIENCE: Duration = Duration::from_secs(60);
const LOCK_INTERVAL: Duration = Duration::from_millis(50);

/// The login of one provider, renewed when needed.
pub struct TokenKeeper {
    provider: String,
    client: OAuthClient,
    file: AuthFile,
    transport: Box<dyn TokenTransport>,
    current: Mutex<Tokens>,
}

impl TokenKeeper {
    pub fn new(
        provider: &str,
        client: OAuthClient,
        file: AuthFile,
        transport: Box<dyn TokenTransport>,
        current: Tokens,
    ) -> Self {
        Self {
            provider: provider.to_owned(),
            client,
            file,
            transport,
            current: Mutex::new(current),
        }
    }

    /// Returns tokens that are valid for a while, renewed if necessary.
    pub async fn fresh(&self) -> Result<Tokens, OAuthError> {
        let current = self.current().clone();
        if current.lasts(RENEWAL_MARGIN) {
            return Ok(current);
        }
        match self.renewed().await {
            Ok(tokens) => {
                *self.current() = tokens.clone();
                Ok(tokens)
            }
            // The current token has not expired yet.
            Err(OAuthError::Unreachable { .. }) if current.lasts(Duration::ZERO) => Ok(current),
            Err(error) => Err(error),
        }
    }

    async fn renewed(&self) -> Result<Tokens, OAuthError> {
        let path = self.file.path().with_extension("json.refresh.lock");
        let _lock = self.lock(&path).await?;
        // Another process may have renewed it already, and a refresh token works only once.
        let stored = self.file.login(&self.provider)?;
        let stored = stored.ok_or_else(|| OAuthError::LoggedOut {
            provider: self.provider.clone(),
        })?;
        if stored.lasts(RENEWAL_MARGIN) {
            return Ok(stored);
        }
        let Some(refresh) = stored.refresh() else {
            return match stored.lasts(Duration::ZERO) {
                true => Ok(stored),
                false => Err(self.not_renewable("it has expired")),
            };
        };
        let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh)];
        let granted = self.client.grant(self.transport.as_ref(), &fields).await?;
        let tokens = granted
            .map_err(|refused| self.not_renewable(&refused.into_error().to_string()))?
            .or_refresh_of(&stored);
        self.file.put_login(&self.provider, &tokens)?;
        Ok(tokens)
    }

    async fn lock(&self, path: &Path) -> Result<Lock, OAuthError> {
        let unwritable = |source| CredentialError::Unwritable {
            path: path.to_owned(),
            source,
        };
        let deadline = Instant::now() + RENEWAL_LOCK_PATIENCE;
        loop {
            match Lock::try_acquire(path) {
                Ok(lock) => return Ok(lock),
                Err(LockError::Held) if Instant::now() < deadline => sleep(LOCK_INTERVAL).await,
                Err(error) => return Err(unwritable(error.into()).into()),
            }
        }
    }

    fn not_renewable(&self, reason: &str) -> OAuthError {
        OAuthError::NotRenewable {
            provider: self.provider.clone(),
            reason: reason.to_owned(),
        }
    }

    /// A poisoned lock still holds a usable token.
    fn current(&self) -> MutexGuard<'_, Tokens> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
