//! Connects to the NATS server: addresses, encryption and keys.

#[cfg(test)]
mod tests;

use std::error::Error as _;
use std::io::Read as _;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, ServerAddr};
use rustls::crypto::ring;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::mpsc;

use super::error::BusError;
use crate::config::Config;
use crate::network::identity::{MAX_CERTIFICATE_BYTES, exposed_mode, read_certificates};

/// How long the server may take to greet us.
///
/// Limit: the next address of the bus is tried.
const BUS_CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the server may be silent before it is asked for a sign of life. After two that it does not
/// give, the connection counts as lost.
const BUS_PING_INTERVAL: Duration = Duration::from_secs(2);

/// The longest wait between two attempts to connect again.
const MAX_RECONNECT_DELAY: Duration = Duration::from_millis(500);

/// How many events of the connection may wait to be handled.
///
/// Limit: the connection's task waits.
const BUS_EVENT_QUEUE_LENGTH: usize = 64;

/// A connection, and what happens to it.
pub(super) struct Connected {
    pub(super) client: Client,
    pub(super) events: mpsc::Receiver<Event>,
}

/// The addresses of `[bus] url`, without the user they may name.
#[derive(Debug)]
struct Servers {
    addresses: Vec<ServerAddr>,
    /// The user and the password, or the token alone.
    user: Option<(String, Option<String>)>,
    is_local: bool,
}

pub(super) async fn connect(config: &Config, url: &str, name: &str) -> Result<Connected, BusError> {
    let servers = Servers::parse(url)?;
    let (sender, events) = mpsc::channel(BUS_EVENT_QUEUE_LENGTH);
    let (options, key) = authenticated(config, &servers)?;
    let mut options = options
        .name(name)
        .connection_timeout(BUS_CONNECT_TIMEOUT)
        .ping_interval(BUS_PING_INTERVAL)
        .reconnect_delay_callback(|attempts| match attempts {
            0 | 1 => Duration::ZERO,
            _ => Duration::from_millis(2_u64.saturating_pow(u32::try_from(attempts).unwrap_or(9)))
                .min(MAX_RECONNECT_DELAY),
        })
        .tls_client_config(encryption(config)?)
        .event_callback(move |event| {
            let sender = sender.clone();
            async move {
                // Without a receiver the process is ending.
                let _ = sender.send(event).await;
            }
        });
    if servers.is_local {
        // Others of its cluster may be on other machines, where nothing would be encrypted.
        options = options.ignore_discovered_servers();
    } else {
        options = options.require_tls(true);
    }
    let shown = servers.to_string();
    let client = options
        .connect(servers.addresses)
        .await
        .map_err(|error| explained(&error, shown, key))?;
    Ok(Connected { client, events })
}

/// Checks `[bus]` without connecting.
#[cfg(test)]
fn check(config: &Config, url: &str) -> Result<(), BusError> {
    let servers = Servers::parse(url)?;
    authenticated(config, &servers)?;
    encryption(config).map(drop)
}

impl Servers {
    fn parse(text: &str) -> Result<Self, BusError> {
        let mut servers = Self {
            addresses: Vec::new(),
            user: None,
            is_local: true,
        };
        for part in text.split(',').map(str::trim) {
            // The text may hold a password: only what follows it is shown.
            let shown = || part.rsplit('@').next().unwrap_or_default().to_owned();
            let bad = || BusError::BadAddress(shown());
            let address: ServerAddr = part.parse().map_err(|_| bad())?;
            if !matches!(address.scheme(), "nats" | "tls") || address.host().is_empty() {
                return Err(bad());
            }
            if let Some(user) = address.username() {
                let password = address.password().map(str::to_owned);
                servers.user = Some((user.to_owned(), password));
            }
            servers.is_local &= is_loopback(address.host());
            servers.addresses.push(address);
        }
        Ok(servers)
    }
}

impl std::fmt::Display for Servers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, address) in self.addresses.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(formatter, "{comma}{}:{}", address.host(), address.port())?;
        }
        Ok(())
    }
}

fn is_loopback(host: &str) -> bool {
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost",
    }
}

/// The options with our key, and how the key is called in an error.
fn authenticated(config: &Config, servers: &Servers) -> Result<(ConnectOptions, String), BusError> {
    let bus = &config.bus;
    match (&bus.nkey, &bus.credentials) {
        (Some(_), Some(_)) => Err(BusError::TwoKeys),
        (Some(path), None) => {
            let text = read_secret(path)?;
            let seed = text
                .lines()
                .map(str::trim)
                .find(|line| line.starts_with("SU"));
            let seed = seed.ok_or_else(|| BusError::BadSeed(path.clone()))?;
            let key = format!("the nkey in {}", path.display());
            Ok((ConnectOptions::with_nkey(seed.to_owned()), key))
        }
        (None, Some(path)) => {
            let options = ConnectOptions::with_credentials(&read_secret(path)?)
                .map_err(|_| BusError::BadCredentials(path.clone()))?;
            Ok((options, format!("the credentials in {}", path.display())))
        }
        (None, None) => Ok(match &servers.user {
            Some((user, Some(password))) => (
                ConnectOptions::with_user_and_password(user.clone(), password.clone()),
                format!("the user {user:?} and its password in [bus] url"),
            ),
            Some((token, None)) => (
                ConnectOptions::with_token(token.clone()),
                "the token in [bus] url".to_owned(),
            ),
            None => (
                ConnectOptions::new(),
                "us without a key; set [bus] nkey or credentials".to_owned(),
            ),
        }),
    }
}

/// Reads a file that nobody else can read.
fn read_secret(path: &Path) -> Result<String, BusError> {
    let unreadable = |source| BusError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let file = zot_files::open_existing(path).map_err(unreadable)?;
    // Of the file that was opened: another one may have its name by now.
    if let Some(mode) = exposed_mode(&file.metadata().map_err(unreadable)?) {
        return Err(BusError::Exposed {
            path: path.to_owned(),
            mode,
        });
    }
    let mut text = String::new();
    file.take(MAX_CERTIFICATE_BYTES)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    Ok(text)
}

/// Trusts the authority of `[bus] ca`, or else those of the system.
fn encryption(config: &Config) -> Result<ClientConfig, BusError> {
    let mut roots = RootCertStore::empty();
    match &config.bus.ca {
        Some(path) => {
            let certificates =
                read_certificates(path).map_err(|error| BusError::Authority(error.to_string()))?;
            for certificate in certificates {
                roots
                    .add(certificate)
                    .map_err(|error| BusError::Authority(format!("{}: {error}", path.display())))?;
            }
        }
        None => {
            // What the system does not have, it cannot trust; the handshake will say so.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13, &TLS12])
        .map_err(|error| BusError::Authority(error.to_string()))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn explained(error: &async_nats::ConnectError, servers: String, key: String) -> BusError {
    let mut reason = error.kind().to_string();
    let mut source = error.source();
    let mut is_tls = false;
    while let Some(cause) = source {
        is_tls |= cause.downcast_ref::<rustls::Error>().is_some();
        if let Some(io) = cause.downcast_ref::<std::io::Error>() {
            is_tls |= io
                .get_ref()
                .is_some_and(|inner| inner.is::<rustls::Error>());
        }
        reason = cause.to_string();
        source = cause.source();
    }
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            BusError::Unauthorized { servers, key }
        }
        _ if reason.to_lowercase().contains("authorization violation") => {
            BusError::Unauthorized { servers, key }
        }
        ConnectErrorKind::Tls => BusError::Tls { servers, reason },
        _ if is_tls => BusError::Tls { servers, reason },
        _ => BusError::Unreachable { servers, reason },
    }
}
