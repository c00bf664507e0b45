//! TLS, set up when it is first needed: reading a certificate store takes tens of milliseconds.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use rustls::{ClientConfig, RootCertStore};
use rustls_native_certs::load_certs_from_paths;

use crate::network::NetworkSettings;

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub(super) enum TlsError {
    #[error("cannot load certificates: {0}")]
    Load(#[from] tokio::task::JoinError),
    #[error("cannot set up TLS: {0}")]
    Configure(#[from] rustls::Error),
    #[error("cannot read the certificates in {} ({variable}): {problem}", .path.display())]
    Unreadable {
        variable: &'static str,
        path: PathBuf,
        problem: pem::Error,
    },
    #[error(
        "no certificate in {} ({variable}): name a PEM file, or unset the variable",
        .path.display()
    )]
    Missing {
        variable: &'static str,
        path: PathBuf,
    },
}

pub(super) async fn client_config(network: NetworkSettings) -> Result<Arc<ClientConfig>, TlsError> {
    let config = tokio::task::spawn_blocking(move || config(&network)).await??;
    Ok(Arc::new(config))
}

fn config(network: &NetworkSettings) -> Result<ClientConfig, TlsError> {
    let mut roots = RootCertStore::empty();
    let named = add_named(&mut roots, network)?;
    if !named {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    // A file named by the user adds to the public authorities instead of replacing them, and a
    // system without a certificate store still reaches every provider.
    if named || roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    if let Some((variable, path)) = network.extra_certificates() {
        add_extra(&mut roots, variable, path)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// Adds the certificates that replace the system's store and returns whether there are any. As
/// elsewhere, unreadable ones are skipped; it is an error only when none is left.
fn add_named(roots: &mut RootCertStore, network: &NetworkSettings) -> Result<bool, TlsError> {
    let mut stores = Vec::new();
    if let Some((variable, path)) = network.certificate_file() {
        let found = load_certs_from_paths(Some(path), None);
        stores.push((variable, path.to_owned(), found));
    }
    if let Some((variable, directories)) = network.certificate_directories() {
        for path in directories {
            let found = load_certs_from_paths(None, Some(&path));
            stores.push((variable, path, found));
        }
    }
    let mut nothing_in = None;
    for (variable, path, found) in stores {
        roots.add_parsable_certificates(found.certs);
        nothing_in = nothing_in.or(Some((variable, path)));
    }
    match nothing_in {
        Some((variable, path)) if roots.is_empty() => Err(TlsError::Missing { variable, path }),
        named => Ok(named.is_some()),
    }
}

/// Adds the certificates of a file that the user named: all of them must be valid.
fn add_extra(
    roots: &mut RootCertStore,
    variable: &'static str,
    path: &Path,
) -> Result<(), TlsError> {
    let unreadable = |problem| TlsError::Unreadable {
        variable,
        path: path.to_owned(),
        problem,
    };
    let before = roots.len();
    for certificate in CertificateDer::pem_file_iter(path).map_err(unreadable)? {
        roots.add(certificate.map_err(unreadable)?)?;
    }
    match roots.len() == before {
        true => Err(TlsError::Missing {
            variable,
            path: path.to_owned(),
        }),
        false => Ok(()),
    }
}

/// Returns whether the handshake was refused, as opposed to a connection that broke.
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
