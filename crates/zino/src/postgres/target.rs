//! Which database to use, and how to reach it.

use std::borrow::Cow;
use std::net::IpAddr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::tls::{Connector, TlsError};
use super::trouble::described;
use crate::config::{Store, StoreUrl};

/// How long sent bytes may stay unacknowledged before the connection counts as broken.
///
/// Limit: a connection to the database breaks when its bytes stay unacknowledged for this long.
const DATABASE_UNACKNOWLEDGED_TIME: Duration = Duration::from_secs(5);

/// How long the login to the database may take.
///
/// Limit: the database counts as away.
const DATABASE_LOGIN_TIME: Duration = Duration::from_secs(1);

/// How long connecting to each host of the database may take.
///
/// Limit: the next host of the database is tried.
const DATABASE_HOST_TIME: Duration = Duration::from_secs(1);

/// Why a database cannot be used with this configuration. No message shows the password.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    #[error("the address of the database is invalid: {0}: write postgres://USER@HOST/DATABASE")]
    Invalid(String),
    #[error("the address of the database has an unescaped @ in its password: write %40")]
    UnescapedPassword,
    #[error("the address of the database has no host: write postgres://USER@HOST/DATABASE")]
    NoHost,
    #[error("[store] connections must be at least 1")]
    NoConnections,
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A database.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) config: Config,
    pub(crate) connector: Connector,
    /// How long connecting may take, with the login.
    pub(crate) connect_time: Duration,
    /// Names the database in errors, without user and password.
    pub(crate) place: String,
}

impl Target {
    /// Reads the address. Blocks while certificates are read.
    pub(crate) fn new(store: &Store, url: &StoreUrl) -> Result<Self, TargetError> {
        let config = parse(store, url)?;
        let connector = match config.get_ssl_mode() {
            SslMode::Disable => Connector::unused()?,
            _ => Connector::trusting(store.ca.as_deref())?,
        };
        Ok(Self {
            connector,
            connect_time: DATABASE_HOST_TIME * hosts_of(&config) + DATABASE_LOGIN_TIME,
            place: place(&config),
            config,
        })
    }
}

/// Reads the address and decides whether TLS is used.
pub(crate) fn parse(store: &Store, url: &StoreUrl) -> Result<Config, TargetError> {
    let (url, mode) = with_known_mode(url.expose());
    let mut config: Config = url
        .parse()
        .map_err(|error| match url.matches('@').count() {
            // The description may quote a part of the password.
            2.. => TargetError::UnescapedPassword,
            _ => TargetError::Invalid(described(&error)),
        })?;
    let hosts = config.get_hosts();
    if hosts.is_empty() {
        return Err(TargetError::NoHost);
    }
    let database = config.get_dbname().unwrap_or_default();
    if database.contains('@') || hosts.iter().any(|host| name(host).contains('@')) {
        return Err(TargetError::UnescapedPassword);
    }
    let mode = match mode {
        GivenMode::Known => config.get_ssl_mode(),
        GivenMode::None if is_all_near(&config) && store.ca.is_none() => SslMode::Disable,
        GivenMode::None | GivenMode::Verify => SslMode::Require,
    };
    config
        .ssl_mode(mode)
        .application_name("zino")
        .connect_timeout(DATABASE_HOST_TIME)
        .keepalives_idle(DATABASE_UNACKNOWLEDGED_TIME)
        .tcp_user_timeout(DATABASE_UNACKNOWLEDGED_TIME);
    Ok(config)
}

/// What the address says about TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GivenMode {
    None,
    /// One that tokio-postgres knows.
    Known,
    /// `verify-ca` or `verify-full`, which tokio-postgres does not know.
    Verify,
}

fn with_known_mode(url: &str) -> (Cow<'_, str>, GivenMode) {
    for mode in ["sslmode=verify-full", "sslmode=verify-ca"] {
        if url.contains(mode) {
            return (
                url.replace(mode, "sslmode=require").into(),
                GivenMode::Verify,
            );
        }
    }
    match url.contains("sslmode=") {
        true => (url.into(), GivenMode::Known),
        false => (url.into(), GivenMode::None),
    }
}

fn is_all_near(config: &Config) -> bool {
    // Where there are addresses, they are connected to, whatever the names.
    let addresses = config.get_hostaddrs();
    config.get_hosts().iter().all(is_near) && addresses.iter().all(IpAddr::is_loopback)
}

/// Whether a host is this machine, so that nobody in between can read or change anything.
fn is_near(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) if name == "localhost" => true,
        Host::Tcp(name) => name
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback()),
    }
}

fn hosts_of(config: &Config) -> u32 {
    u32::try_from(config.get_hosts().len()).unwrap_or(u32::MAX)
}

fn name(host: &Host) -> Cow<'_, str> {
    match host {
        Host::Tcp(name) => name.into(),
        Host::Unix(path) => path.to_string_lossy(),
    }
}

fn place(config: &Config) -> String {
    let ports = config.get_ports();
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(index, host)| {
            let port = ports.get(index).or_else(|| ports.first()).unwrap_or(&5432);
            format!("{}:{port}", name(host))
        })
        .collect();
    let database = config.get_dbname().or_else(|| config.get_user());
    format!(
        "PostgreSQL at {}/{}",
        hosts.join(","),
        database.unwrap_or_default()
    )
}
