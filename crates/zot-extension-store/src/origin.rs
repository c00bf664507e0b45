//! Where an extension is installed from.

use std::fmt;
use std::path::{Path, PathBuf};

use zot_extension_contract::MANIFEST_FILE;

/// A directory, or a remote repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Directory(PathBuf),
    Git {
        url: String,
        /// A branch, a tag or a whole commit id.
        reference: Option<String>,
    },
}

/// Why a text does not name something that can be installed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    #[error(
        "{0}: no such directory (a remote is given by its URL, such as https://host/name.git or git@host:name.git)"
    )]
    NoSuchDirectory(String),
    #[error("{0}: not a directory: name the directory that holds {MANIFEST_FILE}")]
    NotADirectory(String),
    #[error("{0:?} is not a valid branch, tag or commit")]
    Reference(String),
}

impl Origin {
    /// Parses `path`, `url` or `url@ref`. An existing file or directory always counts as a path.
    pub fn parse(text: &str) -> Result<Self, OriginError> {
        let path = Path::new(text);
        if path.is_dir() {
            return Ok(Self::Directory(path.to_owned()));
        }
        if path.exists() {
            return match path.file_name() {
                Some(name) if name == MANIFEST_FILE => Ok(Self::Directory(match path.parent() {
                    Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
                    _ => PathBuf::from("."),
                })),
                _ => Err(OriginError::NotADirectory(text.to_owned())),
            };
        }
        if !looks_remote(text) {
            return Err(OriginError::NoSuchDirectory(text.to_owned()));
        }
        let (url, reference) = split_reference(text);
        let refused = |reference: &str| {
            reference.is_empty()
                || reference.starts_with('-')
                || reference.contains(|c: char| c.is_whitespace() || c.is_control())
        };
        match reference {
            Some(reference) if refused(reference) => {
                Err(OriginError::Reference(reference.to_owned()))
            }
            reference => Ok(Self::Git {
                url: url.to_owned(),
                reference: reference.map(str::to_owned),
            }),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => path.display().fmt(formatter),
            Self::Git {
                url,
                reference: None,
            } => formatter.write_str(&without_password(url)),
            Self::Git {
                url,
                reference: Some(reference),
            } => write!(formatter, "{}@{reference}", without_password(url)),
        }
    }
}

/// Returns `https://user:secret@host/path` without the secret, for people and logs.
pub(crate) fn without_password(url: &str) -> String {
    let parts = url.split_once("://").and_then(|(scheme, rest)| {
        let authority = rest.split('/').next().unwrap_or_default();
        let (user, host) = authority.rsplit_once('@')?;
        let (user, _) = user.split_once(':')?;
        Some((scheme, user, host, &rest[authority.len()..]))
    });
    match parts {
        Some((scheme, user, host, path)) => format!("{scheme}://{user}:…@{host}{path}"),
        None => url.to_owned(),
    }
}

/// Returns whether `text` has the form `scheme://…` or, as for scp, `user@host:path`.
fn looks_remote(text: &str) -> bool {
    let host = text.split('/').next().unwrap_or_default();
    !text.starts_with('-') && (text.contains("://") || host.contains(':'))
}

/// Splits off `@ref`. The `@` of `git@host:path` and of `https://user@host/path` comes before the
/// last part of the path; a reference with slashes needs `.git` before it.
fn split_reference(text: &str) -> (&str, Option<&str>) {
    if let Some(position) = text.find(".git@") {
        let (url, reference) = text.split_at(position + ".git".len());
        return (url, Some(&reference[1..]));
    }
    let last_part = text.rfind(['/', ':']).map_or(0, |position| position + 1);
    match text[last_part..].find('@') {
        // `https://user@host` has no path at all.
        Some(_) if text[..last_part].ends_with("//") => (text, None),
        Some(offset) => {
            let (url, reference) = text.split_at(last_part + offset);
            (url, Some(&reference[1..]))
        }
        None => (text, None),
    }
}
