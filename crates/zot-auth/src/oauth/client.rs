//! How to log in at one provider, and the requests that both flows and renewal share.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use serde::Deserialize;

use super::form::encoded;
use super::tokens::Tokens;
use crate::CredentialError;

/// How to log in at one provider.
#[derive(Clone, PartialEq, Eq)]
pub struct OAuthClient {
    pub client_id: String,
    /// Some providers require one, although it cannot be secret in a program on a user's machine.
    pub client_secret: Option<String>,
    /// Where the browser is sent; without it only the device flow is available.
    pub authorize_url: Option<String>,
    pub token_url: String,
    /// Where a device code is requested; without it only the browser flow is available.
    pub device_url: Option<String>,
    pub scopes: Vec<String>,
    /// Additional parameters for the browser's address.
    pub parameters: Vec<(String, String)>,
    /// The port of the redirect address, if the provider requires a fixed one; 0 chooses a free one.
    pub redirect_port: u16,
    /// For example `/callback`.
    pub redirect_path: String,
}

impl fmt::Debug for OAuthClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OAuthClient")
            .field("client_id", &self.client_id)
            .field("token_url", &self.token_url)
            .finish_non_exhaustive()
    }
}

/// A provider's response: the status and the body.
pub type TokenAnswer = (u16, Vec<u8>);

/// Sends forms to a provider. Implemented by crates that have an HTTP client.
pub trait TokenTransport: Send + Sync {
    /// Posts `form`; the error describes why there was no response.
    fn post_form<'a>(
        &'a self,
        url: &'a str,
        form: String,
    ) -> Pin<Box<dyn Future<Output = Result<TokenAnswer, String>> + Send + 'a>>;
}

/// Why a login or its renewal failed.
#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    #[error("cannot reach {url}: {reason}")]
    Unreachable { url: String, reason: String },
    /// In the provider's words.
    #[error("the provider refused: {reason}")]
    Refused { reason: String },
    #[error("the provider's response is invalid: {reason}")]
    Invalid { reason: String },
    #[error("the login was not completed within {minutes} minutes")]
    TooLate { minutes: u64 },
    #[error("cannot listen on 127.0.0.1: {0}")]
    Listening(#[from] std::io::Error),
    #[error("the login was removed: run `zot login {provider}`")]
    LoggedOut { provider: String },
    #[error("the login at {provider} cannot be renewed ({reason}): run `zot login {provider}`")]
    NotRenewable { provider: String, reason: String },
    #[error(transparent)]
    Store(#[from] CredentialError),
}

/// The error object of a token endpoint.
#[derive(Deserialize)]
pub(super) struct Refusal {
    pub(super) error: String,
    error_description: Option<String>,
}

impl Refusal {
    pub(super) fn into_error(self) -> OAuthError {
        let reason = match self.error_description {
            Some(description) => format!("{}: {description}", self.error),
            None => self.error,
        };
        OAuthError::Refused { reason }
    }
}

impl OAuthClient {
    /// Exchanges a grant for tokens.
    pub(super) async fn grant(
        &self,
        transport: &dyn TokenTransport,
        fields: &[(&str, &str)],
    ) -> Result<Result<Tokens, Refusal>, OAuthError> {
        let (status, body) = self.post(transport, &self.token_url, fields).await?;
        if status == 200 {
            return Tokens::of_answer(&body)
                .map(Ok)
                .ok_or_else(|| invalid("it has no access token"));
        }
        refusal(status, &body).map(Err)
    }

    pub(super) async fn post(
        &self,
        transport: &dyn TokenTransport,
        url: &str,
        fields: &[(&str, &str)],
    ) -> Result<TokenAnswer, OAuthError> {
        let mut fields = fields.to_vec();
        fields.push(("client_id", &self.client_id));
        if let Some(secret) = &self.client_secret {
            fields.push(("client_secret", secret));
        }
        transport
            .post_form(url, encoded(&fields))
            .await
            .map_err(|reason| OAuthError::Unreachable {
                url: url.to_owned(),
                reason,
            })
    }

    pub(super) fn scope(&self) -> String {
        self.scopes.join(" ")
    }
}

pub(super) fn refusal(status: u16, body: &[u8]) -> Result<Refusal, OAuthError> {
    serde_json::from_slice(body).map_err(|_| invalid(&format!("status {status} without an error")))
}

pub(super) fn invalid(reason: &str) -> OAuthError {
    OAuthError::Invalid {
        reason: reason.to_owned(),
    }
}
