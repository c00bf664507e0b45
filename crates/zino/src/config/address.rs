//! The addresses of services: `unix:///PATH`, `tcp://127.0.0.1:PORT` and `tls://HOST:PORT`.

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

/// Where a service can be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Unix(PathBuf),
    Network(NetworkAddress),
}

/// A host and a port, and whether what is sent there is encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkAddress {
    pub security: Security,
    /// A name or an IP address; one of version 6 has no brackets.
    pub host: String,
    pub port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// `tcp://`, only within the machine.
    Loopback,
    /// `tls://`, with certificates on both sides.
    Tls,
}

/// Why a text is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error(
        "{0:?} is not an address: expected tls://HOST:PORT, tcp://127.0.0.1:PORT or unix:///PATH"
    )]
    NoScheme(String),
    #[error("{address:?}: unknown scheme {scheme:?}: expected tls, tcp or unix")]
    UnknownScheme { address: String, scheme: String },
    #[error("{0:?} has no host")]
    NoHost(String),
    #[error("{0:?} has no port, such as :7443")]
    NoPort(String),
    #[error("{address:?}: {port:?} is not a port: expected a number from 1 to 65535")]
    BadPort { address: String, port: String },
    #[error(
        "{address:?}: plain TCP is only for this machine, such as 127.0.0.1; use tls:// for {host}"
    )]
    NotLoopback { address: String, host: String },
    #[error("{0:?}: the path of a socket must be absolute: unix:///run/zino/mem.sock")]
    RelativePath(String),
    #[error("{0:?}: every service has a Unix socket already, which [NAME] socket sets")]
    SocketToListen(String),
}

impl Address {
    /// Parses an address to call.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        match parse(text)? {
            Self::Network(address) if address.port == 0 => Err(AddressError::BadPort {
                address: text.to_owned(),
                port: "0".to_owned(),
            }),
            address => Ok(address),
        }
    }

    pub fn is_tls(&self) -> bool {
        matches!(self, Self::Network(address) if address.security == Security::Tls)
    }
}

impl NetworkAddress {
    /// Parses an address to listen on. Port 0 lets the system choose one, which is logged.
    pub fn parse_to_listen(text: &str) -> Result<Self, AddressError> {
        match parse(text)? {
            Address::Network(address) => Ok(address),
            Address::Unix(_) => Err(AddressError::SocketToListen(text.to_owned())),
        }
    }
}

fn parse(text: &str) -> Result<Address, AddressError> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(AddressError::NoScheme(text.to_owned()));
    };
    let security = match scheme {
        "unix" if rest.starts_with('/') => return Ok(Address::Unix(PathBuf::from(rest))),
        "unix" => return Err(AddressError::RelativePath(text.to_owned())),
        "tcp" => Security::Loopback,
        "tls" => Security::Tls,
        unknown => {
            return Err(AddressError::UnknownScheme {
                address: text.to_owned(),
                scheme: unknown.to_owned(),
            });
        }
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = split_port(rest).ok_or_else(|| AddressError::NoPort(text.to_owned()))?;
    if host.is_empty() {
        return Err(AddressError::NoHost(text.to_owned()));
    }
    if security == Security::Loopback && !is_loopback(host) {
        return Err(AddressError::NotLoopback {
            address: text.to_owned(),
            host: host.to_owned(),
        });
    }
    // `+80` is a number for Rust.
    let number = Some(port).filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    let Some(number) = number.and_then(|port| port.parse().ok()) else {
        return Err(AddressError::BadPort {
            address: text.to_owned(),
            port: port.to_owned(),
        });
    };
    Ok(Address::Network(NetworkAddress {
        security,
        host: host.to_owned(),
        port: number,
    }))
}

/// Splits `host:port` and `[::1]:port`.
fn split_port(text: &str) -> Option<(&str, &str)> {
    if let Some(bracketed) = text.strip_prefix('[') {
        return bracketed.split_once("]:");
    }
    // More than one colon is an address of version 6 that lacks its brackets.
    text.split_once(':').filter(|(_, port)| !port.contains(':'))
}

fn is_loopback(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost",
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(formatter, "unix://{}", path.display()),
            Self::Network(address) => address.fmt(formatter),
        }
    }
}

impl fmt::Display for NetworkAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.security {
            Security::Loopback => "tcp",
            Security::Tls => "tls",
        };
        match self.host.contains(':') {
            true => write!(formatter, "{scheme}://[{}]:{}", self.host, self.port),
            false => write!(formatter, "{scheme}://{}:{}", self.host, self.port),
        }
    }
}
