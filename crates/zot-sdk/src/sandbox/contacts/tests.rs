use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use zot_process::sandbox::Contact;

use super::{NetworkLog, contacted_hosts};

fn contact(host: &str, is_allowed: bool, times: u64, second: u64) -> Contact {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
    Contact {
        host: host.to_owned(),
        port: 443,
        is_allowed,
        private_address: None,
        times,
        first: time,
        last: time,
    }
}

#[test]
fn hosts_are_counted_over_sessions() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(contacted_hosts(home.path()), []);
    let mut one = NetworkLog::new(home.path(), Path::new("/one"), Some("s1".to_owned()));
    one.write(vec![contact("a", true, 1, 1), contact("b", false, 2, 2)]);
    // Nothing new, then one more.
    one.write(vec![contact("a", true, 1, 1), contact("b", false, 2, 2)]);
    one.write(vec![contact("a", true, 1, 1), contact("b", false, 3, 3)]);
    let mut other = NetworkLog::new(home.path(), Path::new("/other"), None);
    other.write(vec![contact("b", false, 1, 4)]);

    let hosts = contacted_hosts(home.path());
    let found: Vec<(&str, bool, u64, &str, Option<&str>)> = hosts
        .iter()
        .map(|host| {
            let session = host.session.as_deref();
            (
                host.host.as_str(),
                host.is_allowed,
                host.times,
                host.directory.as_str(),
                session,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("b", false, 4, "/other", None),
            ("a", true, 1, "/one", Some("s1"))
        ]
    );
    assert_eq!(hosts[0].last, "1970-01-01T00:00:04.000Z");

    let path = home.path().join("logs/network.jsonl");
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 4);
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_record_is_bounded_and_survives_damage() {
    let home = tempfile::tempdir().unwrap();
    let mut log = NetworkLog::new(home.path(), Path::new("/one"), None);
    let name = "x".repeat(250);
    for number in 0..10_000 {
        log.write(vec![contact(&format!("{name}{}", number % 3), true, 1, 1)]);
        log.written.clear();
    }
    let size = |name: &str| fs::metadata(home.path().join(name)).unwrap().len();
    assert!(size("logs/network.jsonl") <= super::MAX_NETWORK_LOG_BYTES);
    assert!(size("logs/network.jsonl.1") <= super::MAX_NETWORK_LOG_BYTES);
    assert_eq!(contacted_hosts(home.path()).len(), 3);
    fs::write(home.path().join("logs/network.jsonl"), "{\"time\": \"x").unwrap();
    assert_eq!(contacted_hosts(home.path()).len(), 3);
}
