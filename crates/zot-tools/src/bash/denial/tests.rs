use super::{Complaint, named_paths, suspicion};

/// Returns the candidates of the only line that complains.
fn candidates(output: &str) -> Vec<&str> {
    let mut paths = named_paths(output);
    let path = paths.next().unwrap();
    assert_eq!(paths.next(), None, "{output}");
    path.candidates
}

#[test]
fn paths_are_found_in_the_words_of_common_programs() {
    for (output, expected) in [
        ("cat: /data/secret: Permission denied", "/data/secret"),
        (
            "/bin/sh: 1: cannot create /data/new: Permission denied",
            "/data/new",
        ),
        ("/bin/sh: line 1: /data/new: Permission denied", "/data/new"),
        (
            "/bin/sh: 1: cannot create ../new: Read-only file system",
            "../new",
        ),
        (
            "mkdir: cannot create directory ‘/data/a b’: Read-only file system",
            "/data/a b",
        ),
        (
            "touch: cannot touch '/data/it': Operation not permitted",
            "/data/it",
        ),
        (
            "PermissionError: [Errno 13] Permission denied: '/data/x y'",
            "/data/x y",
        ),
        (
            "Error: EACCES: permission denied, open '/data/x.js'",
            "/data/x.js",
        ),
        ("open /data/x.go: permission denied", "/data/x.go"),
        (
            "error: could not lock config file .git/config: Read-only file system",
            ".git/config",
        ),
        (
            "error: could not write config file .git/config: Device or resource busy",
            ".git/config",
        ),
        (
            "ls: cannot access '/data': No such file or directory",
            "/data",
        ),
        (
            "tee: /data/with space: Permission denied",
            "/data/with space",
        ),
    ] {
        let found = candidates(output);
        assert!(found.contains(&expected), "{output}: {found:?}");
    }
}

#[test]
fn a_change_is_told_from_reading() {
    let change = |line: &str| named_paths(line).next().unwrap().is_change;
    assert!(change("sh: 1: cannot create /x: Permission denied"));
    assert!(change("tee: /x: Read-only file system"));
    assert!(!change("cat: /x: Permission denied"));
}

#[test]
fn other_failures_are_not_taken_for_refusals() {
    for output in [
        "",
        "error[E0308]: mismatched types",
        "2 tests failed",
        "x: y",
    ] {
        assert_eq!(suspicion(output), None, "{output}");
        assert_eq!(named_paths(output).next(), None, "{output}");
    }
    // A missing file alone is no sign of a sandbox.
    let missing = "cat: /x: No such file or directory";
    assert_eq!(suspicion(missing), None);
    assert_eq!(
        named_paths(missing).next().unwrap().kind,
        Complaint::Missing
    );
    for output in [
        "curl: (6) Could not resolve host: example.com",
        "ssh: connect to host x port 22: Network is unreachable",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
    ] {
        let found = suspicion(output).unwrap();
        assert!(found.network && !found.files, "{output}");
    }
    let found = suspicion("mysql: socket '/run/x': Permission denied").unwrap();
    assert!(found.sockets && !found.files && !found.network);
    let found = suspicion("in socket.connect()\nPermissionError: Permission denied").unwrap();
    assert!(found.sockets && found.files && !found.network);
    let found = suspicion("cat: x: Permission denied").unwrap();
    assert!(found.files && !found.sockets && !found.network);
}

#[test]
fn odd_lines_do_not_panic() {
    for output in [
        ": Permission denied",
        "Permission denied",
        "''Permission denied",
        "’‘: permission denied",
        "İİİ: Permission denied ‘x",
        "\u{1f600}\u{0}: EACCES '",
    ] {
        for path in named_paths(output) {
            assert!(!path.candidates.is_empty());
        }
        assert!(suspicion(output).is_some(), "{output}");
    }
}
