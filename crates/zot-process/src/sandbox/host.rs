//! Hosts, and which of them may be connected to.
//!
//! The grammar is strict because a host is read more than once on its way: by the rules, the resolver and
//! the server. A text that two of them could read differently is refused.

mod name;
#[cfg(test)]
mod tests;

pub use name::{Host, HostName};

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use thiserror::Error;

/// How much of a text an error repeats.
const SHOWN_CHARACTERS: usize = 80;

/// An entry of the list of hosts.
///
/// | text | allows |
/// |---|---|
/// | `*` | every host, without a proxy |
/// | `example.com` | ports 80 and 443 of this host |
/// | `example.com:22`, `192.0.2.1:22`, `[2001:db8::1]:22` | this port |
/// | `example.com:*` | every port |
/// | `*.example.com` | every name below, at any depth, but not `example.com` itself; ports as above |
///
/// `*.com` is refused: two labels at least must follow the star.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ConnectRule {
    /// Every host, without a proxy.
    Anywhere,
    /// One host.
    Host { host: Host, ports: Ports },
    /// Every name below a domain.
    Below { domain: HostName, ports: Ports },
}

/// The ports of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ports {
    /// 80 and 443.
    Web,
    One(u16),
    Every,
}

/// A host and port as a request names them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    pub host: Host,
    pub port: u16,
}

/// A text that is not a host or a rule for hosts.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text:?} is not a host: {problem}; write host:port, for instance github.com:443")]
pub struct BadHost {
    text: String,
    pub problem: HostProblem,
}

/// What is wrong with a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HostProblem {
    #[error("the name is missing")]
    Empty,
    #[error("a name has at most 253 characters")]
    LongName,
    #[error("each part between dots has 1 to 63 characters")]
    LabelLength,
    #[error(
        "a name has only letters, digits, hyphens and dots (write a name in another alphabet as xn--…)"
    )]
    Character,
    #[error("a part between dots cannot begin or end with a hyphen or underscore")]
    LabelEdge,
    #[error("an IPv4 address is four decimal numbers from 0 to 255 without leading zeros")]
    Ipv4,
    #[error("an IPv6 address is written in brackets and without a zone, for instance [::1]:443")]
    Ipv6,
    #[error("the port must be a number from 1 to 65535")]
    Port,
    #[error("the port is missing")]
    MissingPort,
    #[error("a star stands alone (*), or before at least two parts (*.example.com)")]
    Star,
    #[error("user names and passwords cannot be in it")]
    UserInformation,
    #[error("it is a URL; leave out the scheme and the path")]
    Url,
    #[error("ranges of addresses are not supported; name each address")]
    Range,
    #[error(
        "it is more than one; repeat the option or the entry of the list, with one host and port each"
    )]
    Several,
}

impl ConnectRule {
    /// Returns whether connections to `target` may be made.
    pub fn allows(&self, target: &Target) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Host { host, ports } => *host == target.host && ports.contain(target.port),
            Self::Below { domain, ports } => match &target.host {
                Host::Name(name) => name.is_below(domain) && ports.contain(target.port),
                Host::Address(_) => false,
            },
        }
    }
}

impl Ports {
    pub fn contain(self, port: u16) -> bool {
        match self {
            Self::Web => port == 80 || port == 443,
            Self::One(one) => one == port,
            Self::Every => true,
        }
    }
}

impl Target {
    /// Reads `host:port`; the port can be missing if there is a default.
    pub fn parse(text: &str, default_port: Option<u16>) -> Result<Self, BadHost> {
        let parse = || {
            let (host, port) = split(text)?;
            Ok(Self {
                host: Host::parse(host)?,
                port: match port {
                    Some(port) => port_number(port)?,
                    None => default_port.ok_or(HostProblem::MissingPort)?,
                },
            })
        };
        parse().map_err(|problem| BadHost::new(text, problem))
    }

    /// Returns the rule that allows exactly this.
    pub fn rule(&self) -> ConnectRule {
        ConnectRule::Host {
            host: self.host.clone(),
            ports: Ports::One(self.port),
        }
    }
}

impl BadHost {
    fn new(text: &str, problem: HostProblem) -> Self {
        let mut shown: String = text.chars().take(SHOWN_CHARACTERS).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        Self {
            text: shown,
            problem,
        }
    }
}

impl FromStr for ConnectRule {
    type Err = BadHost;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_rule(text).map_err(|problem| BadHost::new(text, problem))
    }
}

fn parse_rule(text: &str) -> Result<ConnectRule, HostProblem> {
    if text == "*" {
        return Ok(ConnectRule::Anywhere);
    }
    if text.contains(',') {
        return Err(HostProblem::Several);
    }
    if is_range(text) {
        return Err(HostProblem::Range);
    }
    let (host, port) = split(text)?;
    let ports = match port {
        None => Ports::Web,
        Some("*") => Ports::Every,
        Some(port) => Ports::One(port_number(port)?),
    };
    if let Some(domain) = host.strip_prefix("*.") {
        let Host::Name(domain) = Host::parse(domain)? else {
            return Err(HostProblem::Star);
        };
        if !domain.as_str().contains('.') {
            return Err(HostProblem::Star);
        }
        return Ok(ConnectRule::Below { domain, ports });
    }
    if host.contains('*') {
        return Err(HostProblem::Star);
    }
    let host = Host::parse(host)?;
    Ok(ConnectRule::Host { host, ports })
}

/// Returns whether `text` is an address and the length of a network's prefix, or its mask: `10.0.0.0/8`.
fn is_range(text: &str) -> bool {
    let Some((address, rest)) = text.split_once('/') else {
        return false;
    };
    let address = address.trim_start_matches('[').trim_end_matches(']');
    address.parse::<IpAddr>().is_ok() && rest.starts_with(|first: char| first.is_ascii_digit())
}

/// Separates the host from the port, which is what follows the only colon outside of brackets.
fn split(text: &str) -> Result<(&str, Option<&str>), HostProblem> {
    if text.contains('@') {
        return Err(HostProblem::UserInformation);
    }
    if text.contains('/') {
        return Err(HostProblem::Url);
    }
    if text.starts_with('[') {
        let end = text.find(']').ok_or(HostProblem::Ipv6)?;
        let (host, rest) = text.split_at(end + 1);
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(HostProblem::Ipv6),
        };
    }
    match text.split_once(':') {
        None => Ok((text, None)),
        Some((_, rest)) if rest.contains(':') => {
            // Either an address without brackets or two ports.
            let without_zone = text.split('%').next().unwrap_or_default();
            let is_address = without_zone.parse::<Ipv6Addr>().is_ok();
            Err(match is_address {
                true => HostProblem::Ipv6,
                false => HostProblem::Port,
            })
        }
        Some((host, port)) => Ok((host, Some(port))),
    }
}

fn port_number(text: &str) -> Result<u16, HostProblem> {
    // `parse` alone would accept a plus sign and leading zeros.
    let is_canonical = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    match text.parse() {
        Ok(port) if is_canonical => Ok(port),
        _ => Err(HostProblem::Port),
    }
}

impl fmt::Display for ConnectRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ports = match self {
            Self::Anywhere => return formatter.write_str("*"),
            Self::Host { host, ports } => {
                write!(formatter, "{host}")?;
                ports
            }
            Self::Below { domain, ports } => {
                write!(formatter, "*.{domain}")?;
                ports
            }
        };
        match ports {
            Ports::Web => Ok(()),
            Ports::One(port) => write!(formatter, ":{port}"),
            Ports::Every => formatter.write_str(":*"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.host, self.port)
    }
}
