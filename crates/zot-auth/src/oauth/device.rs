//! The device flow: a code to type in elsewhere.

use std::time::Duration;

use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::client::{OAuthClient, OAuthError, TokenTransport, nonsense, refusal};
use super::tokens::Tokens;

/// How often to ask when the server does not say, and how much slower when it wants that (RFC 8628).
const DEFAULT_INTERVAL: u64 = 5;
const SLOWER: Duration = Duration::from_secs(5);

/// The longest a server's code is believed to last.
///
/// Limit: the code expires.
const MAX_DEVICE_CODE_SECONDS: u64 = 1800;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// A login under way: someone has to type in [`DeviceLogin::user_code`] somewhere.
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
    /// Asks for a code at `device_url`, which is that of `client`.
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
        let answer = serde_json::from_slice(&body).map_err(|_| nonsense("no device code in it"))?;
        Ok(Self {
            client,
            answer,
            began: Instant::now(),
        })
    }

    /// What to type in.
    pub fn user_code(&self) -> &str {
        &self.answer.user_code
    }

    /// Where.
    pub fn verification_uri(&self) -> &str {
        &self.answer.verification_uri
    }

    /// Where the code is filled in already, if there is such a place.
    pub fn complete_uri(&self) -> Option<&str> {
        self.answer.verification_uri_complete.as_deref()
    }

    /// Waits until it has been typed in.
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
                // A network that is away for a moment is no reason to start over.
                Err(OAuthError::Unreachable { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
}
