use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use super::{FileError, Location, open_regular, reason};
use crate::test_support::make_fifo;

fn replace(path: &Path, content: &[u8]) -> Result<(), FileError> {
    super::replace(&Location::Anywhere(path.to_owned()), content)
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn keeps_the_mode_and_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("script");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o754)).unwrap();
    let before = fs::metadata(&path).unwrap().ino();

    replace(&path, b"new").unwrap();

    assert_eq!(fs::read(&path).unwrap(), b"new");
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!(metadata.mode() & 0o7777, 0o754);
    assert_ne!(metadata.ino(), before, "replaced by a rename");
    assert_eq!(names(directory.path()), ["script"]);
}

#[test]
fn follows_links_to_files_and_to_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir(root.join("real")).unwrap();
    fs::write(root.join("real/file"), "old").unwrap();
    symlink("real/file", root.join("near")).unwrap();
    symlink("near", root.join("far")).unwrap();
    symlink("real/fresh", root.join("dangling")).unwrap();
    symlink("round", root.join("round")).unwrap();

    replace(&root.join("far"), b"new").unwrap();
    replace(&root.join("dangling"), b"made").unwrap();

    assert_eq!(fs::read(root.join("real/file")).unwrap(), b"new");
    assert_eq!(fs::read(root.join("real/fresh")).unwrap(), b"made");
    assert!(root.join("near").is_symlink() && root.join("far").is_symlink());
    assert_eq!(names(&root.join("real")), ["file", "fresh"]);
    let error = replace(&root.join("round"), b"x").unwrap_err().to_string();
    assert!(
        error.ends_with("round: too many levels of symbolic links"),
        "{error}"
    );
}

#[test]
fn hard_links_stay_linked() {
    let directory = tempfile::tempdir().unwrap();
    let (one, two) = (directory.path().join("one"), directory.path().join("two"));
    fs::write(&one, "a long old text").unwrap();
    fs::hard_link(&one, &two).unwrap();
    replace(&one, b"new").unwrap();
    assert_eq!(fs::read(&two).unwrap(), b"new");
}

#[test]
fn owner_is_kept() {
    if !is_root() {
        return; // Only root can make a file that belongs to someone else.
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("theirs");
    fs::write(&path, "old").unwrap();
    std::os::unix::fs::chown(&path, Some(1234), Some(2345)).unwrap();
    replace(&path, b"new").unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (1234, 2345));
}

#[test]
fn read_only_files_are_treated_as_by_ordinary_writing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("locked");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let outcome = replace(&path, b"new");
    if is_root() {
        outcome.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o444);
    } else {
        let expected = format!("open {}: permission denied", path.display());
        assert_eq!(outcome.unwrap_err().to_string(), expected);
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }
    assert_eq!(names(directory.path()), ["locked"]);
}

#[test]
fn failures_leave_no_temporary_file() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir(root.join("sub")).unwrap();
    make_fifo(&root.join("fifo"));
    fs::write(root.join("file"), "").unwrap();
    for name in ["sub", "fifo", "file/below", &"n".repeat(300)] {
        assert!(replace(&root.join(name), b"x").is_err(), "{name}");
    }
    assert_eq!(names(root), ["fifo", "file", "sub"]);
}

#[test]
fn only_regular_files_are_opened() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    make_fifo(&fifo);
    for (path, expected) in [
        (fifo.as_path(), "is a named pipe, not a regular file"),
        (Path::new("/dev/zero"), "is a device, not a regular file"),
        (directory.path(), "is a directory"),
    ] {
        let location = Location::Anywhere(path.to_owned());
        let error = open_regular(&location).unwrap_err().to_string();
        assert_eq!(error, format!("{} {expected}", path.display()));
    }
}

#[test]
fn reasons_are_the_systems_words_in_lower_case() {
    let missing = std::io::Error::from(rustix::io::Errno::NOENT);
    assert_eq!(reason(&missing), "no such file or directory");
    assert_eq!(reason(&std::io::Error::other("Odd")), "odd");
}
