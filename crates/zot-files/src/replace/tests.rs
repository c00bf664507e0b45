use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::{replace, replace_with};
use crate::Durability;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_new_file_gets_the_mode_and_an_old_one_keeps_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a");
    replace(&path, b"one", 0o600).unwrap();
    assert_eq!(
        (fs::read(&path).unwrap(), mode(&path)),
        (b"one".to_vec(), 0o600)
    );
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    replace(&path, b"two", 0o600).unwrap();
    assert_eq!(
        (fs::read(&path).unwrap(), mode(&path)),
        (b"two".to_vec(), 0o640)
    );
    assert_eq!(
        fs::read_dir(directory.path()).unwrap().count(),
        1,
        "nothing is left behind"
    );
}

#[test]
fn a_link_stays_a_link() {
    let directory = tempfile::tempdir().unwrap();
    let (target, link) = (
        directory.path().join("target"),
        directory.path().join("link"),
    );
    fs::write(&target, "old").unwrap();
    symlink(&target, &link).unwrap();
    replace(&link, b"new", 0o600).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&target).unwrap(), "new");
}

#[test]
fn a_failure_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("directory");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("inside"), "x").unwrap();
    assert!(replace(&path, b"new", 0o600).is_err());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn only_power_loss_durability_syncs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a");
    for (durability, expected) in [(Durability::ProcessEnd, 0), (Durability::PowerLoss, 2)] {
        let before = Durability::syncs();
        replace_with(&path, 0o600, durability, |file| file.write_all(b"x")).unwrap();
        assert_eq!(Durability::syncs() - before, expected, "{durability:?}");
    }
}

#[test]
fn the_new_file_is_open_for_appending_and_a_failed_writer_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a");
    let write = |file: &mut BufWriter<File>| file.write_all(b"one");
    let mut file = replace_with(&path, 0o600, Durability::ProcessEnd, write).unwrap();
    file.write_all(b", two").unwrap();
    let failed = replace_with(&path, 0o600, Durability::ProcessEnd, |file| {
        file.write_all(b"half")?;
        Err(io::Error::other("stopped"))
    });
    assert_eq!(failed.unwrap_err().to_string(), "stopped");
    assert_eq!(fs::read_to_string(&path).unwrap(), "one, two");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}
