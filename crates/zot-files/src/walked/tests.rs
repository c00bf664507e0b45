use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::{Replacement, WalkError, WalkedFile};

/// Creates a directory whose path has no links, like a recorded path.
fn directory() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    (directory, path)
}

#[test]
fn a_file_is_read_replaced_and_removed() {
    let (_guard, at) = directory();
    let path = at.join("f");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let mut file = WalkedFile::find(&path).unwrap();
    assert_eq!(file.content(3).unwrap().as_deref(), Some(&b"old"[..]));
    file.replace(b"new", Replacement::Rename, None).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
    WalkedFile::find(&path).unwrap().remove().unwrap();
    assert_eq!(
        fs::read_dir(&at).unwrap().count(),
        0,
        "nothing is left behind"
    );
}

#[test]
fn a_missing_file_is_created_with_its_directories() {
    let (_guard, at) = directory();
    let path = at.join("a/b/f");
    let file = WalkedFile::find(&path).unwrap();
    assert!(!file.exists());
    file.replace(b"x", Replacement::Rename, Some(0o600))
        .unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "x");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn links_and_special_files_are_refused_and_named() {
    let (_guard, at) = directory();
    fs::create_dir(at.join("real")).unwrap();
    fs::write(at.join("real/f"), "x").unwrap();
    symlink("real", at.join("link")).unwrap();
    symlink("real/f", at.join("f")).unwrap();
    symlink("nowhere", at.join("dangling")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(at.join("pipe"))
        .status();
    assert!(made.unwrap().success());
    for (name, expected) in [
        ("link/f", "link is a symbolic link"),
        ("f", "f is a symbolic link"),
        ("dangling", "dangling is a symbolic link"),
        ("pipe", "it is a named pipe, expected a regular file"),
        ("real", "it is a directory, expected a regular file"),
        ("real/f/g", "f is not a directory"),
    ] {
        let error = WalkedFile::find(&at.join(name)).unwrap_err();
        assert!(error.to_string().contains(expected), "{name}: {error}");
        assert!(error.is_another_file(), "{name}: {error:?}");
    }
    for path in ["f", "/a/../b", "/", ""] {
        let refused = WalkedFile::find(Path::new(path));
        assert!(matches!(refused, Err(WalkError::NotAbsolute)), "{path}");
    }
}

#[test]
fn a_swapped_file_is_not_touched() {
    let (_guard, at) = directory();
    let (path, other) = (at.join("f"), at.join("other"));
    for replacement in [Replacement::Rename, Replacement::InPlace] {
        fs::write(&path, "old").unwrap();
        fs::write(&other, "other").unwrap();
        let file = WalkedFile::find(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::hard_link(&other, &path).unwrap();
        let refused = file.replace(b"new", replacement, None);
        assert!(matches!(refused, Err(WalkError::Exchanged)), "{refused:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "other");
        fs::remove_file(&path).unwrap();
    }
    fs::write(&path, "old").unwrap();
    let file = WalkedFile::find(&path).unwrap();
    fs::rename(&other, &path).unwrap();
    assert!(matches!(file.remove(), Err(WalkError::Exchanged)));
    assert_eq!(fs::read_to_string(&path).unwrap(), "other");
    let missing = WalkedFile::find(&at.join("g")).unwrap();
    symlink("f", at.join("g")).unwrap();
    let refused = missing.replace(b"new", Replacement::Rename, None);
    assert!(matches!(refused, Err(WalkError::Exchanged)), "{refused:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "other");
    assert_eq!(
        fs::read_dir(&at).unwrap().count(),
        2,
        "nothing is left behind"
    );
}

#[test]
fn a_moved_directory_still_receives_the_change() {
    let (_guard, at) = directory();
    fs::create_dir(at.join("d")).unwrap();
    fs::write(at.join("d/f"), "old").unwrap();
    fs::create_dir(at.join("outside")).unwrap();
    fs::write(at.join("outside/f"), "outside").unwrap();
    let file = WalkedFile::find(&at.join("d/f")).unwrap();
    fs::rename(at.join("d"), at.join("moved")).unwrap();
    symlink("outside", at.join("d")).unwrap();
    file.replace(b"new", Replacement::Rename, None).unwrap();
    assert_eq!(fs::read_to_string(at.join("outside/f")).unwrap(), "outside");
    assert_eq!(fs::read_to_string(at.join("moved/f")).unwrap(), "new");
}

#[test]
fn a_replacement_affects_one_hard_link_or_all() {
    let (_guard, at) = directory();
    let (path, second) = (at.join("f"), at.join("second"));
    fs::write(&path, "old").unwrap();
    fs::hard_link(&path, &second).unwrap();
    let file = WalkedFile::find(&path).unwrap();
    assert_eq!(file.links(), 2);
    file.replace(b"longer than before", Replacement::InPlace, None)
        .unwrap();
    assert_eq!(fs::read_to_string(&second).unwrap(), "longer than before");
    let file = WalkedFile::find(&path).unwrap();
    file.replace(b"new", Replacement::Rename, None).unwrap();
    assert_eq!(fs::read_to_string(&second).unwrap(), "longer than before");
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
}
