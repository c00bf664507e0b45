//! `[listen]`, `[peers]`, `[tls]` and `[allow]`: services on other machines.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::Config;
use super::address::{Address, NetworkAddress, Security};
use crate::kind::ServiceKind;

/// `[listen]`: where services can be called besides their Unix sockets.
#[derive(Debug, Clone, Default)]
pub struct Listen(Vec<(ServiceKind, NetworkAddress)>);

/// `[peers]`: where services are called.
#[derive(Debug, Clone, Default)]
pub struct Peers(Vec<(ServiceKind, Vec<Address>)>);

/// `[allow]`: names in certificates that may call a service.
#[derive(Debug, Clone, Default)]
pub struct Allow(Vec<(ServiceKind, Vec<String>)>);

/// The namespace unless `[tls]` names another.
pub const DEFAULT_NAMESPACE: &str = "default";

/// `[tls]`: who we are, and which authority we trust.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Tls {
    pub ca: Option<PathBuf>,
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    pub namespace: String,
}

impl Default for Tls {
    fn default() -> Self {
        Self {
            ca: None,
            certificate: None,
            key: None,
            namespace: DEFAULT_NAMESPACE.to_owned(),
        }
    }
}

/// The three files of `[tls]`.
#[derive(Debug, Clone, Copy)]
pub struct TlsFiles<'a> {
    pub ca: &'a Path,
    pub certificate: &'a Path,
    pub key: &'a Path,
}

impl Tls {
    /// The files, if all three are given.
    pub fn files(&self) -> Option<TlsFiles<'_>> {
        Some(TlsFiles {
            ca: self.ca.as_deref()?,
            certificate: self.certificate.as_deref()?,
            key: self.key.as_deref()?,
        })
    }

    /// The name in the certificate of a service, or of a caller called `name`.
    pub fn certificate_name(&self, name: &str) -> String {
        format!("{name}.{}.zino", self.namespace)
    }
}

impl Config {
    /// Where the service listens besides its Unix socket.
    pub fn listen_address(&self, kind: ServiceKind) -> Option<&NetworkAddress> {
        find(&self.listen.0, kind)
    }

    /// Where the service is called, if it is elsewhere.
    pub fn peer_addresses(&self, kind: ServiceKind) -> Option<&[Address]> {
        find(&self.peers.0, kind).map(Vec::as_slice)
    }

    /// The services that `zino up` runs.
    pub fn services_here(&self) -> Vec<ServiceKind> {
        ServiceKind::ALL
            .into_iter()
            .filter(|kind| {
                self.listen_address(*kind).is_some() || self.peer_addresses(*kind).is_none()
            })
            .collect()
    }

    /// The names in certificates that may call the service.
    pub fn callers(&self, kind: ServiceKind) -> Vec<String> {
        let names: Vec<&str> = match find(&self.allow.0, kind) {
            Some(names) => names.iter().map(String::as_str).collect(),
            None => built_in_callers(kind).to_vec(),
        };
        let full_name = |name: &str| match name.contains('.') {
            true => name.to_owned(),
            false => self.tls.certificate_name(name),
        };
        names.into_iter().map(full_name).collect()
    }

    pub fn uses_tls(&self) -> bool {
        self.tls_use().is_some()
    }

    /// Where `tls://` is used first, for messages.
    fn tls_use(&self) -> Option<String> {
        let encrypted = self.listen.0.iter();
        let encrypted = encrypted.filter(|(_, address)| address.security == Security::Tls);
        let listens =
            encrypted.map(|(kind, address)| format!("[listen] {} = \"{address}\"", kind.name()));
        let calls = self.peers.0.iter().flat_map(|(kind, addresses)| {
            let encrypted = addresses.iter().filter(|address| address.is_tls());
            encrypted.map(|address| format!("[peers] {} = \"{address}\"", kind.name()))
        });
        listens.chain(calls).next()
    }

    /// Checks what only several sections together show.
    pub(super) fn check_network(&self) -> Result<(), String> {
        if !is_label(&self.tls.namespace) {
            return Err(format!(
                "[tls] namespace {:?} must consist of letters, digits and hyphens",
                self.tls.namespace
            ));
        }
        let Some(place) = self.tls_use() else {
            return Ok(());
        };
        let files = [
            ("ca", &self.tls.ca),
            ("certificate", &self.tls.certificate),
            ("key", &self.tls.key),
        ];
        let missing: Vec<&str> = files
            .into_iter()
            .filter_map(|(key, path)| path.is_none().then_some(key))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{place} needs [tls] {}: `zino certs init` and `zino certs issue` make them",
            missing.join(", ")
        ))
    }
}

/// Who calls whom unless `[allow]` says otherwise.
fn built_in_callers(kind: ServiceKind) -> &'static [&'static str] {
    match kind {
        ServiceKind::Daemon => &["client"],
        ServiceKind::SystemPrompt | ServiceKind::Context | ServiceKind::AgentLoop => &["daemon"],
        ServiceKind::Router => &["daemon", "agr"],
        ServiceKind::Executor => &["agr"],
        ServiceKind::Memory => &["daemon", "ctx"],
    }
}

/// Whether the text can be one part of a name in a certificate.
pub(crate) fn is_label(text: &str) -> bool {
    let fits = (1..=63).contains(&text.len());
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    fits && text.bytes().all(is_allowed) && !text.starts_with('-') && !text.ends_with('-')
}

fn find<T>(entries: &[(ServiceKind, T)], kind: ServiceKind) -> Option<&T> {
    let entry = entries.iter().find(|(known, _)| *known == kind);
    entry.map(|(_, value)| value)
}

/// Reads a section with a key for each service. Other keys are ignored: there is a warning for them.
fn read_section<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    section: &str,
    read: impl Fn(&toml::Value) -> Result<T, String>,
) -> Result<Vec<(ServiceKind, T)>, D::Error> {
    let table = toml::Table::deserialize(deserializer)?;
    let known = table
        .iter()
        .filter_map(|(name, value)| Some((ServiceKind::named(name)?, value)));
    known
        .map(|(kind, value)| match read(value) {
            Ok(value) => Ok((kind, value)),
            Err(error) => Err(D::Error::custom(format!(
                "[{section}] {}: {error}",
                kind.name()
            ))),
        })
        .collect()
}

/// A string, or a list of strings that is not empty.
fn read_texts(value: &toml::Value) -> Result<Vec<&str>, String> {
    let texts = match value {
        toml::Value::String(text) => vec![text.as_str()],
        toml::Value::Array(list) => list
            .iter()
            .map(|item| {
                let wrong = || format!("expected strings in the list, got {}", item.type_str());
                item.as_str().ok_or_else(wrong)
            })
            .collect::<Result<_, _>>()?,
        other => {
            return Err(format!(
                "expected a string or a list of strings, got {}",
                other.type_str()
            ));
        }
    };
    Ok(texts)
}

impl<'de> Deserialize<'de> for Listen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_section(deserializer, "listen", |value| {
            let wrong = || format!("expected a string, got {}", value.type_str());
            let text = value.as_str().ok_or_else(wrong)?;
            NetworkAddress::parse_to_listen(text).map_err(|error| error.to_string())
        })
        .map(Self)
    }
}

impl<'de> Deserialize<'de> for Peers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_section(deserializer, "peers", |value| {
            let texts = read_texts(value)?;
            if texts.is_empty() {
                return Err("the list of addresses is empty".to_owned());
            }
            let addresses = texts.into_iter().map(Address::parse);
            let addresses: Result<_, _> = addresses.collect();
            addresses.map_err(|error| error.to_string())
        })
        .map(Self)
    }
}

impl<'de> Deserialize<'de> for Allow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_section(deserializer, "allow", |value| {
            let check = |name: &str| match name.split('.').all(is_label) {
                true => Ok(name.to_owned()),
                false => Err(format!(
                    "{name:?} is not a name in certificates, such as \"client\" or \
                     \"client.default.zino\""
                )),
            };
            read_texts(value)?.into_iter().map(check).collect()
        })
        .map(Self)
    }
}
