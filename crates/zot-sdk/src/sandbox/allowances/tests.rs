use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use zot_tools::Allowance;

use super::{MAX_ALLOWANCES_PER_PROJECT, ProjectAllowances};

fn host(text: &str) -> Allowance {
    Allowance::Connect(text.parse().unwrap())
}

#[test]
fn what_is_allowed_belongs_to_one_project() {
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = (directory.path().join("one"), directory.path().join("other"));
    fs::create_dir_all(&one).unwrap();
    fs::create_dir_all(&other).unwrap();
    let home = directory.path().join("home");
    let store = ProjectAllowances::new(&home);
    assert_eq!(store.list(&one).unwrap(), []);

    let entries = [
        host("github.com:443"),
        Allowance::Read(PathBuf::from("/srv/data")),
        Allowance::Write(PathBuf::from("/srv/out")),
    ];
    for entry in entries.iter().chain(&entries) {
        store.allow(&one, std::slice::from_ref(entry)).unwrap();
    }
    assert_eq!(store.list(&one).unwrap(), entries);
    assert_eq!(store.list(&one.join("../one")).unwrap(), entries);
    assert_eq!(store.list(&other).unwrap(), []);
    let mode = fs::metadata(home.join("sandbox.json"))
        .unwrap()
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);

    store.allow(&other, &[host("example.com")]).unwrap();
    let forgotten = store.forget(&one, Some("GitHub.com:443")).unwrap();
    assert_eq!(forgotten, [host("github.com:443")]);
    assert_eq!(store.forget(&one, Some("/srv")).unwrap(), []);
    assert_eq!(store.forget(&one, None).unwrap(), entries[1..]);
    assert_eq!(store.list(&one).unwrap(), []);
    assert_eq!(store.list(&other).unwrap(), [host("example.com")]);
}

#[test]
fn a_damaged_file_allows_nothing_and_is_not_overwritten() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("sandbox.json");
    fs::write(&path, "{\"projects\": [").unwrap();
    let store = ProjectAllowances::new(home.path());
    let error = store.list(home.path()).unwrap_err().to_string();
    assert!(error.contains("sandbox.json"), "{error}");
    store.allow(home.path(), &[host("a:1")]).unwrap_err();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"projects\": [");
}

#[test]
fn allowances_are_bounded() {
    let home = tempfile::tempdir().unwrap();
    let store = ProjectAllowances::new(home.path());
    for port in 1..=MAX_ALLOWANCES_PER_PROJECT {
        store
            .allow(home.path(), &[host(&format!("a:{port}"))])
            .unwrap();
    }
    store.allow(home.path(), &[host("a:1")]).unwrap();
    let error = store
        .allow(home.path(), &[host("b:1")])
        .unwrap_err()
        .to_string();
    assert!(error.contains("zot sandbox forget"), "{error}");
}

#[test]
fn several_processes_can_allow_at_once() {
    let home = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for port in 1..=8 {
            let store = ProjectAllowances::new(home.path());
            let directory = home.path();
            scope.spawn(move || {
                store
                    .allow(directory, &[host(&format!("a:{port}"))])
                    .unwrap()
            });
        }
    });
    assert_eq!(
        ProjectAllowances::new(home.path())
            .list(home.path())
            .unwrap()
            .len(),
        8
    );
}
