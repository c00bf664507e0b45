use std::fs;

use super::read_limited;

#[test]
fn what_is_there_is_read_and_what_is_not_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    assert_eq!(read_limited(&path, 10).unwrap(), None);
    fs::write(&path, "{}").unwrap();
    assert_eq!(read_limited(&path, 10).unwrap().as_deref(), Some("{}"));
    assert_eq!(read_limited(&path.join("below"), 10).unwrap(), None);
}

#[test]
fn folders_and_long_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(read_limited(folder.path(), 10).is_err());
    let path = folder.path().join("long");
    fs::write(&path, "12345678901").unwrap();
    assert!(read_limited(&path, 10).is_err());
    assert!(read_limited(&path, 11).unwrap().is_some());
}
