//! Which addresses belong to everybody, and which to this machine or its network.

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks of IPv4 that are not public, by the registry of special purposes of IANA: address and length.
/// Those for documentation and benchmarks are left out: nothing private is there, and programs that
/// redirect traffic give such addresses to public names.
const IPV4_SPECIAL: [([u8; 4], u32); 12] = [
    // This network.
    ([0, 0, 0, 0], 8),
    // Private.
    ([10, 0, 0, 0], 8),
    // Shared by the customers of a provider.
    ([100, 64, 0, 0], 10),
    // Loopback.
    ([127, 0, 0, 0], 8),
    // Link-local, and the metadata services of clouds.
    ([169, 254, 0, 0], 16),
    // Private.
    ([172, 16, 0, 0], 12),
    // Protocol assignments.
    ([192, 0, 0, 0], 24),
    // Relays of 6to4.
    ([192, 88, 99, 0], 24),
    // Private.
    ([192, 168, 0, 0], 16),
    // Multicast.
    ([224, 0, 0, 0], 4),
    // Reserved, with the broadcast address.
    ([240, 0, 0, 0], 4),
    // The metadata service of a cloud, in the middle of public addresses.
    ([168, 63, 129, 16], 32),
];

/// Returns whether a connection to `address` leaves this machine and its network, as far as the address
/// tells. Addresses of IPv6 that carry one of IPv4 count as that one.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_ipv4(address),
        IpAddr::V6(address) => is_public_ipv6(address),
    }
}

fn is_public_ipv4(address: Ipv4Addr) -> bool {
    !IPV4_SPECIAL.iter().any(|(network, length)| {
        let different = address.to_bits() ^ Ipv4Addr::from(*network).to_bits();
        different >> (32 - length) == 0
    })
}

fn is_public_ipv6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let bits = u32::from(high) << 16 | u32::from(low);
        is_public_ipv4(Ipv4Addr::from_bits(bits))
    };
    match segments {
        // NAT64: how machines with IPv6 alone reach those with IPv4.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        // 6to4.
        [0x2002, high, low, ..] => embedded(high, low),
        // Protocol assignments: Teredo, benchmarks, ORCHID.
        [0x2001, second, ..] if second < 0x200 => false,
        // Documentation.
        [0x2001, 0xdb8, ..] => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        // Everything that is public today; the rest is loopback, local, multicast or not assigned.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}
