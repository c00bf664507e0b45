use std::os::unix::fs::symlink;

use super::*;

#[test]
fn only_what_was_there_before_stays() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir_all(root.join("tmp/a")).unwrap();
    fs::write(root.join("tmp/code"), "x").unwrap();
    let code = root.join("tmp/code");
    let contents = Contents::of(&[root.join("tmp")], &[], Some(&code)).unwrap();

    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("kept"), "x").unwrap();
    symlink(outside.path(), root.join("tmp/link")).unwrap();
    fs::create_dir_all(root.join("tmp/a/b/c")).unwrap();
    fs::write(root.join("tmp/a/b/c/file"), "x").unwrap();
    assert!(contents.restore().unwrap());
    assert!(root.join("tmp/a").is_dir() && !root.join("tmp/a/b").exists());
    assert!(!code.exists());
    assert!(outside.path().join("kept").exists());

    // What took the place of something cannot be trusted.
    fs::remove_dir(root.join("tmp/a")).unwrap();
    assert!(!contents.restore().unwrap());
    symlink(outside.path(), root.join("tmp/a")).unwrap();
    assert!(!contents.restore().unwrap());
}

#[test]
fn a_change_in_an_overlay_cannot_be_undone() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let (tmp, upper) = (root.join("tmp"), root.join("upper"));
    fs::create_dir(&tmp).unwrap();
    fs::create_dir(&upper).unwrap();
    let contents = Contents::of(&[tmp], std::slice::from_ref(&upper), None).unwrap();
    assert!(contents.restore().unwrap());
    fs::write(upper.join("package"), "x").unwrap();
    assert!(!contents.restore().unwrap());
    fs::remove_file(upper.join("package")).unwrap();
    assert!(!contents.restore().unwrap());
}
