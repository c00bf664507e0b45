//! Callers and services that must not trust each other: each says why, on both sides.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::authority::{Authority, TLS, Validity, write_key};
use crate::installation::{Installation, Process, eventually, text};
use crate::network::{peer, ports, up};
use crate::stack::TEST_TIMEOUT;

const NO_MODEL: &str = "http://127.0.0.1:1/v1";

/// An installation that serves `mem` with the given certificate.
fn serving(authority: &Authority, names: &[&str], validity: Validity) -> (Installation, Process) {
    let more = format!("{TLS}listen.mem = \"tls://127.0.0.1:0\"\n");
    let installation = Installation::new(NO_MODEL, &more);
    authority.equip_as(&installation, names, validity);
    let process = up(&installation, &["--only", "mem"], 1);
    (installation, process)
}

/// An installation that calls the `mem` of another.
fn calling(server: &Process) -> Installation {
    let more = format!("{TLS}{}", peer("mem", "tls", &ports(server)));
    Installation::new(NO_MODEL, &more)
}

/// Checks what `zino status` says about the other installation, and what that one logs.
fn check(caller: &Installation, server: &Process, shown: &str, logged: &str) {
    let output = caller.run(&["status"]);
    assert!(!output.status.success());
    let address = format!("tls://127.0.0.1:{}", ports(server)[0]);
    let expected = format!("mem     down     {address}: {shown}");
    let output = text(&output.stdout);
    assert!(output.contains(&expected), "{expected}\n{output}");
    eventually("the service logs it", || {
        let log = server.log();
        let refused = log.lines().filter(|line| line.contains("WARNING"));
        refused.filter(|line| line.ends_with(logged)).count() == 1
    });
}

#[test]
fn a_caller_with_a_bad_certificate_is_refused() {
    let authority = Authority::new();
    for (validity, logged) in [
        (Validity::Expired, "its certificate expired on 2021-01-01"),
        (
            Validity::Future,
            "its certificate is not valid before 2100-01-01",
        ),
    ] {
        let (_server, process) = serving(&authority, &["mem"], Validity::Present);
        let caller = calling(&process);
        authority.equip_as(&caller, &["daemon"], validity);
        let shown = "refused our certificate: it has expired or is not yet valid";
        check(&caller, &process, shown, logged);
    }
    let (_server, process) = serving(&authority, &["mem"], Validity::Present);
    let caller = calling(&process);
    authority.equip(&caller, &["daemon"]);
    let (certificate, key) =
        Authority::new().issue(vec!["daemon.default.zino".to_owned()], Validity::Present);
    fs::write(caller.path("certs/own.pem"), certificate).unwrap();
    write_key(&caller.path("certs/own.key"), &key);
    check(
        &caller,
        &process,
        "refused our certificate: it is from another authority",
        "its certificate is from another authority",
    );
}

#[test]
fn a_service_with_a_bad_certificate_is_refused() {
    let authority = Authority::new();
    for (service, names, validity, shown, logged) in [
        (
            &authority,
            &["ctx", "rtr"][..],
            Validity::Present,
            "its certificate is for ctx.default.zino, rtr.default.zino, not for mem.default.zino",
            "refused our certificate: it is not valid for the service called",
        ),
        (
            &authority,
            &["mem"],
            Validity::Expired,
            "its certificate expired on 2021-01-01",
            "refused our certificate: it has expired or is not yet valid",
        ),
        (
            &Authority::new(),
            &["mem"],
            Validity::Present,
            "its certificate is from another authority",
            "refused our certificate: it is from another authority",
        ),
    ] {
        let (_server, process) = serving(service, names, validity);
        let caller = calling(&process);
        authority.equip(&caller, &["daemon"]);
        check(&caller, &process, shown, logged);
    }
}

#[test]
fn a_caller_without_a_certificate_is_refused() {
    let authority = Authority::new();
    let (server, process) = serving(&authority, &["mem"], Validity::Present);
    let mut trusted = RootCertStore::empty();
    let ca = fs::read(server.path("certs/ca.pem")).unwrap();
    trusted
        .add(CertificateDer::from_pem_slice(&ca).unwrap())
        .unwrap();
    let config =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(trusted)
            .with_no_client_auth();
    let name = ServerName::try_from("mem.default.zino").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(("127.0.0.1", ports(&process)[0])).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let mut stream = StreamOwned::new(connection, stream);
    let error = match stream.write_all(b"x").and_then(|()| stream.flush()) {
        Ok(()) => stream.read(&mut [0]).unwrap_err(),
        Err(error) => error,
    };
    assert!(error.to_string().contains("CertificateRequired"), "{error}");
    eventually("the service logs it", || {
        process.log().contains("it sent no certificate")
    });
}

#[test]
fn a_caller_that_is_not_in_the_table_is_refused() {
    let authority = Authority::new();
    let more = format!("{TLS}listen.daemon = \"tls://127.0.0.1:0\"\n");
    let server = Installation::new(NO_MODEL, &more);
    authority.equip(&server, &["daemon"]);
    let process = up(&server, &["--only", "daemon"], 1);
    let caller = Installation::new(
        NO_MODEL,
        &format!("{TLS}{}", peer("daemon", "tls", &ports(&process))),
    );
    authority.equip(&caller, &["web"]);
    let refusal = "web.default.zino may not call daemon: allowed are client.default.zino";
    let output = caller.run(&["cli", "hello"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), format!("Error: {refusal}\n"));
    assert!(process.log().contains(&format!("refused: {refusal}")));
    // It may still ask whether the service is there.
    let output = caller.run(&["status"]);
    let line = text(&output.stdout);
    let line = line.lines().find(|line| line.contains("tls://")).unwrap();
    assert!(line.starts_with("daemon  answers"), "{line}");
}
