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
    assert!(config().is_ok());
}
