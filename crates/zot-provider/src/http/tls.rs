//! TLS, set up when it is first needed: reading a certificate store takes tens of milliseconds.

use std::error::Error;
use std::io;
use std::sync::Arc;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::{ClientConfig, RootCertStore};

/// Environment variables that replace the system's certificate store.
const CERTIFICATE_VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// TLS that cannot be set up.
#[derive(Debug, thiserror::Error)]
pub(super) enum TlsError {
    #[error("cannot load certificates: {0}")]
    Load(#[from] tokio::task::JoinError),
    #[error("cannot set up TLS: {0}")]
    Configure(#[from] rustls::Error),
}

pub(super) async fn connector(
    plain: HttpConnector,
) -> Result<HttpsConnector<HttpConnector>, TlsError> {
    let config = tokio::task::spawn_blocking(config).await??;
    Ok(HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_only()
        .enable_http1()
        .wrap_connector(plain))
}

fn config() -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    // A file named by the user adds to the public authorities instead of replacing them, and a
    // system without a certificate store still reaches every provider.
    let replaced = CERTIFICATE_VARIABLES
        .iter()
        .any(|name| std::env::var_os(name).is_some());
    if replaced || roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// Whether the handshake was refused, as opposed to a connection that broke.
pub(super) fn is_refusal(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<rustls::Error>() {
            return true;
        }
        // The `source` of an `io::Error` skips the error it wraps.
        let wrapped = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
            .map(|wrapped| wrapped as &(dyn Error + 'static));
        cause = wrapped.or_else(|| error.source());
    }
    false
}

#[cfg(test)]
mod tests;
