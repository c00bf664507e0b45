//! Names of hosts, and which of them may be connected to.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// An entry of the list of hosts: `*`, `host`, `host:port`, `host:*` or `*.domain:port`. Without a
/// port it means 80 and 443.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ConnectRule {
    /// Every host, without a proxy.
    Anywhere,
    Host {
        /// In lower case; `*.` in front stands for every name below it.
        host: String,
        ports: Ports,
    },
}

/// The ports of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ports {
    /// 80 and 443.
    Web,
    One(u16),
    Every,
}

/// A text that is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not a host: write host:port, for instance github.com:443")]
pub struct BadHost(pub String);

impl FromStr for ConnectRule {
    type Err = BadHost;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // TODO(proxy): the strict grammar.
        if text == "*" {
            return Ok(Self::Anywhere);
        }
        let (host, ports) = match text.rsplit_once(':') {
            None => (text, Ports::Web),
            Some((host, "*")) => (host, Ports::Every),
            Some((host, port)) => match port.parse() {
                Ok(port) => (host, Ports::One(port)),
                Err(_) => return Err(BadHost(text.to_owned())),
            },
        };
        Ok(Self::Host {
            host: host.to_lowercase(),
            ports,
        })
    }
}

impl fmt::Display for ConnectRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anywhere => formatter.write_str("*"),
            Self::Host { host, ports } => match ports {
                Ports::Web => formatter.write_str(host),
                Ports::One(port) => write!(formatter, "{host}:{port}"),
                Ports::Every => write!(formatter, "{host}:*"),
            },
        }
    }
}
