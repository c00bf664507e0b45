use std::fs;
use std::os::unix::fs::symlink;

use super::Location;
use crate::file::{open_regular, replace};

fn below(root: &std::path::Path, inside: &str) -> Location {
    Location::Below {
        shown: inside.into(),
        root: root.to_owned(),
        inside: inside.into(),
        target: root.join(inside),
        layout: None,
        own: None,
    }
}

#[test]
fn directories_are_made_on_the_way() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    replace(&below(root, "a/b/c"), b"new").unwrap();
    replace(&below(root, "a/b/c"), b"newer").unwrap();
    assert_eq!(fs::read(root.join("a/b/c")).unwrap(), b"newer");
    assert_eq!(fs::read_dir(root.join("a/b")).unwrap().count(), 1);
    let error = replace(&below(root, "a/b/c/d"), b"x").unwrap_err();
    let expected = format!("mkdir {}: not a directory", root.join("a/b/c").display());
    assert_eq!(error.to_string(), expected);
}

#[test]
fn errors_name_the_path_as_it_was_asked_for() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    fs::create_dir(root.join("directory")).unwrap();
    symlink("directory", root.join("link")).unwrap();
    for (inside, expected) in [
        ("missing", "stat missing: no such file or directory"),
        ("no/file", "stat no/file: no such file or directory"),
        ("directory", "directory is a directory"),
        ("link", "link is a symbolic link, not a regular file"),
        ("link/file", "stat link/file: not a directory"),
    ] {
        let error = open_regular(&below(root, inside)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}
