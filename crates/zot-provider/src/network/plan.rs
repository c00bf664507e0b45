//! Which hosts would be contacted.

use std::fmt;
use std::path::PathBuf;

use http::Uri;

use super::{NetworkSettings, Route};
use crate::endpoint::Endpoint;
use crate::providers::Wire;

/// How one provider is reached. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub provider: String,
    /// The base URL without user information.
    pub base_url: String,
    /// Where requests for the model are sent, if the model is known.
    pub request_url: Option<String>,
    pub host: String,
    pub port: u16,
    /// Whether the connection is encrypted.
    pub secure: bool,
    /// The proxy, if any: the only host that is contacted; it contacts `host`.
    pub proxy: Option<PlannedProxy>,
    /// Why a proxy that is set is not used.
    pub bypass: Option<Bypass>,
    /// The certificates that are trusted; empty where nothing is encrypted.
    pub certificates: Vec<CertificateSource>,
    /// Where the key comes from, for example `$OPENAI_API_KEY`; never the key.
    pub key_source: Option<String>,
    pub(super) uri: Uri,
}

/// The proxy in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedProxy {
    /// Without user information.
    pub address: String,
    /// The environment variable that names it.
    pub variable: &'static str,
    pub sends_credentials: bool,
    pub(super) host: String,
    pub(super) port: u16,
}

/// Why a proxy is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bypass {
    /// The server is on this machine.
    Loopback,
    /// The environment variable of this name excludes the host.
    Excluded(&'static str),
}

/// Certificates that are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CertificateSource {
    /// The system's store.
    System,
    /// The public authorities built into the program.
    BuiltIn,
    /// A file or directory, and the environment variable that names it.
    Named {
        variable: &'static str,
        path: PathBuf,
    },
}

/// Why no host can be contacted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("{provider}: the base URL cannot be used: {reason}")]
    BaseUrl { provider: String, reason: String },
    #[error("{0}")]
    Proxy(String),
}

impl Plan {
    /// Returns what a client of `endpoint` contacts. `key_source` is where its key comes from.
    pub fn new(
        endpoint: &Endpoint,
        key_source: Option<&str>,
        network: &NetworkSettings,
    ) -> Result<Self, PlanError> {
        let unusable = |reason| PlanError::BaseUrl {
            provider: endpoint.provider.clone(),
            reason,
        };
        let base_url = endpoint.shown_url(&endpoint.base_uri().map_err(unusable)?);
        // User information plays no role below.
        let uri: Uri = base_url
            .parse()
            .map_err(|error| unusable(format!("{error}")))?;
        let secure = uri.scheme_str() == Some("https");
        let (proxy, bypass) = match network.route(&uri) {
            Ok(Route::Direct(bypass)) => (None, bypass),
            Ok(Route::Through(proxy)) => {
                let planned = PlannedProxy {
                    address: proxy.shown(),
                    variable: proxy.variable,
                    sends_credentials: proxy.authorization.is_some(),
                    host: host(&proxy.uri),
                    port: port(&proxy.uri),
                };
                (Some(planned), None)
            }
            Err(error) => return Err(PlanError::Proxy(error.to_string())),
        };
        let encrypts = secure
            || proxy
                .as_ref()
                .is_some_and(|proxy| proxy.address.starts_with("https:"));
        Ok(Self {
            provider: endpoint.provider.clone(),
            base_url,
            request_url: None,
            host: host(&uri),
            port: port(&uri),
            secure,
            proxy,
            bypass,
            certificates: match encrypts {
                true => certificates(network),
                false => Vec::new(),
            },
            key_source: key_source.map(ToOwned::to_owned),
            uri,
        })
    }

    /// Adds the address of requests for `model` on that wire.
    pub fn for_requests(mut self, wire: Wire, endpoint: &Endpoint, model: &str) -> Self {
        self.request_url = wire.request_url(endpoint, model).ok();
        self
    }

    /// Returns the one host and port that this machine connects to.
    pub fn first_hop(&self) -> (&str, u16) {
        match &self.proxy {
            Some(proxy) => (&proxy.host, proxy.port),
            None => (&self.host, self.port),
        }
    }
}

fn certificates(network: &NetworkSettings) -> Vec<CertificateSource> {
    let mut sources = Vec::new();
    if let Some((variable, path)) = network.certificate_file() {
        let path = path.to_owned();
        sources.push(CertificateSource::Named { variable, path });
    }
    if let Some((variable, directories)) = network.certificate_directories() {
        let named = directories
            .into_iter()
            .map(|path| CertificateSource::Named { variable, path });
        sources.extend(named);
    }
    sources.push(match sources.is_empty() {
        true => CertificateSource::System,
        false => CertificateSource::BuiltIn,
    });
    if let Some((variable, path)) = network.extra_certificates() {
        let path = path.to_owned();
        sources.push(CertificateSource::Named { variable, path });
    }
    sources
}

/// Returns the host for a name lookup: an IPv6 address without its brackets.
fn host(uri: &Uri) -> String {
    let host = uri.host().unwrap_or_default();
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .to_owned()
}

fn port(uri: &Uri) -> u16 {
    let usual = match uri.scheme_str() {
        Some("https") => 443,
        _ => 80,
    };
    uri.port_u16().unwrap_or(usual)
}

impl fmt::Display for Plan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encryption = match self.secure {
            true => "TLS",
            false => "not encrypted",
        };
        writeln!(
            formatter,
            "provider      {} ({})",
            self.provider, self.base_url
        )?;
        if let Some(url) = &self.request_url {
            writeln!(formatter, "requests      POST {url}")?;
        }
        writeln!(
            formatter,
            "server        {}:{} ({encryption})",
            self.host, self.port
        )?;
        match (&self.proxy, &self.bypass) {
            (Some(proxy), _) => writeln!(formatter, "proxy         {proxy}")?,
            (None, Some(bypass)) => writeln!(formatter, "proxy         none: {bypass}")?,
            (None, None) => writeln!(formatter, "proxy         none")?,
        }
        for source in &self.certificates {
            writeln!(formatter, "certificates  {source}")?;
        }
        let key = self.key_source.as_deref().unwrap_or("none");
        write!(formatter, "key           {key}")
    }
}

impl fmt::Display for PlannedProxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({}", self.address, self.variable)?;
        match self.sends_credentials {
            true => formatter.write_str(", with credentials)"),
            false => formatter.write_str(")"),
        }
    }
}

impl fmt::Display for Bypass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loopback => formatter.write_str("a loopback address"),
            Self::Excluded(variable) => write!(formatter, "excluded by {variable}"),
        }
    }
}

impl fmt::Display for CertificateSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => formatter.write_str("the system's"),
            Self::BuiltIn => formatter.write_str("public authorities, built in"),
            Self::Named { variable, path } => write!(formatter, "{} ({variable})", path.display()),
        }
    }
}

#[cfg(test)]
mod tests;
