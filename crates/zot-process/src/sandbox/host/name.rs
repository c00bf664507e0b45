//! A host without its port: a name, or an address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::HostProblem;

/// The longest name that DNS can carry.
const DOMAIN_BYTES: usize = 253;
const LABEL_BYTES: usize = 63;

/// A host as it is compared, resolved and displayed: always in the same form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    Name(HostName),
    /// Never an IPv4 address in the form of an IPv6 address.
    Address(IpAddr),
}

/// A name of letters, digits, hyphens and inner underscores, in lower case and without a dot at its end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostName(String);

impl Host {
    /// Reads a host. One dot at the end of a name is dropped: it means the same name.
    pub(super) fn parse(text: &str) -> Result<Self, HostProblem> {
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or(HostProblem::Ipv6)?;
            let address: Ipv6Addr = inner.parse().map_err(|_| HostProblem::Ipv6)?;
            return Ok(Self::Address(address.to_canonical()));
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Ok(Self::Address(address.into()));
        }
        HostName::parse(text).map(Self::Name)
    }
}

impl HostName {
    fn parse(text: &str) -> Result<Self, HostProblem> {
        let text = text.strip_suffix('.').unwrap_or(text);
        if text.is_empty() {
            return Err(HostProblem::Empty);
        }
        if text.len() > DOMAIN_BYTES {
            return Err(HostProblem::LongName);
        }
        let is_allowed =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if !text.bytes().all(is_allowed) {
            return Err(HostProblem::Character);
        }
        for label in text.split('.') {
            if label.is_empty() || label.len() > LABEL_BYTES {
                return Err(HostProblem::LabelLength);
            }
            if label.starts_with(['-', '_']) || label.ends_with(['-', '_']) {
                return Err(HostProblem::LabelEdge);
            }
        }
        let name = text.to_ascii_lowercase();
        // Resolvers read such names as IPv4 addresses: 127.1, 0x7f.1, 2130706433, 0177.0.0.1.
        let last = name.rsplit('.').next().unwrap_or_default();
        let (digits, radix) = match last.strip_prefix("0x") {
            Some(digits) => (digits, 16),
            None => (last, 10),
        };
        if digits.chars().all(|digit| digit.is_digit(radix)) {
            return Err(HostProblem::Ipv4);
        }
        Ok(Self(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the name ends in `.domain`.
    pub(super) fn is_below(&self, domain: &Self) -> bool {
        let above = self.0.strip_suffix(domain.as_str());
        above.is_some_and(|above| above.ends_with('.'))
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(formatter),
            Self::Address(IpAddr::V4(address)) => address.fmt(formatter),
            Self::Address(IpAddr::V6(address)) => write!(formatter, "[{address}]"),
        }
    }
}
