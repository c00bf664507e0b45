//! Uses a login for requests, and renews it: before it expires, when it is refused, in one process at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::Instant;
use zot_conversation::BoxFuture;
use zot_files::Lock;
use zot_process::Secret;
use zot_provider::HttpClient;

use super::challenge::Challenge;
use super::client::Client;
use super::discovery::discover;
use super::login::check_binding;
use super::scope::{self, Sources};
use super::store::{LoginStore, StoredTokens};
use super::{OAuthError, token};
use crate::authorization::{Authorization, AuthorizationError, NextStep, Refusal};
use crate::entry::{OAuthGrant, OAuthSettings};

/// How long before it expires a token is renewed: longer than the way to the server takes.
///
/// Limit: a login is renewed this long before it expires.
const TOKEN_MARGIN: Duration = Duration::from_secs(60);

/// How soon after a renewal a refusal means that renewing does not help. Later, the new token has worked
/// and expired.
///
/// Limit: a new token that is refused within this time needs a login.
const NEW_TOKEN_TRIAL: Duration = Duration::from_secs(30);

/// What a token endpoint says about a refresh token that will never work again.
const FINAL_REFUSALS: [&str; 3] = ["invalid_grant", "invalid_client", "unauthorized_client"];

/// The login at one server, if there is one.
pub struct StoredLogin {
    http: HttpClient,
    store: LoginStore,
    server: String,
    settings: OAuthSettings,
    /// The token that replaced a refused one, and since when. If it is refused too, renewing does not help.
    replacement: Mutex<Option<(Secret, Instant)>>,
    /// The renewal that is under way: one at a time, as each holds the lock.
    renewals: Mutex<JoinSet<()>>,
}

impl StoredLogin {
    pub fn new(http: HttpClient, store: LoginStore, server: &str, settings: OAuthSettings) -> Self {
        Self {
            http,
            store,
            server: server.to_owned(),
            settings,
            replacement: Mutex::default(),
            renewals: Mutex::default(),
        }
    }

    async fn current(&self) -> Result<Option<Secret>, OAuthError> {
        let Some(tokens) = self.store.tokens(&self.server)? else {
            return Ok(None);
        };
        if tokens.lasts(TOKEN_MARGIN) || tokens.refresh.is_none() {
            return Ok(Some(tokens.access));
        }
        match self.renewed(&tokens.access).await {
            Ok(renewed) => Ok(Some(renewed.unwrap_or(tokens.access))),
            // It may still be valid for a moment.
            Err(OAuthError::Unreachable { .. }) if tokens.lasts(Duration::ZERO) => {
                Ok(Some(tokens.access))
            }
            Err(error) => Err(error),
        }
    }

    /// Renews the login whose access token is `used`, unless another process has done so. Returns the new
    /// token; `None` if the login cannot be renewed.
    async fn renewed(&self, used: &Secret) -> Result<Option<Secret>, OAuthError> {
        let renewal = Renewal {
            _lock: self.store.lock_renewal(&self.server).await?,
            http: self.http.clone(),
            store: self.store.clone(),
            server: self.server.clone(),
            used: used.clone(),
        };
        // The issuer may replace the refresh token, and the new one must be stored even if the call that
        // needs it is given up. So the caller only waits for it.
        let (sender, outcome) = oneshot::channel();
        {
            let mut renewals = lock(&self.renewals);
            while renewals.try_join_next().is_some() {}
            renewals.spawn(async move {
                let _ = sender.send(renewal.run().await);
            });
        }
        match outcome.await {
            Ok(outcome) => outcome,
            Err(_) => Err(OAuthError::Store("the renewal was broken off".to_owned())),
        }
    }

    async fn after_refusal(&self, refusal: Refusal<'_>) -> Result<NextStep, OAuthError> {
        let challenge = Challenge::parse(refusal.challenge.unwrap_or_default());
        if self.settings.grant == OAuthGrant::ClientCredentials {
            return self.granted_to_client(&challenge, refusal.token).await;
        }
        // Another right is needed, which only the user can give. The same goes for a first login.
        let needs_more = refusal.status == 403;
        let Some(used) = refusal.token.filter(|_| !needs_more) else {
            if let Some(challenge) = refusal.challenge {
                self.store.put_wanted(&self.server, challenge)?;
            }
            return Ok(NextStep::LogIn);
        };
        let was_replaced = lock(&self.replacement)
            .take()
            .is_some_and(|(token, since)| token == *used && since.elapsed() < NEW_TOKEN_TRIAL);
        if !was_replaced
            && let Some(renewed) = self.renewed(used).await?
            && renewed != *used
        {
            *lock(&self.replacement) = Some((renewed, Instant::now()));
            return Ok(NextStep::Repeat);
        }
        if let Some(challenge) = refusal.challenge {
            self.store.put_wanted(&self.server, challenge)?;
        }
        Ok(NextStep::LogIn)
    }

    /// Gets a token for the client itself, without a user.
    async fn granted_to_client(
        &self,
        challenge: &Challenge,
        used: Option<&Secret>,
    ) -> Result<NextStep, OAuthError> {
        let _lock = self.store.lock_renewal(&self.server).await?;
        let stored = self.store.tokens(&self.server)?;
        if stored
            .as_ref()
            .is_some_and(|stored| Some(&stored.access) != used)
        {
            return Ok(NextStep::Repeat);
        }
        let metadata_url = self.settings.metadata_url.as_deref();
        let found = discover(&self.http, &self.server, challenge, metadata_url).await?;
        let issuer = &found.server.issuer;
        check_binding(&self.server, stored.as_ref(), issuer, &self.settings)?;
        let client = Client::known(&self.settings, &found.server);
        let Some(client) = client.filter(|client| client.secret.is_some()) else {
            return Ok(NextStep::LogIn);
        };
        let scopes = scope::choose(&Sources {
            challenged: challenge.scope.as_deref(),
            before: stored.as_ref().map_or(&[], |stored| &stored.scopes),
            configured: &self.settings.scopes,
            resource: &found.resource,
            server: &found.server,
        });
        let text = scopes.join(" ");
        let mut grant = vec![("grant_type", "client_credentials")];
        if !text.is_empty() {
            grant.push(("scope", &text));
        }
        let (endpoint, resource) = (&found.server.token_endpoint, &found.resource.resource);
        let granted = token::request(&self.http, endpoint, &client, resource, &grant).await?;
        let tokens = StoredTokens {
            issuer: found.server.issuer,
            resource: found.resource.resource,
            token_endpoint: found.server.token_endpoint,
            client,
            access: granted.access,
            refresh: None,
            expires_at: granted.expires_at,
            scopes: granted.scopes.unwrap_or(scopes),
        };
        self.store.put(&self.server, tokens)?;
        Ok(NextStep::Repeat)
    }
}

/// What is needed to renew a login without its [`StoredLogin`].
struct Renewal {
    http: HttpClient,
    store: LoginStore,
    server: String,
    used: Secret,
    /// Held to the end, so that nobody else uses the refresh token.
    _lock: Lock,
}

impl Renewal {
    async fn run(self) -> Result<Option<Secret>, OAuthError> {
        // A refresh token works only once, so what the file holds now is what counts.
        let Some(stored) = self.store.tokens(&self.server)? else {
            return Ok(None);
        };
        if stored.access != self.used {
            return Ok(Some(stored.access));
        }
        let Some(refresh) = &stored.refresh else {
            return Ok(None);
        };
        let grant = [
            ("grant_type", "refresh_token"),
            ("refresh_token", &**refresh),
        ];
        let granted = token::request(
            &self.http,
            &stored.token_endpoint,
            &stored.client,
            &stored.resource,
            &grant,
        )
        .await;
        let granted = match granted {
            Ok(granted) => granted,
            // The server has ended the login: do not ask again with the same token.
            Err(OAuthError::Refused { code, .. }) if FINAL_REFUSALS.contains(&&*code) => {
                let ended = StoredTokens {
                    refresh: None,
                    ..stored
                };
                self.store.put(&self.server, ended)?;
                return Ok(None);
            }
            // Not now; the token may be good for another attempt.
            Err(OAuthError::Refused { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let access = granted.access.clone();
        let tokens = StoredTokens {
            access: granted.access,
            refresh: granted.refresh.or(stored.refresh),
            expires_at: granted.expires_at,
            scopes: granted.scopes.unwrap_or(stored.scopes),
            ..stored
        };
        self.store.put(&self.server, tokens)?;
        Ok(Some(access))
    }
}

/// What a panicking holder left in these locks is still valid.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Authorization for StoredLogin {
    fn token(&self) -> BoxFuture<'_, Result<Option<Secret>, AuthorizationError>> {
        Box::pin(async { Ok(self.current().await?) })
    }

    fn refused<'a>(
        &'a self,
        refusal: Refusal<'a>,
    ) -> BoxFuture<'a, Result<NextStep, AuthorizationError>> {
        Box::pin(async move { Ok(self.after_refusal(refusal).await?) })
    }
}
