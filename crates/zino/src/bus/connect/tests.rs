use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn parsed(url: &str) -> Result<Servers, String> {
    Servers::parse(url).map_err(|error| error.to_string())
}

#[test]
fn only_loopback_needs_no_encryption() {
    for url in [
        "nats://127.0.0.1:4222",
        "nats://localhost",
        "nats://[::1]:4222",
    ] {
        assert!(parsed(url).unwrap().is_local, "{url}");
    }
    for url in [
        "nats://10.0.0.1",
        "tls://nats.example",
        "nats://127.0.0.1,nats://b",
    ] {
        assert!(!parsed(url).unwrap().is_local, "{url}");
    }
}

#[test]
fn an_error_about_an_address_does_not_show_its_password() {
    for url in ["http://me:secret@host", "nats://me:secret@host:x"] {
        let error = parsed(url).unwrap_err();
        assert!(error.contains("host"), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
    let servers = parsed("nats://me:secret@host:1, tls://other").unwrap();
    assert_eq!(servers.to_string(), "host:1, other:4222");
    assert_eq!(
        servers.user,
        Some(("me".to_owned(), Some("secret".to_owned())))
    );
}

#[test]
fn a_seed_that_others_can_read_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("seed");
    fs::write(&path, "SUAMKTRPCL7KW6JGZJZYRG7CPJB4SZJ\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let mut config = Config::default();
    config.bus.nkey = Some(path.clone());
    let error = check(&config, "nats://127.0.0.1").unwrap_err();
    assert!(
        matches!(error, BusError::Exposed { mode: 0o640, .. }),
        "{error}"
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    check(&config, "nats://127.0.0.1").unwrap();
    fs::write(&path, "hello\n").unwrap();
    let error = check(&config, "nats://127.0.0.1").unwrap_err();
    assert!(matches!(error, BusError::BadSeed(_)), "{error}");
}
