//! Services on TLS, and a client that keeps its connections.

use std::collections::HashMap;
use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use zino::kind::ServiceKind;

use super::{Frames, read_frame};
use crate::authority::{Authority, TLS};
use crate::installation::Installation;
use crate::stack::TEST_TIMEOUT;

type Stream = StreamOwned<ClientConnection, TcpStream>;

/// What a service sends while it has nothing else to say.
const BEAT: &[u8] = br#"{"type":"beat"}"#;

/// The addresses of all services, and what the client needs to call them.
pub(super) struct Network {
    ports: HashMap<ServiceKind, u16>,
    config: Arc<ClientConfig>,
}

/// Calls services over connections that are kept.
pub(super) struct Client<'a> {
    network: &'a Network,
    kept: HashMap<ServiceKind, Stream>,
}

impl Network {
    /// Adds addresses and certificates to an installation: every service is called over TLS.
    pub(super) fn add_to(installation: &Installation) -> Self {
        let listeners = ServiceKind::ALL.map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        let ports = listeners.map(|listener| listener.local_addr().unwrap().port());
        let ports: HashMap<_, _> = ServiceKind::ALL.into_iter().zip(ports).collect();
        let addresses: String = ServiceKind::ALL
            .map(|kind| format!("{} = \"tls://127.0.0.1:{}\"\n", kind.name(), ports[&kind]))
            .concat();
        let path = installation.path("ZINO.toml");
        let text = fs::read_to_string(&path).unwrap();
        let more = format!("{TLS}[listen]\n{addresses}[peers]\n{addresses}");
        fs::write(path, text + &more).unwrap();
        // The client uses the services' certificate, which may call all of them.
        let names = ServiceKind::ALL.map(ServiceKind::name);
        Authority::new().equip(installation, &[&names[..], &["client"]].concat());
        Self {
            ports,
            config: Arc::new(client_config(installation)),
        }
    }

    pub(super) fn client(&self) -> Client<'_> {
        Client {
            network: self,
            kept: HashMap::new(),
        }
    }

    fn connect(&self, kind: ServiceKind) -> Stream {
        let tcp = TcpStream::connect((Ipv4Addr::LOCALHOST, self.ports[&kind])).unwrap();
        tcp.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        tcp.set_nodelay(true).unwrap();
        let name = ServerName::try_from(format!("{}.default.zino", kind.name())).unwrap();
        let connection = ClientConnection::new(Arc::clone(&self.config), name).unwrap();
        StreamOwned::new(connection, tcp)
    }
}

/// Reads what the services use.
fn client_config(installation: &Installation) -> ClientConfig {
    let certificates = |name: &str| {
        let certificates = CertificateDer::pem_file_iter(installation.path(name)).unwrap();
        certificates.collect::<Result<Vec<_>, _>>().unwrap()
    };
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates("certs/ca.pem"));
    let key = PrivateKeyDer::from_pem_file(installation.path("certs/own.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(certificates("certs/own.pem"), key)
        .unwrap()
}

impl Client<'_> {
    /// Sends a request and returns the frames of its response, without beats.
    pub(super) fn call(&mut self, kind: ServiceKind, request: &[u8]) -> Frames {
        // A service closes the connection after a request that it could not read.
        if let Some(stream) = self.kept.remove(&kind)
            && let Some(frames) = self.exchange(kind, stream, request)
        {
            return frames;
        }
        let stream = self.network.connect(kind);
        self.exchange(kind, stream, request).unwrap()
    }

    /// Returns `None` if the connection was closed before the first frame.
    fn exchange(
        &mut self,
        kind: ServiceKind,
        mut stream: Stream,
        request: &[u8],
    ) -> Option<Frames> {
        stream.write_all(request).ok()?;
        let mut frames = Vec::new();
        loop {
            match read_frame(&mut stream) {
                Some(frame) if frame.is_empty() => {
                    self.kept.insert(kind, stream);
                    return Some(frames);
                }
                Some(frame) if frame == BEAT => {}
                Some(frame) => frames.push(frame),
                None if frames.is_empty() => return None,
                None => panic!("{kind:?}: the response has no end: {frames:?}"),
            }
        }
    }
}
