use std::os::unix::net::UnixListener;

use super::*;

#[test]
fn a_live_socket_is_refused_and_a_stale_one_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.sock");
    let claimed = SocketPath::claim(&path).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    let file = claimed.bound(0o600).unwrap();
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    assert!(matches!(
        SocketPath::claim(&path),
        Err(SocketError::Live(_))
    ));

    // A killed process leaves its socket behind.
    drop(listener);
    let claimed = SocketPath::claim(&path).unwrap();
    assert!(!path.exists());
    // Takes the inode of the old file, for file systems without creation times.
    fs::write(directory.path().join("other"), "").unwrap();
    let _listener = UnixListener::bind(&path).unwrap();
    let successor = claimed.bound(0o660).unwrap();
    drop(file);
    assert!(path.exists(), "the socket belongs to the successor");
    drop(successor);
    assert!(!path.exists());
}

#[test]
fn a_regular_file_is_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes.txt");
    fs::write(&path, "mine").unwrap();
    assert!(matches!(
        SocketPath::claim(&path),
        Err(SocketError::NotASocket(_))
    ));
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}
