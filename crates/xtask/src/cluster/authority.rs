//! An authority for certificates, made with other code than that of `zino certs`.

use std::fs::{self, Permissions};
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};

/// Signs certificates.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// Whether a certificate is still valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Validity {
    Valid,
    Expired,
}

impl Authority {
    pub(crate) fn new(name: &str) -> anyhow::Result<Self> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(Self(issuer))
    }

    /// Writes its own certificate.
    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<()> {
        Ok(fs::write(path, self.0.pem())?)
    }

    /// Writes `NAME.pem` and `NAME.key` for services of the default namespace.
    pub(crate) fn issue(
        &self,
        directory: &Path,
        name: &str,
        services: &[&str],
        validity: Validity,
    ) -> anyhow::Result<()> {
        let names = services.iter().map(|name| format!("{name}.default.zino"));
        let (certificate, key) = self.sign(name, names.collect(), validity)?;
        fs::write(directory.join(format!("{name}.pem")), certificate)?;
        let path = directory.join(format!("{name}.key"));
        fs::write(&path, key)?;
        // A key that others can read is refused.
        Ok(fs::set_permissions(&path, Permissions::from_mode(0o600))?)
    }

    /// Returns a certificate for a server at this address, and its key, as PEM.
    pub(crate) fn issue_for(&self, address: IpAddr) -> anyhow::Result<(String, String)> {
        self.sign("a server", vec![address.to_string()], Validity::Valid)
    }

    fn sign(
        &self,
        name: &str,
        names: Vec<String>,
        validity: Validity,
    ) -> anyhow::Result<(String, String)> {
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, name);
        if validity == Validity::Expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 2, 3);
        }
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.0)?;
        Ok((certificate.pem(), key.serialize_pem()))
    }
}
