//! Addresses of servers: their origin, and what they refer to.

use http::Uri;

use crate::configuration::redaction;

/// An address that cannot be used, as it may be shown: variables in it may have held a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected an http or https address, got {0:?}")]
pub struct InvalidAddress(pub String);

/// Checks that `text` is an absolute http or https address without a fragment.
pub(crate) fn parse(text: &str) -> Result<Uri, InvalidAddress> {
    let invalid = || InvalidAddress(redaction::url(text));
    if text.contains('#') {
        return Err(invalid());
    }
    let uri: Uri = text.parse().map_err(|_| invalid())?;
    match (uri.scheme_str(), uri.host()) {
        (Some("http" | "https"), Some(host)) if !host.is_empty() => Ok(uri),
        _ => Err(invalid()),
    }
}

/// Returns scheme, host and port, in lower case and without a default port.
pub(crate) fn origin(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or_default();
    let host = uri.host().unwrap_or_default().to_ascii_lowercase();
    let port = uri
        .port_u16()
        .filter(|port| !matches!((scheme, port), ("http", 80) | ("https", 443)));
    match port {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    }
}

/// Returns whether `uri` is on this machine, where plain HTTP is as good as TLS.
pub(crate) fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address
            .parse()
            .is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

/// Resolves a reference that a document at `base` contains (RFC 3986, without dot segments).
pub(crate) fn resolve(base: &Uri, reference: &str) -> Result<Uri, InvalidAddress> {
    if reference.contains("://") {
        return parse(reference);
    }
    let origin = origin(base);
    let path = base.path();
    let whole = match reference.as_bytes() {
        [b'/', b'/', ..] => format!("{}:{reference}", base.scheme_str().unwrap_or_default()),
        [b'/', ..] => format!("{origin}{reference}"),
        [b'?', ..] => format!("{origin}{path}{reference}"),
        [] => format!("{origin}{path}"),
        _ => {
            let directory = path.rfind('/').and_then(|end| path.get(..=end));
            format!("{origin}{}{reference}", directory.unwrap_or("/"))
        }
    };
    parse(&whole)
}

#[cfg(test)]
mod tests;
