//! Our certificate, its key and the authority we trust, as they are in use until SIGHUP.

use std::fs::Metadata;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::sync::watch;

use super::certificate::{Certificate, Damaged};
use crate::config::Config;
use crate::config::network::{Tls, TlsFiles};

/// The longest file of certificates or of a key.
///
/// Limit: a larger certificate or key file is refused.
pub(crate) const MAX_CERTIFICATE_BYTES: u64 = 1 << 20;

/// Bits of a file's mode that let others read or change it.
const OTHERS: u32 = 0o077;

/// The bit that lets the group read it.
const GROUP_READS: u32 = 0o040;

/// What TLS connections are made with.
pub struct Identity {
    /// Our own certificate.
    pub certificate: Certificate,
    pub(crate) server: Arc<ServerConfig>,
    pub(crate) client: Arc<ClientConfig>,
}

/// Why the files of `[tls]` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(
        "{} can be read by others (mode {mode:03o}): run chmod 600 {}",
        .path.display(), .path.display()
    )]
    Exposed { path: PathBuf, mode: u32 },
    #[error("{} has no certificate in PEM form", .0.display())]
    NoCertificate(PathBuf),
    #[error("{} has no private key in PEM form", .0.display())]
    NoKey(PathBuf),
    #[error("{}: {source}", .path.display())]
    Damaged { path: PathBuf, source: Damaged },
    #[error("{} is not the key of {}", .key.display(), .certificate.display())]
    KeyMismatch { key: PathBuf, certificate: PathBuf },
    #[error("{}: {source}", .path.display())]
    Unusable {
        path: PathBuf,
        source: rustls::Error,
    },
}

impl Identity {
    /// Reads the three files.
    pub fn read(files: TlsFiles<'_>) -> Result<Self, IdentityError> {
        let chain = read_certificates(files.certificate)?;
        let own = chain
            .first()
            .ok_or_else(|| IdentityError::NoCertificate(files.certificate.to_owned()))?;
        let certificate = own_certificate(files.certificate, own)?;
        let key = read_key(files.key)?;
        let authority = Arc::new(read_authority(files.ca)?);
        let unusable = |source| match source {
            rustls::Error::InconsistentKeys(_) => IdentityError::KeyMismatch {
                key: files.key.to_owned(),
                certificate: files.certificate.to_owned(),
            },
            source => IdentityError::Unusable {
                path: files.certificate.to_owned(),
                source,
            },
        };
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(
            Arc::clone(&authority),
            Arc::clone(&provider),
        )
        .build()
        .map_err(|error| IdentityError::Unusable {
            path: files.ca.to_owned(),
            source: rustls::Error::General(error.to_string()),
        })?;
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(unusable)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain.clone(), key.clone_key())
            .map_err(unusable)?;
        // Every connection shows its certificate: a resumed one would not.
        server.send_tls13_tickets = 0;
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(unusable)?
            .with_root_certificates(authority)
            .with_client_auth_cert(chain, key)
            .map_err(unusable)?;
        client.resumption = Resumption::disabled();
        Ok(Self {
            certificate,
            server: Arc::new(server),
            client: Arc::new(client),
        })
    }
}

/// Decodes a certificate that was read from `path`.
pub(crate) fn own_certificate(
    path: &Path,
    der: &CertificateDer<'_>,
) -> Result<Certificate, IdentityError> {
    Certificate::decode(der).map_err(|source| IdentityError::Damaged {
        path: path.to_owned(),
        source,
    })
}

/// Whether the key belongs to the certificate.
pub(crate) fn is_key_of(
    certificate: &CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
) -> bool {
    let provider = ring::default_provider();
    CertifiedKey::from_der(vec![certificate.clone()], key, &provider).is_ok()
}

/// Reads all certificates of a PEM file.
pub fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    let none = || IdentityError::NoCertificate(path.to_owned());
    let text = zot_files::read_existing(path, MAX_CERTIFICATE_BYTES).map_err(|source| {
        IdentityError::Unreadable {
            path: path.to_owned(),
            source,
        }
    })?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|_| none())?;
    match certificates.is_empty() {
        true => Err(none()),
        false => Ok(certificates),
    }
}

/// Returns the mode of a key that others can read or change. One of root's that our group may read is not
/// such a key: that is how Kubernetes passes secrets to processes of other users.
pub(crate) fn exposed_mode(metadata: &Metadata) -> Option<u32> {
    let mode = metadata.permissions().mode() & 0o777;
    let is_passed_by_root = metadata.uid() == 0
        && !rustix::process::geteuid().is_root()
        && mode & OTHERS == GROUP_READS;
    (mode & OTHERS != 0 && !is_passed_by_root).then_some(mode)
}

/// Reads a key that nobody else can read.
pub fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, IdentityError> {
    let unreadable = |source| IdentityError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let file = zot_files::open_existing(path).map_err(unreadable)?;
    // Of the file that was opened: another one may have its name by now.
    if let Some(mode) = exposed_mode(&file.metadata().map_err(unreadable)?) {
        return Err(IdentityError::Exposed {
            path: path.to_owned(),
            mode,
        });
    }
    let mut text = Vec::new();
    file.take(MAX_CERTIFICATE_BYTES)
        .read_to_end(&mut text)
        .map_err(unreadable)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|_| IdentityError::NoKey(path.to_owned()))
}

fn read_authority(path: &Path) -> Result<RootCertStore, IdentityError> {
    let mut store = RootCertStore::empty();
    for certificate in read_certificates(path)? {
        store
            .add(certificate)
            .map_err(|source| IdentityError::Unusable {
                path: path.to_owned(),
                source,
            })?;
    }
    Ok(store)
}

/// The identity in use, shared by all connections of the process.
#[derive(Clone)]
pub struct LiveIdentity {
    current: Arc<watch::Sender<Arc<Identity>>>,
    settings: Arc<Tls>,
}

impl LiveIdentity {
    /// Reads the files of `[tls]`, if an address uses TLS.
    pub fn of(config: &Config) -> Result<Option<Self>, IdentityError> {
        let files = config.tls.files().filter(|_| config.uses_tls());
        let Some(files) = files else {
            return Ok(None);
        };
        let (current, _) = watch::channel(Arc::new(Identity::read(files)?));
        Ok(Some(Self {
            current: Arc::new(current),
            settings: Arc::new(config.tls.clone()),
        }))
    }

    pub fn current(&self) -> Arc<Identity> {
        Arc::clone(&self.current.borrow())
    }

    /// Follows the identity: a connection made with an earlier one is not used for long.
    pub(crate) fn follow(&self) -> watch::Receiver<Arc<Identity>> {
        self.current.subscribe()
    }

    /// The name in the certificate of a service.
    pub fn certificate_name(&self, service: &str) -> String {
        self.settings.certificate_name(service)
    }

    /// Reads the files again. If they cannot be used the present identity stays.
    pub fn reload(&self) -> Result<(), IdentityError> {
        if let Some(files) = self.settings.files() {
            self.current.send_replace(Arc::new(Identity::read(files)?));
        }
        Ok(())
    }
}
