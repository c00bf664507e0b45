//! Proxies and certificates from the environment.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::Matcher;

use super::Bypass;

/// Proxies and certificate files, as environment variables name them.
///
/// Not `Debug`: the address of a proxy may hold a password.
#[derive(Clone, Default)]
pub struct NetworkSettings {
    http_proxy: Option<Setting>,
    https_proxy: Option<Setting>,
    no_proxy: Option<Setting>,
    certificate_file: Option<Setting>,
    certificate_directories: Option<Setting>,
    extra_certificates: Option<Setting>,
}

#[derive(Clone)]
struct Setting {
    variable: &'static str,
    value: String,
}

/// How a server is reached.
pub(crate) enum Route {
    Direct(Option<Bypass>),
    Through(Proxy),
}

/// The proxy that a connection uses.
#[derive(Clone)]
pub(crate) struct Proxy {
    /// Without user information.
    pub(crate) uri: Uri,
    pub(crate) authorization: Option<HeaderValue>,
    /// The variable that names it.
    pub(crate) variable: &'static str,
}

/// A proxy variable with an unusable value. Bypassing the proxy might reveal what it is meant to
/// hide, so this is an error. The value is not shown: it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProxyError {
    #[error("{variable} is not the address of a proxy: write it like http://host:port or unset it")]
    Malformed { variable: &'static str },
    #[error(
        "{variable} names a {scheme} proxy, which is not supported: use one with http:// or https://"
    )]
    Unsupported {
        variable: &'static str,
        scheme: String,
    },
}

impl NetworkSettings {
    /// Reads the settings from the environment of this process.
    pub fn from_environment() -> Self {
        Self::read(&|name| std::env::var(name).ok())
    }

    /// Reads the settings from `environment`. An upper-case variable takes precedence over its
    /// lower-case form; an empty one counts as not set.
    pub fn read(environment: &dyn Fn(&str) -> Option<String>) -> Self {
        let first = |variables: &[&'static str]| {
            variables.iter().find_map(|&variable| {
                let value = environment(variable)?.trim().to_owned();
                (!value.is_empty()).then_some(Setting { variable, value })
            })
        };
        // Under CGI the server sets HTTP_PROXY to the client's `Proxy` header, which is not
        // trusted.
        let http_variables: &[&'static str] = match environment("REQUEST_METHOD") {
            Some(_) => &["http_proxy"],
            None => &["HTTP_PROXY", "http_proxy"],
        };
        let all = first(&["ALL_PROXY", "all_proxy"]);
        Self {
            http_proxy: first(http_variables).or_else(|| all.clone()),
            https_proxy: first(&["HTTPS_PROXY", "https_proxy"]).or(all),
            no_proxy: first(&["NO_PROXY", "no_proxy"]),
            certificate_file: first(&["SSL_CERT_FILE"]),
            certificate_directories: first(&["SSL_CERT_DIR"]),
            extra_certificates: first(&["ZOT_EXTRA_CA_CERTS"]),
        }
    }

    /// Returns how `target` is reached. Loopback addresses are never reached through a proxy.
    pub(crate) fn route(&self, target: &Uri) -> Result<Route, ProxyError> {
        let proxy = match target.scheme_str() {
            Some("https") => &self.https_proxy,
            _ => &self.http_proxy,
        };
        let Some(Setting { variable, value }) = proxy else {
            return Ok(Route::Direct(None));
        };
        if is_loopback(target.host().unwrap_or_default()) {
            return Ok(Route::Direct(Some(Bypass::Loopback)));
        }
        if let Some(excluded) = &self.no_proxy {
            let matcher = Matcher::builder().all("http://proxy").no(&excluded.value);
            if matcher.build().intercept(target).is_none() {
                return Ok(Route::Direct(Some(Bypass::Excluded(excluded.variable))));
            }
        }
        let matched = Matcher::builder().all(value.as_str()).build();
        let matched = matched
            .intercept(target)
            .ok_or(ProxyError::Malformed { variable })?;
        match matched.uri().scheme_str() {
            Some("http" | "https") => Ok(Route::Through(Proxy {
                uri: matched.uri().clone(),
                authorization: matched.basic_auth().cloned(),
                variable,
            })),
            scheme => Err(ProxyError::Unsupported {
                variable,
                scheme: scheme.unwrap_or_default().to_owned(),
            }),
        }
    }

    /// Returns the file that replaces the system's certificates, and the variable that names it.
    pub(crate) fn certificate_file(&self) -> Option<(&'static str, &Path)> {
        self.certificate_file.as_ref().map(Setting::path)
    }

    /// Returns the directories that replace the system's certificates, and the variable that names
    /// them.
    pub(crate) fn certificate_directories(&self) -> Option<(&'static str, Vec<PathBuf>)> {
        let setting = self.certificate_directories.as_ref()?;
        let directories = std::env::split_paths(&setting.value).collect();
        Some((setting.variable, directories))
    }

    /// Returns the file whose certificates are trusted as well, and the variable that names it.
    pub(crate) fn extra_certificates(&self) -> Option<(&'static str, &Path)> {
        self.extra_certificates.as_ref().map(Setting::path)
    }
}

impl Setting {
    fn path(&self) -> (&'static str, &Path) {
        (self.variable, Path::new(&self.value))
    }
}

impl Proxy {
    /// Returns the address without credentials.
    pub(crate) fn shown(&self) -> String {
        let scheme = self.uri.scheme_str().unwrap_or_default();
        let authority = self.uri.authority().map_or("", |part| part.as_str());
        format!("{scheme}://{authority}")
    }
}

/// Returns whether `host`, in the form used in addresses, is this machine.
fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests;
