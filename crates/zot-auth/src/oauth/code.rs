//! The authorisation code flow with PKCE: a browser, and an address on this machine that it is
//! redirected to.

use std::time::Duration;

use tokio::time::timeout;

use super::client::{OAuthClient, OAuthError, TokenTransport};
use super::form::encoded;
use super::pkce::Pkce;
use super::tokens::Tokens;
use crate::key_page::page;
use crate::loopback::{self, LoopbackReply, LoopbackServer};

/// How long the user may take to log in.
///
/// Limit: the login fails.
const CODE_TIME_LIMIT: Duration = Duration::from_secs(600);

/// A login in progress: send the browser to [`CodeLogin::url`].
pub struct CodeLogin<'a> {
    client: &'a OAuthClient,
    server: LoopbackServer,
    redirect: String,
    pkce: Pkce,
    state: String,
    url: String,
}

impl<'a> CodeLogin<'a> {
    /// Starts listening. `authorize_url` is that of `client`.
    pub async fn begin(client: &'a OAuthClient, authorize_url: &str) -> Result<Self, OAuthError> {
        let server = LoopbackServer::bind(client.redirect_port)?;
        let redirect = format!("http://127.0.0.1:{}{}", server.port(), client.redirect_path);
        let (pkce, state) = (Pkce::new()?, loopback::random_token()?);
        let scope = client.scope();
        let mut fields = vec![
            ("response_type", "code"),
            ("client_id", client.client_id.as_str()),
            ("redirect_uri", &redirect),
            ("code_challenge", pkce.challenge()),
            ("code_challenge_method", "S256"),
            ("state", &state),
        ];
        if !scope.is_empty() {
            fields.push(("scope", &scope));
        }
        let own = client.parameters.iter();
        fields.extend(own.map(|(name, value)| (name.as_str(), value.as_str())));
        let separator = if authorize_url.contains('?') {
            '&'
        } else {
            '?'
        };
        let url = format!("{authorize_url}{separator}{}", encoded(&fields));
        Ok(Self {
            client,
            server,
            redirect,
            pkce,
            state,
            url,
        })
    }

    /// Returns where to send the browser.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits for the browser to be redirected, and fetches the tokens.
    pub async fn finish(mut self, transport: &dyn TokenTransport) -> Result<Tokens, OAuthError> {
        let code = timeout(CODE_TIME_LIMIT, self.code()).await;
        self.server.close().await;
        let code = match code {
            Ok(code) => code?,
            Err(_) => {
                return Err(OAuthError::TooLate {
                    minutes: CODE_TIME_LIMIT.as_secs() / 60,
                });
            }
        };
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", &self.redirect),
            ("code_verifier", self.pkce.verifier()),
        ];
        let granted = self.client.grant(transport, &fields).await?;
        granted.map_err(super::client::Refusal::into_error)
    }

    async fn code(&mut self) -> Result<String, OAuthError> {
        loop {
            let request = self.server.next().await?;
            let field = |name: &str| {
                let mut fields = request.query.iter();
                fields
                    .find(|(key, _)| key == name)
                    .map(|(_, value)| value.clone())
            };
            let ours = request.path == self.client.redirect_path
                && field("state").is_some_and(|state| loopback::same_secret(&state, &self.state));
            if !ours {
                // An unrelated request, such as for an icon: keep waiting.
                request.answer(LoopbackReply::not_found());
                continue;
            }
            let outcome = match (field("code"), field("error")) {
                (Some(code), None) if !code.is_empty() => Ok(code),
                (_, Some(error)) => Err(OAuthError::Refused {
                    reason: field("error_description").unwrap_or(error),
                }),
                _ => Err(super::client::invalid("it has no code")),
            };
            let text = match &outcome {
                Ok(_) => "You are logged in. You can close this page.",
                Err(_) => "The login failed; see the terminal. You can close this page.",
            };
            request.answer(LoopbackReply::page(page("zot login", text)));
            return outcome;
        }
    }
}
