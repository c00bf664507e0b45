//! TLS for tokio-postgres. Whenever TLS is used, the server's certificate is verified.

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName, pem};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use zot_conversation::BoxFuture;

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read the certificates in {} ([store] ca): {problem}", .path.display())]
    Unreadable { path: PathBuf, problem: pem::Error },
    #[error("no certificate in {} ([store] ca)", .0.display())]
    Missing(PathBuf),
    #[error("the system has no certificates: name the database's authority in [store] ca")]
    NoSystemCertificates,
    #[error("cannot set up TLS: {0}")]
    Configure(#[from] rustls::Error),
}

/// Why the server was refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HandshakeError {
    #[error("{0:?} cannot be a name in a certificate")]
    Name(String, #[source] InvalidDnsNameError),
    #[error("its certificate is from another authority than [store] ca or the system's")]
    OtherAuthority,
    #[error("its certificate is not for {0}")]
    OtherName(String),
    #[error("its certificate has expired or is not yet valid")]
    NotValidNow,
    #[error("{0}")]
    Other(io::Error),
}

/// Starts TLS on connections to the database.
#[derive(Clone)]
pub(crate) struct Connector(Arc<ClientConfig>);

impl Connector {
    /// Trusts the authorities of a file, or else those of the system. Blocks.
    pub(crate) fn trusting(authority: Option<&Path>) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        match authority {
            Some(path) => {
                let unreadable = |problem| TlsError::Unreadable {
                    path: path.to_owned(),
                    problem,
                };
                for certificate in CertificateDer::pem_file_iter(path).map_err(unreadable)? {
                    roots.add(certificate.map_err(unreadable)?)?;
                }
                if roots.is_empty() {
                    return Err(TlsError::Missing(path.to_owned()));
                }
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                if roots.is_empty() {
                    return Err(TlsError::NoSystemCertificates);
                }
            }
        }
        Self::with_roots(roots)
    }

    /// For connections without TLS: trusts nobody.
    pub(crate) fn unused() -> Result<Self, TlsError> {
        Self::with_roots(RootCertStore::empty())
    }

    fn with_roots(roots: RootCertStore) -> Result<Self, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

impl MakeTlsConnect<Socket> for Connector {
    type Stream = Encrypted;
    type TlsConnect = Handshake;
    type Error = Infallible;

    /// Also called for connections without TLS, and for hosts without a name.
    fn make_tls_connect(&mut self, domain: &str) -> Result<Handshake, Infallible> {
        Ok(Handshake {
            connector: TlsConnector::from(Arc::clone(&self.0)),
            host: domain.to_owned(),
        })
    }
}

/// A handshake with one host.
pub(crate) struct Handshake {
    connector: TlsConnector,
    host: String,
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Encrypted;
    type Error = HandshakeError;
    type Future = BoxFuture<'static, Result<Encrypted, HandshakeError>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(self.host.clone())
                .map_err(|source| HandshakeError::Name(self.host.clone(), source))?;
            match self.connector.connect(name, stream).await {
                Ok(stream) => Ok(Encrypted(stream)),
                Err(error) => Err(named(error, self.host)),
            }
        })
    }
}

fn named(error: io::Error, host: String) -> HandshakeError {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    match cause {
        Some(rustls::Error::InvalidCertificate(problem)) => match problem {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                HandshakeError::OtherAuthority
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                HandshakeError::OtherName(host)
            }
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => HandshakeError::NotValidNow,
            _ => HandshakeError::Other(error),
        },
        _ => HandshakeError::Other(error),
    }
}

/// An encrypted connection.
pub(crate) struct Encrypted(TlsStream<Socket>);

impl tokio_postgres::tls::TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
