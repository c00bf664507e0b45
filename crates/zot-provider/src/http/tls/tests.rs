use super::*;

#[test]
fn a_refused_certificate_is_found_however_it_is_wrapped() {
    let refused = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
    let once = io::Error::new(io::ErrorKind::InvalidData, refused);
    let twice = io::Error::other(once);
    assert!(is_refusal(&twice));
    assert!(!is_refusal(&io::Error::from(
        io::ErrorKind::ConnectionReset
    )));
}

#[test]
fn certificates_can_be_loaded() {
    assert!(config(&NetworkSettings::default()).is_ok());
}

#[test]
fn a_file_without_certificates_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().join("empty.pem");
    std::fs::write(&empty, "no certificate here").unwrap();
    let missing = directory.path().join("missing.pem");
    for (variable, path) in [
        ("SSL_CERT_FILE", &empty),
        ("SSL_CERT_FILE", &missing),
        ("SSL_CERT_DIR", &directory.path().to_owned()),
        ("ZOT_EXTRA_CA_CERTS", &empty),
        ("ZOT_EXTRA_CA_CERTS", &missing),
    ] {
        let value = path.display().to_string();
        let network = NetworkSettings::read(&|name| (name == variable).then(|| value.clone()));
        let error = config(&network).unwrap_err().to_string();
        assert!(
            error.contains(variable) && error.contains(&value),
            "{error}"
        );
    }
}
