//! Logs in to a provider, and out again.
//!
//! [`plan`] finds out how. With [`LoginPlan::Key`] the front end asks for a key, itself or through
//! [`take_key_on_page`], and passes it to [`Credentials::keep_checked`]. With [`LoginPlan::OAuth`],
//! [`OAuthLogin::run`] does the work and reports each [`LoginStep`] that the user has to take.

mod browser;
mod logout;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::fmt;
use std::io;

use zot_auth::{CodeLogin, OAuthClient};

use crate::assembly::AssemblyError;
use crate::credentials::{Credentials, KeyProbe, StoredKey};

pub use browser::open_in_browser;
pub use logout::{LogoutReport, log_out, log_out_everywhere};
pub use zot_auth::{KeyPage, KeyPageError, MAX_KEY_ATTEMPTS, OAuthError};

/// The way a user prefers to log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginPreference {
    /// In a browser if the provider supports it, otherwise with a key.
    Usual,
    /// With a code that is entered on another device.
    Device,
    /// With a key, even if the provider supports a login.
    Key,
}

/// How to log in to a provider.
#[derive(Debug, Clone)]
pub enum LoginPlan {
    /// The provider takes a key.
    Key {
        /// The name of the provider.
        provider: String,
    },
    /// The provider issues tokens.
    OAuth(Box<OAuthLogin>),
}

/// A login at a provider that issues tokens.
#[derive(Debug, Clone)]
pub struct OAuthLogin {
    provider: String,
    client: OAuthClient,
    preference: LoginPreference,
}

/// A step that the user has to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginStep<'a> {
    /// Log in on this page.
    OpenPage {
        /// The address of the page.
        url: &'a str,
    },
    /// Enter a code on a page, on any device.
    EnterCode {
        /// The code to enter.
        code: &'a str,
        /// The address of the page.
        url: &'a str,
        /// A page that already contains the code, if the provider has one.
        complete_url: Option<&'a str>,
    },
}

/// A login that was completed and stored in `auth.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedIn {
    /// The name of the provider.
    pub provider: String,
}

/// A login failed; nothing was stored.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The provider is unknown or its entry is invalid.
    #[error(transparent)]
    Provider(#[from] AssemblyError),
    /// The provider takes a key only.
    #[error("{provider} takes a key: describe its login under \"oauth\" in providers.json first")]
    NoOAuth {
        /// The name of the provider.
        provider: String,
    },
    /// The provider refused the login, or could not be reached.
    #[error("{provider}: {source}")]
    OAuth {
        /// The name of the provider.
        provider: String,
        /// The cause.
        source: OAuthError,
    },
}

/// Finds out how to log in to `provider`.
pub fn plan(
    credentials: &Credentials,
    provider: &str,
    preference: LoginPreference,
) -> Result<LoginPlan, LoginError> {
    let provider = provider.to_owned();
    match (credentials.login(&provider)?, preference) {
        (Some(client), LoginPreference::Usual | LoginPreference::Device) => {
            Ok(LoginPlan::OAuth(Box::new(OAuthLogin {
                provider,
                client,
                preference,
            })))
        }
        (None, LoginPreference::Device) => Err(LoginError::NoOAuth { provider }),
        (None, LoginPreference::Usual) | (_, LoginPreference::Key) => {
            Ok(LoginPlan::Key { provider })
        }
    }
}

impl OAuthLogin {
    /// Logs in and stores the tokens. Calls `show` with the step that the user has to take, then waits
    /// for the provider. Dropping the future cancels the login.
    pub async fn run(
        &self,
        credentials: &Credentials,
        show: &mut dyn FnMut(LoginStep<'_>) -> io::Result<()>,
    ) -> Result<LoggedIn, LoginError> {
        let failed = |source| LoginError::OAuth {
            provider: self.provider.clone(),
            source,
        };
        self.finish(credentials, show).await.map_err(failed)?;
        Ok(LoggedIn {
            provider: self.provider.clone(),
        })
    }

    async fn finish(
        &self,
        credentials: &Credentials,
        show: &mut dyn FnMut(LoginStep<'_>) -> io::Result<()>,
    ) -> Result<(), OAuthError> {
        let Self {
            provider, client, ..
        } = self;
        let prefers_device = self.preference == LoginPreference::Device;
        match (&client.authorize_url, &client.device_url) {
            (Some(url), device) if !prefers_device || device.is_none() => {
                let login = CodeLogin::begin(client, url).await?;
                show(LoginStep::OpenPage { url: login.url() })?;
                credentials.finish_code(provider, login).await
            }
            (_, Some(url)) => {
                let login = credentials.begin_device(client, url).await?;
                show(LoginStep::EnterCode {
                    code: login.user_code(),
                    url: login.verification_uri(),
                    complete_url: login.complete_uri(),
                })?;
                credentials.finish_device(provider, login).await
            }
            // Not possible: an entry of providers.json needs one of them.
            (_, None) => Ok(()),
        }
    }
}

impl LoginStep<'_> {
    /// Returns the page to open for this step.
    pub fn page(&self) -> &str {
        match self {
            Self::OpenPage { url } => url,
            Self::EnterCode {
                url, complete_url, ..
            } => complete_url.unwrap_or(url),
        }
    }
}

impl fmt::Display for LoginStep<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenPage { url } => write!(formatter, "Log in at {url}"),
            Self::EnterCode { code, url, .. } => {
                write!(formatter, "Enter the code {code} at {url}")
            }
        }
    }
}

impl fmt::Display for LoggedIn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Logged in to {}.", self.provider)
    }
}

/// Serves `page` until a key that was entered there is stored.
pub async fn take_key_on_page(
    credentials: &Credentials,
    page: KeyPage,
    probe: KeyProbe,
) -> Result<StoredKey, KeyPageError> {
    let taken = RefCell::new(None);
    page.wait(async |provider, key| {
        let kept = credentials.keep_checked(provider, key, probe).await;
        let kept = kept.map_err(|error| error.to_string())?;
        let text = format!("{kept} You can close this page.");
        *taken.borrow_mut() = Some(kept);
        Ok(text)
    })
    .await?;
    // The page succeeds only after a key was entered.
    taken.into_inner().ok_or(KeyPageError::TooLate)
}
