//! Where a credential is looked for, in order, and the errors if there is none.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use zot_process::Secret;

use crate::auth_file::{self, Stored};
use crate::oauth::Tokens;

/// What to look for, and where.
///
/// Not `Debug`: `explicit` may hold a secret.
#[derive(Clone, Copy)]
pub struct CredentialRequest<'a> {
    /// For example `anthropic`.
    pub provider: &'a str,
    /// The value of `--api-key`.
    pub explicit: Option<&'a str>,
    /// The provider's environment variables, tried in order.
    pub variables: &'a [&'a str],
    /// `$ZOT_HOME/auth.json`; it need not exist.
    pub auth_file: &'a Path,
    pub logins: Logins,
    pub env: &'a dyn Fn(&str) -> Option<String>,
}

/// Whether a login, as opposed to a key, can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logins {
    /// The provider's configuration describes how to log in and how to renew a login.
    Accepted,
    Unsupported,
}

/// A secret and where it came from.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    secret: Secret,
    source: CredentialSource,
    login: Option<Tokens>,
}

impl Credential {
    /// Returns the tokens that renew the secret, if it comes from a login.
    pub fn login(&self) -> Option<&Tokens> {
        self.login.as_ref()
    }

    /// Returns the secret itself, only for use in a request header.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    pub fn source(&self) -> &CredentialSource {
        &self.source
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Credential")
            .field("secret", &"[redacted]")
            .field("source", &self.source)
            .finish()
    }
}

/// Where a credential was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialSource {
    /// `--api-key`.
    Flag,
    /// The environment variable of this name.
    Variable(String),
    /// This `auth.json`.
    File(PathBuf),
}

impl fmt::Display for CredentialSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => formatter.write_str("--api-key"),
            Self::Variable(name) => write!(formatter, "${name}"),
            Self::File(path) => write!(formatter, "{}", path.display()),
        }
    }
}

/// Why there is no credential.
///
/// JSON errors are reduced to a position, because their texts quote the invalid value.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    #[error(
        "no API key for {provider}: run `zot login {provider}`, pass --api-key KEY, {}or add {{\"{provider}\": {{\"type\": \"api_key\", \"api_key\": \"KEY\"}}}} to {} (mode 0600); \
         to try zot without a key, use --provider offline",
        variables_hint(.variables),
        .auth_file.display()
    )]
    Missing {
        provider: String,
        variables: Vec<String>,
        auth_file: PathBuf,
    },
    #[error(
        "{} can be accessed by other users (mode {mode:04o}): run `chmod 600 {}`",
        .path.display(),
        auth_file::shell_quoted(.path)
    )]
    Unsafe { path: PathBuf, mode: u32 },
    #[error(
        "{} belongs to another user (uid {owner}): replace it with your own file",
        .path.display()
    )]
    NotOwned { path: PathBuf, owner: u32 },
    #[error("cannot read {}", .path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "{} is not a JSON object of providers (line {line}, column {column}): correct or remove it",
        .path.display()
    )]
    Malformed {
        path: PathBuf,
        line: usize,
        column: usize,
    },
    #[error(
        "the entry for {provider} in {} has neither an API key nor a login: run `zot login {provider}`, or write {{\"type\": \"api_key\", \"api_key\": \"KEY\"}}",
        .path.display()
    )]
    UnknownEntry { provider: String, path: PathBuf },
    #[error(
        "the entry for {provider} in {} is a subscription login (OAuth) that this zot cannot renew: run `zot login {provider}` to give an API key, {}or describe the login under \"oauth\" in providers.json; other providers are not affected",
        .path.display(),
        variables_hint(.variables)
    )]
    OauthUnsupported {
        provider: String,
        variables: Vec<String>,
        path: PathBuf,
    },
    #[error("cannot write {}: {source}", .path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error(
        "the API key from {origin} is empty, or contains a space, a line break or another character that is not valid in a key: copy it again"
    )]
    InvalidCharacters { origin: CredentialSource },
}

/// Finds the credential: `--api-key`, then the variables, then the file.
///
/// White space around a key is removed; an empty key counts as not given.
pub fn find(request: CredentialRequest<'_>) -> Result<Credential, CredentialError> {
    if let Some(secret) = request.explicit.and_then(given) {
        return checked(secret, CredentialSource::Flag);
    }
    for name in request.variables {
        let value = (request.env)(name);
        if let Some(secret) = value.as_deref().and_then(given) {
            return checked(secret, CredentialSource::Variable((*name).to_owned()));
        }
    }
    let source = || CredentialSource::File(request.auth_file.to_owned());
    let (provider, path) = (request.provider.to_owned(), request.auth_file.to_owned());
    match auth_file::stored(request.auth_file, request.provider)? {
        Some(Stored::Key(key)) => {
            if let Some(secret) = given(&key) {
                return checked(secret, source());
            }
        }
        Some(Stored::Login(tokens)) if request.logins == Logins::Accepted => {
            let credential = checked(tokens.access(), source())?;
            return Ok(Credential {
                login: Some(tokens),
                ..credential
            });
        }
        Some(Stored::Login(_) | Stored::ForeignLogin) => {
            return Err(CredentialError::OauthUnsupported {
                provider,
                variables: request.variables.iter().map(ToString::to_string).collect(),
                path,
            });
        }
        Some(Stored::Unknown) => return Err(CredentialError::UnknownEntry { provider, path }),
        Some(Stored::Nothing) | None => {}
    }
    Err(CredentialError::Missing {
        provider: request.provider.to_owned(),
        variables: request.variables.iter().map(ToString::to_string).collect(),
        auth_file: request.auth_file.to_owned(),
    })
}

pub(crate) fn given(value: &str) -> Option<&str> {
    let value = value.trim();
    (!value.is_empty()).then_some(value)
}

/// Refuses a secret that could not be sent in a header; the error of the HTTP client would not name
/// its source.
pub(crate) fn checked(
    secret: &str,
    source: CredentialSource,
) -> Result<Credential, CredentialError> {
    if secret.is_empty() || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(CredentialError::InvalidCharacters { origin: source });
    }
    Ok(Credential {
        secret: secret.into(),
        source,
        login: None,
    })
}

fn variables_hint(variables: &[String]) -> String {
    if variables.is_empty() {
        return String::new();
    }
    format!("set {}, ", variables.join(" or "))
}

#[cfg(test)]
mod tests;
