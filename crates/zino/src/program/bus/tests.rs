use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::kind::ServiceKind;

fn process(name: &str, role: Role) -> Process {
    Process {
        name: name.to_owned(),
        role,
    }
}

fn request(listen: &str) -> InitRequest {
    let services = Role::Services;
    InitRequest {
        processes: vec![
            process(
                "core",
                services(vec![ServiceKind::Daemon, ServiceKind::AgentLoop]),
            ),
            process("exc", services(vec![ServiceKind::Executor])),
            process("mem", services(vec![ServiceKind::Memory])),
            process("agent", Role::Agent),
            process("client", Role::Client),
            process("watch", Role::Watcher),
        ],
        namespace: "prod".to_owned(),
        listen: listen.parse().unwrap(),
    }
}

fn permissions_of(name: &str) -> Permissions {
    let processes = request("127.0.0.1:4222").processes;
    let process = processes.iter().find(|process| process.name == name);
    permissions(process.unwrap(), &processes, "prod")
}

#[test]
fn an_executor_can_only_claim_and_respond_to_the_loop() {
    assert_eq!(
        permissions_of("exc"),
        Permissions {
            publish: vec![
                "zino.prod.claims".to_owned(),
                "zino.prod.claims.i.*".to_owned(),
                "zino.prod.ctl.mem.>".to_owned(),
                "zino.prod.hb.exc".to_owned(),
                "_INBOX_core.>".to_owned(),
                "zino.prod.ctl.exc.*.echo".to_owned(),
            ],
            subscribe: vec![
                "zino.prod.exc".to_owned(),
                "zino.prod.exc.i.*".to_owned(),
                "_INBOX_exc.>".to_owned(),
                "zino.prod.ctl.exc.>".to_owned(),
                "zino.prod.hb.>".to_owned(),
            ],
        }
    );
}

#[test]
fn only_those_who_call_the_executor_can_publish_to_it() {
    for name in ["exc", "mem", "agent", "client", "watch"] {
        let publish = permissions_of(name).publish;
        assert!(!publish.contains(&"zino.prod.exc".to_owned()), "{name}");
    }
    let core = permissions_of("core").publish;
    assert!(core.contains(&"zino.prod.exc".to_owned()), "{core:?}");
    assert!(core.contains(&"_INBOX_client.>".to_owned()), "{core:?}");
    let watch = permissions_of("watch").publish;
    assert_eq!(watch, ["zino.prod.ctl.watch.*.echo"]);
}

#[test]
fn keys_are_kept_and_the_servers_file_is_not_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().join("bus");
    let files = init(&directory, &request("127.0.0.1:4222")).unwrap();
    assert!(!files.needs_certificate);
    let text = fs::read_to_string(&files.server).unwrap();
    assert!(!text.contains("tls"), "{text}");
    let seeds: Vec<String> = files
        .keys
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    for (path, seed) in files.keys.iter().zip(&seeds) {
        let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", path.display());
        let key = KeyPair::from_seed(seed.trim()).unwrap();
        assert!(text.contains(&key.public_key()), "{text}");
    }
    let error = init(&directory, &request("127.0.0.1:4222")).unwrap_err();
    assert!(matches!(error, BusFilesError::Exists(_)), "{error}");
    fs::remove_file(&files.server).unwrap();
    let again = init(&directory, &request("0.0.0.0:4222")).unwrap();
    assert!(again.needs_certificate);
    assert_eq!(again.keys, files.keys);
    for (path, seed) in again.keys.iter().zip(&seeds) {
        assert_eq!(&fs::read_to_string(path).unwrap(), seed);
    }
}

#[test]
fn names_are_checked() {
    let directory = tempfile::tempdir().unwrap();
    let mut bad = request("127.0.0.1:4222");
    bad.processes[0].name = "a.b".to_owned();
    let error = init(directory.path(), &bad).unwrap_err();
    assert!(matches!(error, BusFilesError::BadName(_)), "{error}");
    let mut twice = request("127.0.0.1:4222");
    twice.processes[0].name = "exc".to_owned();
    let error = init(directory.path(), &twice).unwrap_err();
    assert!(matches!(error, BusFilesError::TwoOfOneName(_)), "{error}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
