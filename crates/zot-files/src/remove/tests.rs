use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

use super::remove_tree;

/// Names a directory to the test that removes it with few descriptors.
const VARIABLE: &str = "ZOT_TEST_REMOVE_TREE";

/// Makes directories in each other, with a file in each hundredth.
fn deep_tree(path: &Path, levels: usize) {
    fs::create_dir(path).unwrap();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut directory = openat(CWD, path, flags, Mode::empty()).unwrap();
    for level in 0..levels {
        if level % 100 == 0 {
            let flags = OFlags::CREATE | OFlags::WRONLY;
            openat(&directory, "file", flags, Mode::RUSR).unwrap();
        }
        mkdirat(&directory, "d", Mode::RWXU).unwrap();
        directory = openat(&directory, "d", flags, Mode::empty()).unwrap();
    }
}

/// Returns a directory in memory if possible: disks take minutes to remove so many directories.
fn fast_directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

#[test]
fn a_tree_may_be_deeper_than_a_path_is_long() {
    let directory = fast_directory();
    let path = directory.path().join("tree");
    deep_tree(&path, 30_000);
    // A test has a small stack already.
    remove_tree(&path).unwrap();
    assert!(!path.exists());
}

#[test]
fn a_tree_may_be_deeper_than_files_can_be_open() {
    let directory = fast_directory();
    let path = directory.path().join("tree");
    deep_tree(&path, 5_000);
    let status = Command::new("sh")
        .args(["-c", "ulimit -n 24 && exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "remove::tests::removes_what_it_is_told_to"])
        .args(["--test-threads", "1"])
        .env(VARIABLE, &path)
        .status();
    assert!(status.unwrap().success());
    assert!(!path.exists());
}

/// Only as a child of the test above.
#[test]
fn removes_what_it_is_told_to() {
    if let Some(path) = std::env::var_os(VARIABLE) {
        remove_tree(Path::new(&path)).unwrap();
    }
}

#[test]
fn wide_trees_are_removed() {
    let directory = fast_directory();
    let path = directory.path().join("tree");
    for outer in 0..40 {
        for inner in 0..40 {
            let inner = path.join(format!("{outer}/{inner}/deep"));
            fs::create_dir_all(&inner).unwrap();
            fs::write(inner.join("file"), "").unwrap();
        }
    }
    remove_tree(&path).unwrap();
    assert!(!path.exists());
}

#[test]
fn neither_permissions_nor_links_are_in_the_way() {
    let directory = tempfile::tempdir().unwrap();
    let (path, outside) = (directory.path().join("tree"), directory.path().join("out"));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), "").unwrap();
    fs::create_dir_all(path.join("a/b/c/d")).unwrap();
    fs::write(path.join("a/b/c/file"), "").unwrap();
    symlink(&outside, path.join("a/b/link")).unwrap();
    symlink(&outside, path.join("link")).unwrap();
    let closed = ["a/b/c/d", "a/b/c", "a/b", "a", "."];
    for (name, mode) in closed.into_iter().zip([0o000, 0o500, 0o000, 0o444, 0o100]) {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(path.join(name), mode).unwrap();
    }
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o500)).unwrap();
    remove_tree(&path).unwrap();
    assert!(!path.exists());
    assert!(outside.join("precious").exists());
    let mode = fs::metadata(&outside).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o500);
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o700)).unwrap();
    let link = directory.path().join("link");
    symlink(&outside, &link).unwrap();
    remove_tree(&link).unwrap_err();
    assert!(outside.join("precious").exists());
}
