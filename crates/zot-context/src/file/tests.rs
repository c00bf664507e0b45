use std::fs;
use std::os::unix::fs::symlink;

use super::{Cut, ReadError, read_beginning, read_text, require_inside, text_of_beginning};

#[test]
fn only_the_beginning_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("long");
    fs::write(&path, "0123456789").unwrap();
    let beginning = read_beginning(&path, 4).unwrap();
    assert_eq!(
        (beginning.bytes.as_slice(), beginning.length),
        (&b"0123"[..], 10)
    );
    assert!(matches!(
        read_text(&path, 9),
        Err(ReadError::TooLong { limit: 9 })
    ));
    assert_eq!(read_text(&path, 10).unwrap(), "0123456789");
}

#[test]
fn what_is_not_a_file_is_refused_without_waiting_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    for path in [fifo.as_path(), directory.path(), "/dev/zero".as_ref()] {
        assert!(matches!(
            read_text(path, 10),
            Err(ReadError::NotAFile { .. })
        ));
    }
    let missing = read_text(&directory.path().join("none"), 10).unwrap_err();
    assert!(missing.is_absence());
}

#[test]
fn a_character_cut_in_two_is_left_out_and_nothing_else() {
    let text = |bytes: &[u8], cut| text_of_beginning(bytes.to_vec(), cut).ok();
    assert_eq!(text(b"a\xc3\xa9", Cut::Nowhere).as_deref(), Some("aé"));
    assert_eq!(text(b"a\xc3", Cut::Somewhere).as_deref(), Some("a"));
    assert_eq!(text(b"a\xc3", Cut::Nowhere), None);
    assert_eq!(text(b"a\xffb", Cut::Somewhere), None);
}

#[test]
fn a_link_may_not_lead_out() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("inside"), "").unwrap();
    fs::write(directory.path().join("outside"), "").unwrap();
    symlink("inside", root.join("good")).unwrap();
    symlink("../outside", root.join("bad")).unwrap();
    assert_eq!(
        require_inside(&root.join("good"), &root).unwrap(),
        root.join("inside")
    );
    assert!(matches!(
        require_inside(&root.join("bad"), &root),
        Err(ReadError::LeadsOut { .. })
    ));
}
