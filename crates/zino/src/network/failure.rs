//! Why two machines do not trust each other, in words that say what to do.

#[cfg(test)]
mod tests;

use std::fmt;
use std::io;

use rustls::{AlertDescription, CertificateError, Error};

use super::certificate::date_of;

/// Why no TLS connection came about. Each text continues the address of the other side.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TlsFailure {
    #[error("its certificate is for {}, not for {expected}", Names(.presented))]
    WrongName {
        expected: String,
        presented: Vec<String>,
    },
    #[error("its certificate expired on {0}")]
    Expired(String),
    #[error("its certificate is not valid before {0}")]
    NotYetValid(String),
    #[error("its certificate is from another authority")]
    OtherAuthority,
    #[error("it sent no certificate")]
    NoCertificate,
    /// The other side's verdict on our certificate.
    #[error("refused our certificate: {0}")]
    Refused(Refusal),
    #[error("it does not speak TLS")]
    NotTls,
    #[error("it does not speak TLS 1.3")]
    OldVersion,
    #[error("TLS: {0}")]
    Other(Error),
}

/// What the other side says about our certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("it has expired or is not yet valid")]
    Expired,
    #[error("it is from another authority")]
    OtherAuthority,
    #[error("none was sent")]
    NoneSent,
    #[error("it is not valid for the service called")]
    Invalid,
}

/// The names in a certificate.
struct Names<'a>(&'a [String]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return formatter.write_str("no name at all");
        }
        for (index, name) in self.0.iter().enumerate() {
            if index > 0 {
                formatter.write_str(", ")?;
            }
            formatter.write_str(presented_name(name))?;
        }
        Ok(())
    }
}

/// rustls presents names as `DnsName("mem.default.zino")`.
fn presented_name(shown: &str) -> &str {
    let inner = shown
        .strip_prefix("DnsName(\"")
        .and_then(|rest| rest.strip_suffix("\")"));
    inner.unwrap_or(shown)
}

impl TlsFailure {
    /// The failure in an error of a TLS stream, if it is one of TLS.
    pub fn of(error: &io::Error) -> Option<Self> {
        let error = error.get_ref()?.downcast_ref::<Error>()?;
        Some(Self::from(error.clone()))
    }
}

impl From<Error> for TlsFailure {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidCertificate(error) => of_certificate(error),
            Error::NoCertificatesPresented => Self::NoCertificate,
            Error::AlertReceived(alert) => match of_alert(alert) {
                Some(refusal) => Self::Refused(refusal),
                None if alert == AlertDescription::ProtocolVersion => Self::OldVersion,
                None => Self::Other(error),
            },
            Error::InvalidMessage(_) => Self::NotTls,
            Error::PeerIncompatible(_) => Self::OldVersion,
            other => Self::Other(other),
        }
    }
}

fn of_certificate(error: CertificateError) -> TlsFailure {
    match error {
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => TlsFailure::WrongName {
            expected: expected.to_str().into_owned(),
            presented,
        },
        CertificateError::ExpiredContext { not_after, .. } => {
            TlsFailure::Expired(date_of(not_after))
        }
        CertificateError::NotValidYetContext { not_before, .. } => {
            TlsFailure::NotYetValid(date_of(not_before))
        }
        // Two authorities of the same name differ only in their signatures.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            TlsFailure::OtherAuthority
        }
        other => TlsFailure::Other(Error::InvalidCertificate(other)),
    }
}

fn of_alert(alert: AlertDescription) -> Option<Refusal> {
    match alert {
        AlertDescription::CertificateExpired => Some(Refusal::Expired),
        AlertDescription::UnknownCA | AlertDescription::DecryptError => {
            Some(Refusal::OtherAuthority)
        }
        AlertDescription::CertificateRequired => Some(Refusal::NoneSent),
        AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::AccessDenied => Some(Refusal::Invalid),
        _ => None,
    }
}
