use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use rustls::pki_types::ServerName;

use super::*;
use crate::config::network::TlsFiles;
use crate::network::identity::{Identity, read_certificates};

fn request(names: &[&str], services: &[&str]) -> IssueRequest {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    IssueRequest {
        names: owned(names),
        services: owned(services),
        hosts: Vec::new(),
        days: 30,
        namespace: "default".to_owned(),
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_is_issued_is_an_identity() {
    let directory = tempfile::tempdir().unwrap();
    let certs = directory.path().join("certs");
    let authority = init(&certs).unwrap();
    assert_eq!(mode(&certs), 0o700);
    assert_eq!(mode(&authority.key), 0o600);
    let issued = issue(&certs, &request(&["node-1"], &["daemon", "mem"])).unwrap();
    assert_eq!(mode(&issued[0].key), 0o600);
    let names = ["daemon.default.zino", "mem.default.zino"];
    assert_eq!(issued[0].names, names);
    let identity = Identity::read(TlsFiles {
        ca: &authority.certificate,
        certificate: &issued[0].certificate,
        key: &issued[0].key,
    })
    .unwrap();
    assert_eq!(identity.certificate.names, names);
    for path in [&authority.certificate, &issued[0].certificate] {
        let inspections = inspect(path).unwrap();
        assert_eq!(inspections.len(), 1);
        assert_eq!(inspections[0].problems, Vec::<String>::new());
    }
    let each = issue(&certs, &request(&["client", "web"], &[])).unwrap();
    assert_eq!(each[0].names, ["client.default.zino"]);
    assert_eq!(each[1].names, ["web.default.zino"]);
}

#[test]
fn a_certificate_for_another_server_has_the_names_its_callers_use() {
    let directory = tempfile::tempdir().unwrap();
    let certs = directory.path();
    init(certs).unwrap();
    let request = IssueRequest {
        hosts: ["nats.example.com", "10.0.0.7"].map(str::to_owned).to_vec(),
        ..request(&["nats"], &[])
    };
    let issued = issue(certs, &request).unwrap();
    assert_eq!(issued[0].names, request.hosts);
    let certificates = read_certificates(&issued[0].certificate).unwrap();
    let certificate = webpki::EndEntityCert::try_from(&certificates[0]).unwrap();
    let is_valid_for = |host: &str| {
        let name = ServerName::try_from(host).unwrap();
        certificate.verify_is_valid_for_subject_name(&name).is_ok()
    };
    assert!(is_valid_for("nats.example.com") && is_valid_for("10.0.0.7"));
    assert!(!is_valid_for("nats.default.zino") && !is_valid_for("10.0.0.8"));
    for host in ["", "a b", "http://nats", "nats:4222", "-", "a..b"] {
        let request = IssueRequest {
            names: vec!["other".to_owned()],
            hosts: vec![host.to_owned()],
            ..request.clone()
        };
        let error = issue(certs, &request).unwrap_err();
        assert!(matches!(error, CertsError::BadHost(_)), "{host:?}: {error}");
    }
}

#[test]
fn nothing_is_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let certs = directory.path();
    init(certs).unwrap();
    issue(certs, &request(&["client"], &[])).unwrap();
    let read = |name: &str| fs::read(certs.join(name)).unwrap();
    let files = ["ca.pem", "ca.key", "client.pem", "client.key"];
    let before = files.map(read);
    let error = init(certs).unwrap_err();
    assert!(matches!(error, CertsError::AuthorityExists(_)), "{error}");
    // The key alone is reason enough.
    fs::rename(certs.join("client.pem"), certs.join("old.pem")).unwrap();
    let error = issue(certs, &request(&["client"], &[])).unwrap_err();
    assert!(matches!(error, CertsError::Exists(_)), "{error}");
    fs::rename(certs.join("old.pem"), certs.join("client.pem")).unwrap();
    assert_eq!(files.map(read), before);
}

#[test]
fn bad_requests_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let certs = directory.path();
    let error = issue(certs, &request(&["client"], &[])).unwrap_err();
    assert!(matches!(error, CertsError::NoAuthority(_)), "{error}");
    init(certs).unwrap();
    for name in ["", "Client", "a.b", "../x", "-a", "a b"] {
        let error = issue(certs, &request(&[name], &[])).unwrap_err();
        assert!(matches!(error, CertsError::BadName(_)), "{name}: {error}");
    }
    let error = issue(certs, &request(&["ca"], &[])).unwrap_err();
    assert!(matches!(error, CertsError::ReservedName), "{error}");
    for days in [0, 40_000] {
        let mut request = request(&["client"], &[]);
        request.days = days;
        let error = issue(certs, &request).unwrap_err();
        assert!(matches!(error, CertsError::BadDays(_)), "{error}");
    }
    fs::set_permissions(certs.join("ca.key"), Permissions::from_mode(0o640)).unwrap();
    let error = issue(certs, &request(&["client"], &[])).unwrap_err();
    assert!(error.to_string().contains("run chmod 600"), "{error}");
}

#[test]
fn no_certificate_outlives_its_authority() {
    let directory = tempfile::tempdir().unwrap();
    let authority = init(directory.path()).unwrap();
    let mut request = request(&["client"], &[]);
    request.days = 36_500;
    let issued = issue(directory.path(), &request).unwrap();
    assert_eq!(issued[0].expires, authority.expires);
}

#[test]
fn what_is_wrong_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let (one, two) = (directory.path().join("one"), directory.path().join("two"));
    for certs in [&one, &two] {
        init(certs).unwrap();
        issue(certs, &request(&["client"], &[])).unwrap();
    }
    let problems = || inspect(&one.join("client.pem")).unwrap().remove(0).problems;
    fs::copy(two.join("client.key"), one.join("client.key")).unwrap();
    let found = problems();
    assert!(found[0].ends_with("client.key is not its key"), "{found:?}");
    fs::copy(two.join("ca.pem"), one.join("ca.pem")).unwrap();
    let found = problems();
    assert!(found[0].ends_with("ca.pem has not issued it"), "{found:?}");
    fs::write(one.join("client.key"), "nothing").unwrap();
    let found = problems();
    assert!(found[1].contains("has no private key"), "{found:?}");
    let error = inspect(&one.join("client.key")).unwrap_err();
    assert!(error.to_string().contains("has no certificate"), "{error}");
}

#[test]
fn the_end_of_a_certificate_is_announced() {
    let directory = tempfile::tempdir().unwrap();
    init(directory.path()).unwrap();
    let mut short = request(&["client"], &[]);
    short.days = 10;
    issue(directory.path(), &short).unwrap();
    let certificate = inspect(&directory.path().join("client.pem"))
        .unwrap()
        .remove(0)
        .certificate;
    let day = jiff::SignedDuration::from_hours(24);
    let at = |days: i32| inspect_one(certificate.clone(), certificate.not_after + day * days);
    assert_eq!(
        at(1).problems,
        [format!("expired on {}", short_date(&certificate))]
    );
    assert_eq!(at(-3).warnings.len(), 1);
    assert_eq!(at(-3).days_left, 3);
    assert!(at(-30).problems[0].starts_with("not valid before"));
}

fn short_date(certificate: &crate::network::certificate::Certificate) -> String {
    crate::network::certificate::date(certificate.not_after)
}
