use std::fs;

use super::read_limited;

#[test]
fn a_missing_file_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.json");
    assert_eq!(read_limited(&path, 10).unwrap(), None);
    fs::write(&path, "{}").unwrap();
    assert_eq!(read_limited(&path, 10).unwrap().as_deref(), Some("{}"));
    assert_eq!(read_limited(&path.join("below"), 10).unwrap(), None);
}

#[test]
fn directories_and_files_over_the_limit_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    assert!(read_limited(directory.path(), 10).is_err());
    let path = directory.path().join("long");
    fs::write(&path, "12345678901").unwrap();
    assert!(read_limited(&path, 10).is_err());
    assert!(read_limited(&path, 11).unwrap().is_some());
}

#[test]
fn special_files_are_refused_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&pipe, &link).unwrap();
    let socket = directory.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (path, found) in [
        (pipe.as_path(), "a named pipe"),
        (&link, "a named pipe"),
        (&socket, "a socket"),
        (directory.path(), "a directory"),
        (std::path::Path::new("/dev/zero"), "a device"),
    ] {
        let expected = format!("it is {found}, expected a regular file");
        assert_eq!(read_limited(path, 10).unwrap_err().to_string(), expected);
        let mut appending = fs::OpenOptions::new();
        let appended = super::open_as(path, appending.append(true).create(true));
        assert_eq!(appended.unwrap_err().to_string(), expected);
        assert_eq!(
            super::check_regular(path).unwrap_err().to_string(),
            expected
        );
    }
}
