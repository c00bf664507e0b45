use std::fs;

use super::InterceptRecord;

#[test]
fn a_record_is_found_by_every_path_to_the_directory_until_it_is_removed() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("extensions");
    let guard = directory.join("guard");
    fs::create_dir_all(&guard).unwrap();
    let link = home.path().join("link");
    std::os::unix::fs::symlink(&guard, &link).unwrap();
    let record = InterceptRecord::new(home.path());
    assert!(!record.contains(&guard) && record.directories().is_empty());
    // Forgetting an unknown directory is not an error.
    record.forget(&guard).unwrap();
    record.remember("guard", &link).unwrap();
    record.remember("guard", &guard).unwrap();
    assert!(record.contains(&guard) && record.contains(&link));
    assert_eq!(record.directories(), [guard.canonicalize().unwrap()]);
    assert!(record.covers(&directory) && record.covers(&guard));
    assert!(!record.covers(&directory.join("other")) && !record.covers(&directory.join("gua")));
    record.forget(&link).unwrap();
    assert!(!record.contains(&guard) && !record.covers(&directory));
}

#[test]
fn invalid_records_are_ignored() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("interceptors");
    fs::create_dir_all(directory.join("directory.json")).unwrap();
    fs::write(directory.join("a.json"), "not json").unwrap();
    fs::write(directory.join("b.json"), "{}").unwrap();
    assert!(InterceptRecord::new(home.path()).directories().is_empty());
}
