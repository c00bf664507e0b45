//! Removes credentials.

use std::fmt;
use std::path::PathBuf;

use zot_auth::CredentialError;

use crate::credentials::Credentials;

/// The result of logging out. Contains no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogoutReport {
    /// The credential of one provider was removed.
    Provider {
        /// The name of the provider.
        provider: String,
        /// Whether `auth.json` had a credential.
        was_removed: bool,
        /// The path of `auth.json`.
        file: PathBuf,
        /// Other sources that still have one, such as a variable.
        remaining: Vec<String>,
    },
    /// All credentials in `auth.json` were removed.
    Everything {
        /// The names of the providers.
        providers: Vec<String>,
    },
}

/// Removes the credential of `provider`, which may be an alias, from `auth.json`.
pub fn log_out(credentials: &Credentials, provider: &str) -> Result<LogoutReport, CredentialError> {
    let file = credentials.file();
    let name = credentials.canonical(provider);
    let was_removed = file.remove(provider)? || file.remove(name)?;
    let remaining = credentials.status()?.into_iter();
    let remaining = remaining.filter(|status| status.provider == name);
    Ok(LogoutReport::Provider {
        provider: provider.to_owned(),
        was_removed,
        file: file.path().to_owned(),
        remaining: remaining.map(|status| status.source).collect(),
    })
}

/// Removes all credentials from `auth.json`.
pub fn log_out_everywhere(credentials: &Credentials) -> Result<LogoutReport, CredentialError> {
    let providers = credentials.file().remove_all()?;
    Ok(LogoutReport::Everything { providers })
}

impl fmt::Display for LogoutReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything { providers } if providers.is_empty() => {
                write!(formatter, "No credentials were stored.")
            }
            Self::Everything { providers } => {
                let providers = providers.join(", ");
                write!(formatter, "Forgot the credentials of {providers}.")
            }
            Self::Provider {
                provider,
                was_removed,
                file,
                remaining,
            } => {
                match was_removed {
                    true => write!(formatter, "Forgot the credential of {provider}.")?,
                    false => write!(
                        formatter,
                        "No credential for {provider} in {}.",
                        file.display()
                    )?,
                }
                let mut remaining = remaining.iter();
                remaining.try_for_each(|source| write!(formatter, "\n{source} still has one."))
            }
        }
    }
}
