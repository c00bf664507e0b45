use std::os::unix::net::UnixListener;

use super::*;

#[test]
fn who_listens_is_left_alone_and_who_is_gone_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.sock");
    let place = SocketPlace::take(&path).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    let file = place.bound(0o600).unwrap();
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    assert!(matches!(
        SocketPlace::take(&path),
        Err(SocketError::Live(_))
    ));

    // What a process leaves that is killed.
    drop(listener);
    let place = SocketPlace::take(&path).unwrap();
    assert!(!path.exists());
    // Takes the number of the old file, so that this also holds where no birth times are known.
    fs::write(directory.path().join("other"), "").unwrap();
    let _listener = UnixListener::bind(&path).unwrap();
    let successor = place.bound(0o660).unwrap();
    drop(file);
    assert!(path.exists(), "it is another's now");
    drop(successor);
    assert!(!path.exists());
}

#[test]
fn a_file_is_not_taken_for_a_socket() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes.txt");
    fs::write(&path, "mine").unwrap();
    assert!(matches!(
        SocketPlace::take(&path),
        Err(SocketError::NotASocket(_))
    ));
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}
