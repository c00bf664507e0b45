//! Makes an authority, and certificates that it signs.

use std::net::IpAddr;
use std::path::Path;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustix::rand::{GetRandomFlags, getrandom};

use super::{AUTHORITY, CertsError, WrittenPair, make_directory, write_pair};
use crate::config::network::{Tls, is_label};
use crate::network::certificate::{Certificate, date};
use crate::network::identity::{IdentityError, own_certificate, read_certificates, read_key};

/// How long an authority is valid.
const AUTHORITY_DAYS: u32 = 3650;

/// The longest a certificate may be valid.
const MAX_DAYS: u32 = 36_500;

/// Which certificates to issue.
#[derive(Debug, Clone)]
pub struct IssueRequest {
    /// The names of the files; without `services` also the names in the certificates.
    pub names: Vec<String>,
    /// The names in each certificate.
    pub services: Vec<String>,
    /// Instead of services: host names and addresses of another server, as its callers know it.
    pub hosts: Vec<String>,
    pub days: u32,
    pub namespace: String,
}

/// Makes an authority in `directory`.
pub fn init(directory: &Path) -> Result<WrittenPair, CertsError> {
    make_directory(directory)?;
    let days = Days::from_today(AUTHORITY_DAYS)?;
    let mut params = days.params(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = authority_usages();
    // Two authorities with the same name would be hard to tell apart.
    let name = format!("zino authority {}", random_digits()?);
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    let (certificate, key) = write_pair(
        directory,
        AUTHORITY,
        &certificate.pem(),
        &key.serialize_pem(),
    )
    .map_err(|error| match error {
        CertsError::Exists(path) => CertsError::AuthorityExists(path),
        error => error,
    })?;
    Ok(WrittenPair {
        certificate,
        key,
        names: Vec::new(),
        expires: days.last.to_string(),
    })
}

/// Issues certificates of the authority in `directory`.
pub fn issue(directory: &Path, request: &IssueRequest) -> Result<Vec<WrittenPair>, CertsError> {
    let labels = request.names.iter().chain(&request.services);
    for label in labels.chain([&request.namespace]) {
        if !is_label(label) {
            return Err(CertsError::BadName(label.clone()));
        }
    }
    if let Some(host) = request.hosts.iter().find(|host| !is_host(host)) {
        return Err(CertsError::BadHost(host.clone()));
    }
    if request.names.iter().any(|name| name == AUTHORITY) {
        return Err(CertsError::ReservedName);
    }
    let (issuer, authority) = read_issuer(directory)?;
    let days = Days::from_today(request.days)?.until(authority.not_after);
    let tls = Tls {
        namespace: request.namespace.clone(),
        ..Tls::default()
    };
    let issue_one = |name: &String| {
        let services = match request.services.as_slice() {
            [] => std::slice::from_ref(name),
            services => services,
        };
        let names: Vec<String> = match request.hosts.as_slice() {
            [] => services
                .iter()
                .map(|service| tls.certificate_name(service))
                .collect(),
            hosts => hosts.to_vec(),
        };
        let mut params = days.params(names.clone())?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &issuer)?;
        let (certificate, key) =
            write_pair(directory, name, &certificate.pem(), &key.serialize_pem())?;
        Ok(WrittenPair {
            certificate,
            key,
            names,
            expires: days.last.to_string(),
        })
    };
    request.names.iter().map(issue_one).collect()
}

/// Whether the text is an address, or a name of labels and dots.
fn is_host(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok() || text.split('.').all(is_label)
}

fn authority_usages() -> Vec<KeyUsagePurpose> {
    vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign]
}

fn read_issuer(directory: &Path) -> Result<(Issuer<'static, KeyPair>, Certificate), CertsError> {
    let path = directory.join(format!("{AUTHORITY}.pem"));
    let key_path = directory.join(format!("{AUTHORITY}.key"));
    if !path.exists() || !key_path.exists() {
        return Err(CertsError::NoAuthority(directory.to_owned()));
    }
    let certificates = read_certificates(&path)?;
    let first = certificates
        .first()
        .ok_or_else(|| IdentityError::NoCertificate(path.clone()))?;
    let authority = own_certificate(&path, first)?;
    if authority.not_after < Timestamp::now() {
        return Err(CertsError::AuthorityExpired {
            path: directory.to_owned(),
            date: date(authority.not_after),
        });
    }
    let key = KeyPair::try_from(&read_key(&key_path)?)?;
    // What is signed repeats the authority's name; the rest of its certificate does not matter.
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, authority.subject.clone());
    params.key_usages = authority_usages();
    Ok((Issuer::new(params, key), authority))
}

/// The days on which a certificate is valid.
#[derive(Debug, Clone, Copy)]
struct Days {
    first: Date,
    last: Date,
}

impl Days {
    /// From yesterday, because clocks differ.
    fn from_today(count: u32) -> Result<Self, CertsError> {
        let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
        let bad = |_| CertsError::BadDays(count);
        if !(1..=MAX_DAYS).contains(&count) {
            return Err(CertsError::BadDays(count));
        }
        Ok(Self {
            first: today.checked_sub(Span::new().days(1)).map_err(bad)?,
            last: today
                .checked_add(Span::new().days(i64::from(count)))
                .map_err(bad)?,
        })
    }

    /// No certificate is valid for longer than its authority.
    fn until(self, end: Timestamp) -> Self {
        let end = end.to_zoned(TimeZone::UTC).date();
        Self {
            last: self.last.min(end),
            ..self
        }
    }

    fn params(self, names: Vec<String>) -> Result<CertificateParams, CertsError> {
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name = rcgen::DistinguishedName::new();
        let time = |date: Date| {
            date_time_ymd(
                i32::from(date.year()),
                u8::try_from(date.month()).unwrap_or(1),
                u8::try_from(date.day()).unwrap_or(1),
            )
        };
        params.not_before = time(self.first);
        params.not_after = time(self.last);
        Ok(params)
    }
}

fn random_digits() -> Result<String, CertsError> {
    let mut bytes = [0; 4];
    getrandom(&mut bytes, GetRandomFlags::empty()).map_err(|_| rcgen::Error::RingUnspecified)?;
    Ok(format!("{:08x}", u32::from_be_bytes(bytes)))
}
