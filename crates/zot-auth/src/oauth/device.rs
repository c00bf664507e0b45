//! The device flow: a code to enter on another device.

use std::time::Duration;

use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::client::{OAuthClient, OAuthError, TokenTransport, invalid, refusal};
use super::tokens::Tokens;

/// The polling interval if the server gives none, and by how much `slow_down` extends it (RFC 8628).
const DEFAULT_INTERVAL: u64 = 5;
const SLOWER: Duration = Duration::from_secs(5);

/// The longest time that a code is assumed to be valid.
///
/// Limit: the code expires.
const MAX_DEVICE_CODE_SECONDS: u64 = 1800;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// A login in progress: the user has to enter [`DeviceLogin::user_code`].
pub struct DeviceLogin<'a> {
    client: &'a OAuthClient,
    answer: Answer,
    began: Instant,
}

#[derive(Deserialize)]
struct Answer {
    device_code: String,
    user_code: String,
    #[serde(alias = "verification_url")]
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_in: Option<u64>,
    interval: Option<u64>,
}

impl<'a> DeviceLogin<'a> {
    /// Requests a code from `device_url`, which is that of `client`.
    pub async fn begin(
        client: &'a OAuthClient,
        device_url: &str,
        transport: &dyn TokenTransport,
    ) -> Result<Self, OAuthError> {
        let scope = client.scope();
        let fields = [("scope", scope.as_str())];
        let (status, body) = client.post(transport, device_url, &fields).await?;
        if status != 200 {
            return Err(refusal(status, &body)?.into_error());
        }
        let answer = serde_json::from_slice(&body).map_err(|_| invalid("it has no device code"))?;
        Ok(Self {
            client,
            answer,
            began: Instant::now(),
        })
    }

    /// Returns the code to enter.
    pub fn user_code(&self) -> &str {
        &self.answer.user_code
    }

    /// Returns where to enter it.
    pub fn verification_uri(&self) -> &str {
        &self.answer.verification_uri
    }

    /// Returns an address with the code already filled in, if the server gave one.
    pub fn complete_uri(&self) -> Option<&str> {
        self.answer.verification_uri_complete.as_deref()
    }

    /// Waits until the user has entered the code.
    pub async fn finish(self, transport: &dyn TokenTransport) -> Result<Tokens, OAuthError> {
        let lasts = self
            .answer
            .expires_in
            .unwrap_or(MAX_DEVICE_CODE_SECONDS)
            .min(MAX_DEVICE_CODE_SECONDS);
        let deadline = self.began + Duration::from_secs(lasts);
        let mut interval = Duration::from_secs(self.answer.interval.unwrap_or(DEFAULT_INTERVAL));
        let fields = [
            ("grant_type", GRANT),
            ("device_code", self.answer.device_code.as_str()),
        ];
        loop {
            sleep(interval).await;
            if Instant::now() >= deadline {
                return Err(OAuthError::TooLate {
                    minutes: lasts / 60,
                });
            }
            match self.client.grant(transport, &fields).await {
                Ok(Ok(tokens)) => return Ok(tokens),
                Ok(Err(refused)) => match refused.error.as_str() {
                    "authorization_pending" => {}
                    "slow_down" => interval += SLOWER,
                    _ => return Err(refused.into_error()),
                },
                // A short network failure does not end the login.
                Err(OAuthError::Unreachable { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
}
