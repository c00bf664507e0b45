//! Certificates for installations: good ones, and every kind of bad one.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};

use crate::installation::Installation;

/// The lines of `ZINO.toml` for what [`Authority::equip`] writes.
pub(crate) const TLS: &str =
    "tls.ca = \"certs/ca.pem\"\ntls.certificate = \"certs/own.pem\"\ntls.key = \"certs/own.key\"\n";

/// When a certificate is valid.
#[derive(Clone, Copy)]
pub(crate) enum Validity {
    Present,
    Expired,
    Future,
}

pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "tests of zino");
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Gives the installation a certificate with these names of the default namespace.
    pub(crate) fn equip(&self, installation: &Installation, names: &[&str]) {
        self.equip_as(installation, names, Validity::Present);
    }

    pub(crate) fn equip_as(&self, installation: &Installation, names: &[&str], validity: Validity) {
        let names: Vec<String> = names
            .iter()
            .map(|name| format!("{name}.default.zino"))
            .collect();
        let (certificate, key) = self.issue(names, validity);
        fs::create_dir_all(installation.path("certs")).unwrap();
        fs::write(installation.path("certs/ca.pem"), self.0.pem()).unwrap();
        fs::write(installation.path("certs/own.pem"), certificate).unwrap();
        write_key(&installation.path("certs/own.key"), &key);
    }

    /// Its own certificate, in PEM form.
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate and its key, in PEM form.
    pub(crate) fn issue(&self, names: Vec<String>, validity: Validity) -> (String, String) {
        let mut params = CertificateParams::new(names).unwrap();
        let (first, last) = match validity {
            Validity::Present => (2020, 2100),
            Validity::Expired => (2020, 2021),
            Validity::Future => (2100, 2101),
        };
        params.not_before = date_time_ymd(first, 1, 1);
        params.not_after = date_time_ymd(last, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

pub(crate) fn write_key(path: &Path, key: &str) {
    fs::write(path, key).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}
