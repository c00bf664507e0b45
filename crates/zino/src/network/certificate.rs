//! What a certificate says: its names, issuer, validity and fingerprint.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::civil;
use jiff::tz::TimeZone;
use rustls::pki_types::{CertificateDer, UnixTime};
use sha2::{Digest as _, Sha256};

/// The content of one certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The DNS names it is valid for.
    pub names: Vec<String>,
    /// The common name of its subject.
    pub subject: String,
    /// The common name of its issuer.
    pub issuer: String,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
    /// SHA-256 of the certificate, in hexadecimal.
    pub fingerprint: String,
}

/// A certificate that cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the certificate is damaged")]
pub struct Damaged;

impl Certificate {
    pub fn decode(der: &CertificateDer<'_>) -> Result<Self, Damaged> {
        let parsed = webpki::EndEntityCert::try_from(der).map_err(|_| Damaged)?;
        let (not_before, not_after) = validity(der).ok_or(Damaged)?;
        Ok(Self {
            names: parsed.valid_dns_names().map(str::to_owned).collect(),
            subject: common_name(parsed.subject()).unwrap_or_default(),
            issuer: common_name(parsed.issuer()).unwrap_or_default(),
            not_before,
            not_after,
            fingerprint: hexadecimal(&Sha256::digest(der)),
        })
    }
}

/// The date of a time, as messages show it.
pub fn date(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}

/// The same for a time of rustls.
pub(super) fn date_of(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).map_or_else(|_| "an unknown day".to_owned(), date)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;

/// The object identifier 2.5.4.3.
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];

/// Walks over the elements of a DER encoding.
#[derive(Clone, Copy)]
struct Elements<'a>(&'a [u8]);

impl<'a> Elements<'a> {
    /// The next element: its tag and its content.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, short], mut rest) = self.0.split_first_chunk::<2>()?;
        let length = match short {
            0..=0x7f => usize::from(short),
            _ => {
                let (bytes, after) = rest.split_at_checked(usize::from(short & 0x7f))?;
                rest = after;
                bytes.iter().try_fold(0_usize, |length, byte| {
                    length.checked_mul(256)?.checked_add(usize::from(*byte))
                })?
            }
        };
        let (content, after) = rest.split_at_checked(length)?;
        self.0 = after;
        Some((tag, content))
    }

    /// The content of the next element, which must have this tag.
    fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next()
            .filter(|(found, _)| *found == tag)
            .map(|(_, content)| content)
    }
}

fn validity(der: &[u8]) -> Option<(Timestamp, Timestamp)> {
    let certificate = Elements(der).take(SEQUENCE)?;
    let mut signed = Elements(Elements(certificate).take(SEQUENCE)?);
    let (first, _) = signed.next()?;
    if first == VERSION {
        signed.next()?;
    }
    let _signature_algorithm = signed.take(SEQUENCE)?;
    let _issuer = signed.take(SEQUENCE)?;
    let mut validity = Elements(signed.take(SEQUENCE)?);
    Some((time(validity.next()?)?, time(validity.next()?)?))
}

fn time((tag, content): (u8, &[u8])) -> Option<Timestamp> {
    let digits = std::str::from_utf8(content).ok()?.strip_suffix('Z')?;
    let full = match tag {
        // Two digits of the year: 50 is 1950, 49 is 2049.
        UTC_TIME if digits < "50" => format!("20{digits}"),
        UTC_TIME => format!("19{digits}"),
        GENERALIZED_TIME => digits.to_owned(),
        _ => return None,
    };
    let time = civil::DateTime::strptime("%Y%m%d%H%M%S", full).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// The common name in a distinguished name, which is given without its outer tag.
fn common_name(name: &[u8]) -> Option<String> {
    let mut parts = Elements(name);
    while let Some((tag, part)) = parts.next() {
        if tag != SET {
            continue;
        }
        let mut attribute = Elements(Elements(part).take(SEQUENCE)?);
        if attribute.take(OBJECT_IDENTIFIER)? == COMMON_NAME {
            let (_, text) = attribute.next()?;
            return String::from_utf8(text.to_vec()).ok();
        }
    }
    None
}
