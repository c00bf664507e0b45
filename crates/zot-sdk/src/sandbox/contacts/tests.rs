use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use zot_process::sandbox::Contact;

use super::{Caller, NetworkLog, contacted_hosts, network_log_path};

fn log(zot_home: &Path, directory: &str, session: Option<&str>) -> NetworkLog {
    let caller = Caller {
        session: session.map(str::to_owned),
        program: None,
        directory: directory.to_owned(),
    };
    NetworkLog::new(zot_home, caller)
}

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
    let mut one = log(home.path(), "/one", Some("s1"));
    one.write(vec![contact("a", true, 1, 1), contact("b", false, 2, 2)]);
    // Nothing new, then one more.
    one.write(vec![contact("a", true, 1, 1), contact("b", false, 2, 2)]);
    one.write(vec![contact("a", true, 1, 1), contact("b", false, 3, 3)]);
    let mut other = log(home.path(), "/other", None);
    other.write(vec![contact("b", false, 1, 4)]);

    let hosts = contacted_hosts(home.path());
    let found: Vec<(&str, bool, u64, &str, Option<&str>)> = hosts
        .iter()
        .map(|host| {
            let session = host.caller.session.as_deref();
            (
                host.host.as_str(),
                host.is_allowed,
                host.times,
                host.caller.directory.as_str(),
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

    // What a program that runs for long contacts is its own.
    let program = Caller {
        program: Some("extension x".to_owned()),
        ..Caller::default()
    };
    NetworkLog::new(home.path(), program).write(vec![contact("b", false, 1, 5)]);
    let hosts = contacted_hosts(home.path());
    assert_eq!([hosts[0].times, hosts[1].times], [1, 4]);
}

#[test]
fn a_damaged_record_is_read_as_far_as_possible() {
    let home = tempfile::tempdir().unwrap();
    log(home.path(), "/one", None).write(vec![contact("a", true, 1, 1)]);
    let path = network_log_path(home.path());
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}{{\"time\": \"x")).unwrap();
    assert_eq!(contacted_hosts(home.path()).len(), 1);
}
