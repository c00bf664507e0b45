//! The proxy over real sockets: blocking clients and servers of the test, the proxy on a thread with a
//! current-thread runtime, and a network that the test can direct.

mod forwarding;
mod limits;
mod programs;
mod random;
mod refusals;
mod resolution;
mod tunnels;

use std::collections::HashMap;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use tokio::sync::oneshot;

use super::route::{Answer, Network};
use super::{ContactLog, Limits, Proxy, Shared};
use crate::sandbox::host::{ConnectRule, HostName};

/// Longer than anything takes that works.
const PATIENCE: Duration = Duration::from_secs(20);

/// A network whose names and addresses are those of the test. It notes what is asked of it.
#[derive(Debug, Default)]
struct TestNetwork {
    /// The answers for each name, in turn; the last one stays.
    names: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    /// Where connections really go. Loopback addresses are themselves.
    places: Mutex<HashMap<SocketAddr, SocketAddr>>,
    resolved: Mutex<Vec<String>>,
    connected: Mutex<Vec<SocketAddr>>,
}

impl TestNetwork {
    fn name(&self, name: &str, answers: &[&[&str]]) {
        let answers = answers.iter().map(|answer| {
            let addresses = answer.iter().map(|address| address.parse().unwrap());
            addresses.collect()
        });
        let mut names = self.names.lock().unwrap();
        names.insert(name.to_owned(), answers.collect());
    }

    fn place(&self, address: &str, real: SocketAddr) {
        let mut places = self.places.lock().unwrap();
        places.insert(address.parse().unwrap(), real);
    }

    fn resolved(&self) -> Vec<String> {
        self.resolved.lock().unwrap().clone()
    }

    fn connected(&self) -> Vec<String> {
        let connected = self.connected.lock().unwrap();
        connected.iter().map(ToString::to_string).collect()
    }
}

impl Network for Arc<TestNetwork> {
    fn resolve<'a>(&'a self, name: &'a HostName) -> Answer<'a, Vec<IpAddr>> {
        self.resolved.lock().unwrap().push(name.to_string());
        let mut names = self.names.lock().unwrap();
        let answer = names
            .get_mut(name.as_str())
            .map(|answers| match answers.len() {
                1 => answers[0].clone(),
                _ => answers.remove(0),
            });
        Box::pin(async move { answer.ok_or_else(|| io::ErrorKind::NotFound.into()) })
    }

    fn connect(&self, address: SocketAddr) -> Answer<'_, tokio::net::TcpStream> {
        self.connected.lock().unwrap().push(address);
        let place = self.places.lock().unwrap().get(&address).copied();
        Box::pin(async move {
            match place {
                Some(place) => tokio::net::TcpStream::connect(place).await,
                None if address.ip().is_loopback() => tokio::net::TcpStream::connect(address).await,
                None => Err(io::ErrorKind::ConnectionRefused.into()),
            }
        })
    }
}

/// A proxy on a thread of its own.
struct Running {
    proxy: Option<Proxy>,
    address: SocketAddr,
    log: ContactLog,
    network: Arc<TestNetwork>,
    runtime: tokio::runtime::Handle,
    _end: oneshot::Sender<()>,
}

fn rules(texts: &[&str]) -> Vec<ConnectRule> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn running(rules: &[&str]) -> Running {
    running_with(rules, Limits::default())
}

fn running_with(texts: &[&str], limits: Limits) -> Running {
    let network = Arc::new(TestNetwork::default());
    running_in(Box::new(Arc::clone(&network)), network, texts, limits)
}

fn running_in(
    proxys: Box<dyn Network>,
    network: Arc<TestNetwork>,
    texts: &[&str],
    limits: Limits,
) -> Running {
    let log = ContactLog::default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let handle = runtime.handle().clone();
    let shared = Shared {
        rules: RwLock::new(rules(texts).into()),
        log: log.clone(),
        network: proxys,
        limits,
    };
    let proxy = {
        let _inside = runtime.enter();
        Proxy::serve(listener, shared).unwrap()
    };
    let (end, ended) = oneshot::channel();
    std::thread::spawn(move || runtime.block_on(ended));
    Running {
        proxy: Some(proxy),
        address,
        log,
        network,
        runtime: handle,
        _end: end,
    }
}

impl Running {
    /// Sends `bytes` on a new connection.
    fn sent(&self, bytes: impl AsRef<[u8]>) -> TcpStream {
        let mut client = TcpStream::connect(self.address).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client.write_all(bytes.as_ref()).unwrap();
        client
    }

    /// Sends `bytes` and returns everything that comes back until the end.
    fn answer(&self, bytes: impl AsRef<[u8]>) -> String {
        rest(&mut self.sent(bytes))
    }

    /// Opens a tunnel to `target`, which must succeed.
    fn tunnel(&self, target: impl std::fmt::Display) -> TcpStream {
        let mut client = self.sent(format!(
            "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"
        ));
        let head = head(&mut client);
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        client
    }

    fn set_rules(&self, texts: &[&str]) {
        self.proxy.as_ref().unwrap().set_rules(rules(texts));
    }

    /// Returns each contact as text, with `+` if it was allowed and `-` if not.
    fn contacts(&self) -> Vec<String> {
        let sign = |is_allowed| if is_allowed { '+' } else { '-' };
        let contacts = self.log.all().into_iter();
        contacts
            .map(|contact| {
                let sign = sign(contact.is_allowed);
                format!("{sign}{}:{}", contact.host, contact.port)
            })
            .collect()
    }
}

/// Serves each connection to an own port with `serve`, on a thread each.
fn server(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let connection = connection.unwrap();
            connection.set_read_timeout(Some(PATIENCE)).unwrap();
            let serve = serve.clone();
            std::thread::spawn(move || serve(connection));
        }
    });
    address
}

/// Answers every request with `text` after its head.
fn greeter(text: &'static str) -> SocketAddr {
    server(move |mut connection| {
        head(&mut connection);
        let length = text.len();
        let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{text}");
        connection.write_all(response.as_bytes()).unwrap();
    })
}

/// Sends back what it gets, after the end of it.
fn echo() -> SocketAddr {
    server(|mut connection| {
        let bytes = all(&mut connection).unwrap();
        connection.write_all(&bytes).unwrap();
        connection.shutdown(Shutdown::Write).unwrap();
    })
}

/// Goes on sending a body after the response has come, as a program does that looks for it later.
fn keep_sending(client: &mut TcpStream) {
    client.peek(&mut [0]).unwrap();
    for _ in 0..5 {
        std::thread::sleep(Duration::from_millis(50));
        client.write_all(&[b'x'; 1000]).unwrap();
    }
}

/// Reads to the end of a head, and no further.
fn head(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte).unwrap() {
            0 => break,
            _ => bytes.push(byte[0]),
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn all(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn rest(stream: &mut TcpStream) -> String {
    String::from_utf8_lossy(&all(stream).unwrap()).into_owned()
}
