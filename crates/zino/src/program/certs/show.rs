//! What a file of certificates holds, and what is wrong with it.

use std::path::Path;

use jiff::Timestamp;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, UnixTime};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};

use super::AUTHORITY;
use crate::network::certificate::{Certificate, date};
use crate::network::identity::{IdentityError, own_certificate, read_certificates, read_key};

/// How soon before its end a certificate should be replaced, in days.
const RENEWAL_DAYS: i64 = 14;

const SECONDS_PER_DAY: i64 = 24 * 60 * 60;

/// One certificate of a file.
#[derive(Debug)]
pub struct Inspection {
    pub certificate: Certificate,
    /// Whether it issues others instead of naming anybody.
    pub is_authority: bool,
    pub days_left: i64,
    /// What is wrong with it.
    pub problems: Vec<String>,
    /// What soon will be.
    pub warnings: Vec<String>,
}

/// Inspects all certificates of a file, and the key beside it.
pub fn inspect(path: &Path) -> Result<Vec<Inspection>, IdentityError> {
    let certificates = read_certificates(path)?;
    let mut inspections = Vec::new();
    for (index, der) in certificates.iter().enumerate() {
        let certificate = own_certificate(path, der)?;
        let mut inspection = inspect_one(certificate, Timestamp::now());
        if index == 0 && !inspection.is_authority {
            inspect_issuer(path, der, &mut inspection);
        }
        if index == 0 {
            inspect_key(path, der, &mut inspection);
        }
        inspections.push(inspection);
    }
    Ok(inspections)
}

/// Finds what is wrong with a certificate by itself.
pub(crate) fn inspect_one(certificate: Certificate, now: Timestamp) -> Inspection {
    let mut problems = Vec::new();
    let mut warnings = Vec::new();
    let is_authority = certificate.names.is_empty() && certificate.subject == certificate.issuer;
    let left = certificate.not_after.as_second() - now.as_second();
    let days_left = left.div_euclid(SECONDS_PER_DAY);
    if left < 0 {
        problems.push(format!("expired on {}", date(certificate.not_after)));
    } else if certificate.not_before > now {
        problems.push(format!("not valid before {}", date(certificate.not_before)));
    } else if days_left < RENEWAL_DAYS {
        warnings.push(format!(
            "expires in {days_left} days: issue a new one, then send SIGHUP"
        ));
    }
    if certificate.names.is_empty() && !is_authority {
        problems.push("it contains no name".to_owned());
    }
    Inspection {
        certificate,
        is_authority,
        days_left,
        problems,
        warnings,
    }
}

/// Checks whether the authority in the same directory has issued it.
fn inspect_issuer(path: &Path, der: &CertificateDer<'_>, inspection: &mut Inspection) {
    let authority = path.with_file_name(format!("{AUTHORITY}.pem"));
    let Ok(authorities) = read_certificates(&authority) else {
        return;
    };
    if !is_issued_by(der, &authorities, &inspection.certificate) {
        inspection
            .problems
            .push(format!("{} has not issued it", authority.display()));
    }
}

/// Whether one of the authorities has signed the certificate, whether or not it is still valid.
pub(crate) fn is_issued_by(
    der: &CertificateDer<'_>,
    authorities: &[CertificateDer<'_>],
    certificate: &Certificate,
) -> bool {
    let anchors: Vec<_> = authorities
        .iter()
        .filter_map(|authority| anchor_from_trusted_cert(authority).ok())
        .collect();
    let algorithms = ring::default_provider().signature_verification_algorithms;
    let valid = u64::try_from(certificate.not_before.as_second()).unwrap_or(0);
    let time = UnixTime::since_unix_epoch(std::time::Duration::from_secs(valid));
    EndEntityCert::try_from(der).is_ok_and(|parsed| {
        parsed
            .verify_for_usage(
                algorithms.all,
                &anchors,
                &[],
                time,
                KeyUsage::client_auth(),
                None,
                None,
            )
            .is_ok()
    })
}

/// Checks the key beside the certificate, if there is one.
fn inspect_key(path: &Path, der: &CertificateDer<'static>, inspection: &mut Inspection) {
    let key_path = path.with_extension("key");
    if key_path == path || !key_path.exists() {
        return;
    }
    let problem = match read_key(&key_path) {
        Ok(key) => match crate::network::identity::is_key_of(der, key) {
            true => return,
            false => format!("{} is not its key", key_path.display()),
        },
        Err(error) => error.to_string(),
    };
    inspection.problems.push(problem);
}
