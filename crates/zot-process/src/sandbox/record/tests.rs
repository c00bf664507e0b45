use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::SystemTime;

use super::{Caller, MAX_NETWORK_LOG_BYTES, NetworkLog, network_log_path};
use crate::sandbox::Contact;

fn contact(host: &str, times: u64) -> Contact {
    Contact {
        host: host.to_owned(),
        port: 443,
        is_allowed: true,
        private_address: None,
        times,
        first: SystemTime::UNIX_EPOCH,
        last: SystemTime::UNIX_EPOCH,
    }
}

#[test]
fn a_line_tells_what_is_new() {
    let home = tempfile::tempdir().unwrap();
    let caller = Caller {
        program: Some("extension x".to_owned()),
        directory: "/one".to_owned(),
        ..Caller::default()
    };
    let mut log = NetworkLog::new(home.path(), caller);
    assert_eq!(log.write(vec![contact("a", 2)]).len(), 1);
    assert_eq!(log.write(vec![contact("a", 2)]), []);
    assert_eq!(log.write(vec![contact("a", 5)]).len(), 1);
    let path = network_log_path(home.path());
    let line = |times: u64| {
        format!(
            r#"{{"time":"1970-01-01T00:00:00.000Z","program":"extension x","directory":"/one","host":"a","port":443,"allowed":true,"times":{times}}}"#
        )
    };
    let expected = format!("{}\n{}\n", line(2), line(3));
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn two_reasons_of_a_refusal_are_counted_apart() {
    let home = tempfile::tempdir().unwrap();
    let mut log = NetworkLog::new(home.path(), Caller::default());
    let mut private = contact("a", 1);
    private.private_address = Some([10, 0, 0, 1].into());
    let both = vec![contact("a", 5), private];
    assert_eq!(log.write(both.clone()).len(), 2);
    assert_eq!(log.write(both), []);
}

#[test]
fn the_record_is_bounded() {
    let home = tempfile::tempdir().unwrap();
    let mut log = NetworkLog::new(home.path(), Caller::default());
    let name = "x".repeat(250);
    for number in 0..10_000 {
        log.write(vec![contact(&format!("{name}{}", number % 3), 1)]);
        log.written.clear();
    }
    let size = |name: &str| fs::metadata(home.path().join(name)).unwrap().len();
    assert!(size("logs/network.jsonl") <= MAX_NETWORK_LOG_BYTES);
    assert!(size("logs/network.jsonl.1") <= MAX_NETWORK_LOG_BYTES);
}
