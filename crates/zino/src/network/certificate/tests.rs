use rcgen::{CertificateParams, DnType, KeyPair, date_time_ymd};

use super::*;

fn certificate(first_year: i32, last_year: i32) -> CertificateDer<'static> {
    let names = ["mem.default.zino".to_owned(), "ctx.default.zino".to_owned()];
    let mut params = CertificateParams::new(names).unwrap();
    params
        .distinguished_name
        .push(DnType::OrganizationName, "zot");
    params.distinguished_name.push(DnType::CommonName, "nœud 1");
    params.not_before = date_time_ymd(first_year, 2, 3);
    params.not_after = date_time_ymd(last_year, 12, 31);
    let key = KeyPair::generate().unwrap();
    params.self_signed(&key).unwrap().der().clone()
}

#[test]
fn a_certificate_is_decoded() {
    // The form of a time changes in 2050.
    for (first, last) in [(2020, 2030), (1999, 2049), (2030, 2050), (2050, 2101)] {
        let der = certificate(first, last);
        let decoded = Certificate::decode(&der).unwrap();
        assert_eq!(decoded.names, ["mem.default.zino", "ctx.default.zino"]);
        assert_eq!(decoded.subject, "nœud 1");
        assert_eq!(decoded.issuer, "nœud 1");
        assert_eq!(date(decoded.not_before), format!("{first}-02-03"));
        assert_eq!(date(decoded.not_after), format!("{last}-12-31"));
        assert_eq!(decoded.fingerprint.len(), 64);
    }
}

#[test]
fn a_truncated_certificate_is_damaged() {
    let der = certificate(2020, 2030);
    for length in 0..der.len() {
        let part = CertificateDer::from(der[..length].to_vec());
        assert_eq!(Certificate::decode(&part), Err(Damaged), "{length}");
        // The walk itself never leaves the bytes it was given.
        let _ = validity(&part);
        let _ = common_name(&part);
    }
}
