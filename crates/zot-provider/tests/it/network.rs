//! Proxies, certificates of one's own, and the probe, over loopback.

mod certificates;
mod probing;
mod proxies;

use std::future::poll_fn;
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use zot_conversation::{Message, Model, ModelError, ModelEvent, ModelRequest, Sampling, Timestamp};
use zot_provider::network::NetworkSettings;
use zot_provider::{Endpoint, HttpClient, OpenAiClient, OpenAiQuirks, Timeouts};

/// A name that no resolver knows: only a proxy can lead there.
const FAR_HOST: &str = "model.test";

fn settings(variables: &[(&str, &str)]) -> NetworkSettings {
    NetworkSettings::read(&|name| {
        let found = variables.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

fn endpoint(base_url: &str) -> Endpoint {
    Endpoint {
        provider: "openai".to_owned(),
        base_url: base_url.to_owned(),
        api_key: Some("sk-network-key".into()),
    }
}

fn client(base_url: &str, variables: &[(&str, &str)]) -> OpenAiClient {
    let http = HttpClient::with_network(Timeouts::default(), settings(variables));
    OpenAiClient::new(http, endpoint(base_url), OpenAiQuirks::COMPATIBLE)
}

/// What the model says, or what went wrong.
async fn ask(client: &OpenAiClient) -> Result<String, ModelError> {
    let messages = [Arc::new(Message::user_text("hi", Timestamp::UNIX_EPOCH))];
    let mut stream = client.stream(ModelRequest {
        model: "m",
        system: "",
        messages: &messages,
        tools: &[],
        reasoning: None,
        max_output: 10,
        sampling: Sampling::default(),
    });
    let mut text = String::new();
    while let Some(event) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
        if let ModelEvent::TextDelta(delta) = event? {
            text.push_str(&delta);
        }
    }
    Ok(text)
}

async fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// Reads up to the empty line after a head.
async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// Takes one request and says `text`; returns the request's head.
async fn answer(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), text: &str) -> String {
    let head = read_head(stream).await;
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    stream.read_exact(&mut body).await.unwrap();
    let events = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":\"stop\"}}]}}\n\n\
         data: [DONE]\n\n"
    );
    let length = events.len();
    let response = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{events}");
    stream.write_all(response.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    head
}

/// A certificate authority that only its own file vouches for.
struct Authority {
    directory: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut parameters = CertificateParams::new(Vec::<String>::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let issuer = CertifiedIssuer::self_signed(parameters, key).unwrap();
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { directory, issuer }
    }

    /// The file with its certificate.
    fn file(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// What makes a server `host`.
    fn acceptor(&self, host: &str) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let parameters = CertificateParams::new(vec![host.to_owned()]).unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

/// Opens one tunnel, whatever it is asked for, to `port`; returns what it was asked.
async fn open_tunnel(client: &mut (impl AsyncRead + AsyncWrite + Unpin), port: u16) -> String {
    let head = read_head(client).await;
    client
        .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
        .await
        .unwrap();
    client.flush().await.unwrap();
    let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    // Either side may close without ceremony.
    let _ = tokio::io::copy_bidirectional(client, &mut server).await;
    head
}
