use rustls::InvalidMessage;

use super::*;

#[test]
fn alerts_about_our_certificate_are_named() {
    for (alert, expected) in [
        (
            AlertDescription::CertificateRequired,
            "refused our certificate: none was sent",
        ),
        (
            AlertDescription::CertificateExpired,
            "refused our certificate: it has expired or is not yet valid",
        ),
        (
            AlertDescription::UnknownCA,
            "refused our certificate: it is from another authority",
        ),
        (
            AlertDescription::DecryptError,
            "refused our certificate: it is from another authority",
        ),
        (
            AlertDescription::ProtocolVersion,
            "it does not speak TLS 1.3",
        ),
    ] {
        let failure = TlsFailure::from(Error::AlertReceived(alert));
        assert_eq!(failure.to_string(), expected);
    }
    let other = TlsFailure::from(Error::AlertReceived(AlertDescription::InternalError));
    assert!(matches!(other, TlsFailure::Other(_)), "{other}");
}

#[test]
fn only_errors_of_tls_are_failures_of_tls() {
    let garbage = Error::InvalidMessage(InvalidMessage::InvalidContentType);
    let garbage = io::Error::new(io::ErrorKind::InvalidData, garbage);
    assert_eq!(TlsFailure::of(&garbage), Some(TlsFailure::NotTls));
    let reset = io::Error::from(io::ErrorKind::ConnectionReset);
    assert_eq!(TlsFailure::of(&reset), None);
}

#[test]
fn a_certificate_without_names_is_for_nobody() {
    let failure = TlsFailure::WrongName {
        expected: "mem.default.zino".to_owned(),
        presented: Vec::new(),
    };
    assert_eq!(
        failure.to_string(),
        "its certificate is for no name at all, not for mem.default.zino"
    );
}
