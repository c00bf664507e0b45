//! One provider's way to log in, and the requests that both flows and renewal share.

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
    /// Some providers want one although it is no secret in a program on somebody's machine.
    pub client_secret: Option<String>,
    /// Where a browser is sent; without it there is only the device flow.
    pub authorize_url: Option<String>,
    pub token_url: String,
    /// Where a device code is asked for; without it there is only the browser.
    pub device_url: Option<String>,
    pub scopes: Vec<String>,
    /// What else the provider wants in the browser's address.
    pub parameters: Vec<(String, String)>,
    /// The port of the redirect address, where the provider insists on one; 0 takes any.
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

/// A provider's answer: the status, and the body.
pub type TokenAnswer = (u16, Vec<u8>);

/// Sends forms to a provider. Implemented by whoever has an HTTP client.
pub trait TokenTransport: Send + Sync {
    /// Posts `form`; an error says in words why there was no answer.
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
    #[error("the provider's answer makes no sense: {reason}")]
    Nonsense { reason: String },
    #[error("nobody logged in within {minutes} minutes")]
    TooLate { minutes: u64 },
    #[error("cannot listen on 127.0.0.1: {0}")]
    Listening(#[from] std::io::Error),
    #[error("there is no login any more: run `zot login {provider}`")]
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
    /// Exchanges what the fields grant for tokens.
    pub(super) async fn grant(
        &self,
        transport: &dyn TokenTransport,
        fields: &[(&str, &str)],
    ) -> Result<Result<Tokens, Refusal>, OAuthError> {
        let (status, body) = self.post(transport, &self.token_url, fields).await?;
        if status == 200 {
            return Tokens::of_answer(&body)
                .map(Ok)
                .ok_or_else(|| nonsense("no access token in it"));
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
    serde_json::from_slice(body).map_err(|_| nonsense(&format!("status {status}, no error in it")))
}

pub(super) fn nonsense(reason: &str) -> OAuthError {
    OAuthError::Nonsense {
        reason: reason.to_owned(),
    }
}
