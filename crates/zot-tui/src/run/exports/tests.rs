use std::fs;

use super::*;

#[test]
fn an_export_without_a_name_gets_an_unused_one() {
    let directory = tempfile::tempdir().unwrap();
    let next = || destination(directory.path(), "").unwrap();
    assert_eq!(next(), Path::new("session.html"));
    fs::write(directory.path().join("session.html"), "").unwrap();
    assert_eq!(next(), Path::new("session-2.html"));
    fs::write(directory.path().join("session-2.html"), "").unwrap();
    assert_eq!(next(), Path::new("session-3.html"));
}

#[test]
fn no_file_is_replaced_and_the_extension_sets_the_format() {
    let directory = tempfile::tempdir().unwrap();
    let choose = |name: &str| destination(directory.path(), name);
    fs::write(directory.path().join("there.md"), "").unwrap();
    assert_eq!(
        choose("there.md").unwrap_err(),
        "there.md already exists: choose another name"
    );
    assert!(choose("x.pdf").unwrap_err().contains("NAME.html"));
    assert!(choose("plain").unwrap_err().contains("NAME.html"));
    assert_eq!(choose("new.md").unwrap(), Path::new("new.md"));
}

#[test]
fn a_path_may_begin_with_a_tilde() {
    let home = std::env::home_dir().unwrap();
    assert_eq!(expand("~/notes/a.md"), home.join("notes/a.md"));
    assert_eq!(expand("~other/a.md"), Path::new("~other/a.md"));
}
