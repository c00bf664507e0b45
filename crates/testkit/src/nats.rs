//! A throw-away NATS server.

#[cfg(test)]
mod tests;

use std::collections::hash_map::RandomState;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::hash::BuildHasher as _;
use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nkeys::KeyPair;
use tempfile::TempDir;

use crate::guarded::{Guarded, find_program};
use crate::network::Host;

/// How long the server may take until it accepts connections.
const START_TIME: Duration = Duration::from_secs(60);

/// Below the ports of outgoing connections, so that none takes the port of a server that is stopped.
const PORTS: std::ops::Range<u16> = 10_240..32_000;

const POLL: Duration = Duration::from_millis(5);

/// How the server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NatsEnd {
    /// Asked to: it closes its connections.
    Stop,
    /// With SIGKILL.
    Kill,
}

/// A user of the server, known by the key.
#[derive(Debug, Clone)]
pub struct NkeyUser {
    pub key: Nkey,
    /// The text between the braces of `permissions` in `nats-server.conf`; `None`: everything is allowed.
    pub permissions: Option<String>,
}

/// A key pair of a user.
#[derive(Debug, Clone)]
pub struct Nkey {
    /// The secret part, for a file that `[bus] nkey` names.
    pub seed: String,
    /// What the server knows.
    pub public: String,
}

impl Nkey {
    /// Makes a new one.
    #[expect(
        clippy::new_without_default,
        reason = "every key is another, so none is the default"
    )]
    pub fn new() -> Self {
        let pair = KeyPair::new_user();
        Self {
            seed: pair.seed().expect("the seed of a new key"),
            public: pair.public_key(),
        }
    }

    /// Writes the seed to a file that only we may read.
    pub fn write(&self, path: &Path) {
        fs::write(path, &self.seed).expect("write a seed");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(path, mode).expect("protect a seed");
    }
}

/// A certificate for the server's address and its key, as PEM.
#[derive(Debug, Clone)]
pub struct NatsTls {
    pub certificate: String,
    pub key: String,
}

/// How to set up a server.
#[derive(Debug, Clone, Default)]
pub struct NatsOptions {
    /// Without users everybody may do everything.
    pub users: Vec<NkeyUser>,
    pub tls: Option<NatsTls>,
    pub max_payload: Option<usize>,
    pub ping_interval: Option<Duration>,
    pub ping_max: Option<usize>,
    /// Further lines of `nats-server.conf`.
    pub settings: String,
    /// Where it runs and listens; on 127.0.0.1 when absent.
    pub host: Option<Host>,
}

/// A server of its own, with a temporary directory. It ends, and the directory is removed, when it is
/// dropped, and also when the process is killed.
pub struct Nats {
    server: Option<Guarded>,
    directory: TempDir,
    program: PathBuf,
    options: NatsOptions,
    port: u16,
}

impl Nats {
    /// Starts a server on a free port of 127.0.0.1 where everybody may do everything.
    pub fn start() -> Self {
        Self::with(NatsOptions::default())
    }

    /// Starts a server; fails by name if it is not installed.
    pub fn with(options: NatsOptions) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("zot-nats-")
            .tempdir_in("/tmp")
            .expect("make a temporary directory");
        let mut nats = Self {
            server: None,
            directory,
            program: find_program("nats-server", "nats-server", &[]),
            options,
            port: 0,
        };
        let deadline = Instant::now() + START_TIME;
        loop {
            nats.port = nats.free_port();
            match nats.try_start() {
                Ok(()) => return nats,
                Err(problem) => nats.expect_taken_port(&problem, deadline),
            }
        }
    }

    /// Starts the server after [`Self::stop`] on the same port and waits until it accepts connections.
    pub fn start_again(&mut self) {
        assert!(self.server.is_none(), "the server is running");
        let deadline = Instant::now() + START_TIME;
        while let Err(problem) = self.try_start() {
            self.expect_taken_port(&problem, deadline);
            std::thread::sleep(POLL);
        }
    }

    /// Ends the server and waits for that.
    pub fn stop(&mut self, end: NatsEnd) {
        if let Some(server) = self.server.take() {
            server.end(match end {
                NatsEnd::Stop => "TERM",
                NatsEnd::Kill => "KILL",
            });
        }
    }

    /// Changes the configuration of a stopped server; [`Self::start_again`] applies it.
    pub fn configure(&mut self, change: impl FnOnce(&mut NatsOptions)) {
        assert!(self.server.is_none(), "the server is running");
        change(&mut self.options);
    }

    /// Returns the value for `[bus] url`.
    pub fn url(&self) -> String {
        let scheme = match self.options.tls {
            Some(_) => "tls",
            None => "nats",
        };
        format!("{scheme}://{}", self.address())
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        let host = self.options.host.as_ref();
        let address = host.map_or(Ipv4Addr::LOCALHOST, Host::address);
        SocketAddr::new(IpAddr::V4(address), self.port)
    }

    /// Returns the server's process id while it runs.
    pub fn pid(&self) -> Option<u32> {
        let text = fs::read_to_string(self.path().join("pid")).ok()?;
        self.server.as_ref()?;
        text.trim().parse().ok()
    }

    /// Returns the directory of its configuration and its log.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns what the server has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.path().join("log")).unwrap_or_default()
    }

    /// Starts the server; fails with its log, for example if the port is taken.
    fn try_start(&mut self) -> Result<(), String> {
        let configuration = self.path().join("nats-server.conf");
        fs::write(&configuration, self.configuration()).expect("configure the NATS server");
        let logged = self.log().len();
        let arguments = [OsStr::new("--config"), configuration.as_os_str()];
        let start = || {
            let shell = Command::new("sh");
            Guarded::start(shell, &self.program, &arguments, self.path(), "TERM")
        };
        let host = self.options.host.clone();
        let server = match &host {
            Some(host) => host.run(start),
            None => start(),
        };
        let deadline = Instant::now() + START_TIME;
        loop {
            let is_ready = match &host {
                Some(host) => host.run(|| self.is_ready()),
                None => self.is_ready(),
            };
            if is_ready {
                self.server = Some(server);
                return Ok(());
            }
            let log = self.log().split_off(logged);
            if log.contains("[FTL]") || log.contains("nats-server: ") || Instant::now() > deadline {
                return Err(log);
            }
            std::thread::sleep(POLL);
        }
    }

    fn expect_taken_port(&self, problem: &str, deadline: Instant) {
        assert!(
            problem.contains("address already in use") && Instant::now() < deadline,
            "nats-server does not start: {problem}"
        );
    }

    /// Returns whether this server, and no other on the same port, greets.
    fn is_ready(&self) -> bool {
        let Ok(stream) = TcpStream::connect_timeout(&self.address(), Duration::from_secs(1)) else {
            return false;
        };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
        let mut greeting = String::new();
        let read = BufReader::new(stream).read_line(&mut greeting);
        read.is_ok() && greeting.contains(&self.name())
    }

    fn name(&self) -> String {
        let name = self.path().file_name().expect("a directory's name");
        name.to_string_lossy().into_owned()
    }

    fn configuration(&self) -> String {
        let options = &self.options;
        let mut text = format!(
            "listen: \"{}\"\nserver_name: \"{}\"\npid_file: \"{}\"\n",
            self.address(),
            self.name(),
            self.path().join("pid").display()
        );
        if let Some(bytes) = options.max_payload {
            let _ = writeln!(text, "max_payload: {bytes}");
        }
        if let Some(interval) = options.ping_interval {
            let _ = writeln!(text, "ping_interval: \"{}ms\"", interval.as_millis());
        }
        if let Some(count) = options.ping_max {
            let _ = writeln!(text, "ping_max: {count}");
        }
        if let Some(tls) = &options.tls {
            let (certificate, key) = (self.path().join("own.pem"), self.path().join("own.key"));
            fs::write(&certificate, &tls.certificate).expect("write a certificate");
            fs::write(&key, &tls.key).expect("write a key");
            let _ = writeln!(
                text,
                "tls: {{ cert_file: \"{}\", key_file: \"{}\" }}",
                certificate.display(),
                key.display()
            );
        }
        if !options.users.is_empty() {
            let users = options.users.iter().map(|user| {
                let permissions = user.permissions.as_ref();
                let permissions = permissions.map(|text| format!(", permissions: {{ {text} }}"));
                let permissions = permissions.unwrap_or_default();
                format!("{{ nkey: {}{permissions} }}\n", user.key.public)
            });
            let users: String = users.collect();
            let _ = writeln!(text, "authorization: {{ users: [\n{users}] }}");
        }
        text + &options.settings
    }

    /// Returns a port that was free a moment ago.
    fn free_port(&self) -> u16 {
        let Some(host) = &self.options.host else {
            return free_port(Ipv4Addr::LOCALHOST);
        };
        host.run(|| free_port(host.address()))
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.stop(NatsEnd::Stop);
    }
}

fn free_port(address: Ipv4Addr) -> u16 {
    // Runs at the same time begin at different ports.
    let random = RandomState::new().hash_one(std::process::id());
    let count = u64::from(PORTS.end - PORTS.start);
    let offset = u16::try_from(random % count).expect("less than the number of ports");
    (PORTS.start + offset..PORTS.end)
        .chain(PORTS)
        .find(|port| TcpListener::bind((address, *port)).is_ok())
        .expect("a free port")
}
