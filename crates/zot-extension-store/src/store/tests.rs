use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use super::*;
use crate::{OnConflict, OriginError};
use tempfile::TempDir;

fn git(url: &str, reference: Option<&str>) -> Origin {
    Origin::Git {
        url: url.to_owned(),
        reference: reference.map(str::to_owned),
    }
}

#[test]
fn remotes_and_their_references() {
    for (text, url, reference) in [
        ("https://host/a/b.git", "https://host/a/b.git", None),
        ("https://host/a/b@v1", "https://host/a/b", Some("v1")),
        ("https://me@host/a/b", "https://me@host/a/b", None),
        ("https://me@host/a/b@v1", "https://me@host/a/b", Some("v1")),
        ("https://me@host", "https://me@host", None),
        ("git@host:a/b.git", "git@host:a/b.git", None),
        ("git@host:b", "git@host:b", None),
        ("git@host:b@v1", "git@host:b", Some("v1")),
        ("git@host:a/b.git@v1", "git@host:a/b.git", Some("v1")),
        ("ssh://git@host:22/b@v1", "ssh://git@host:22/b", Some("v1")),
        (
            "file:///x/b.git@feature/y@2",
            "file:///x/b.git",
            Some("feature/y@2"),
        ),
    ] {
        assert_eq!(Origin::parse(text), Ok(git(url, reference)), "{text}");
    }
}

#[test]
fn passwords_are_not_shown() {
    for (url, shown) in [
        ("https://me:secret@host/b@v1", "https://me:…@host/b@v1"),
        ("https://me@host/b", "https://me@host/b"),
        ("https://host:8080/b@v1", "https://host:8080/b@v1"),
        ("git@host:a/b.git", "git@host:a/b.git"),
    ] {
        assert_eq!(Origin::parse(url).unwrap().to_string(), shown);
    }
}

#[test]
fn invalid_origins() {
    for text in ["no/such/directory", "name", "@v1", "-x:y", ""] {
        let parsed = Origin::parse(text);
        assert!(
            matches!(parsed, Err(OriginError::NoSuchDirectory(_))),
            "{text}: {parsed:?}"
        );
    }
    for text in ["https://host/b@", "https://host/b@-x", "https://host/b@a b"] {
        let parsed = Origin::parse(text);
        assert!(
            matches!(parsed, Err(OriginError::Reference(_))),
            "{text}: {parsed:?}"
        );
    }
}

#[test]
fn a_manifest_may_be_named_instead_of_its_directory() {
    let directory = TempDir::new().unwrap();
    let manifest = directory.path().join(MANIFEST_FILE);
    fs::write(&manifest, "{}").unwrap();
    let parsed = Origin::parse(manifest.to_str().unwrap());
    assert_eq!(parsed, Ok(Origin::Directory(directory.path().to_owned())));
    let other = directory.path().join("other");
    fs::write(&other, "").unwrap();
    let parsed = Origin::parse(other.to_str().unwrap());
    assert!(matches!(parsed, Err(OriginError::NotADirectory(_))));
}

/// A store with one extension whose manifest is `text`.
fn store_with(text: &str) -> (TempDir, Store) {
    let home = TempDir::new().unwrap();
    let store = Store::new(home.path());
    let directory = store.directory().join("x");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(MANIFEST_FILE), text).unwrap();
    (home, store)
}

fn switched_off(text: &str) -> String {
    let (_home, store) = store_with(text);
    let switched = store.switch("x", Switch::Off).unwrap();
    assert_eq!(switched, Switched::Changed, "{text}");
    fs::read_to_string(store.directory().join("x").join(MANIFEST_FILE)).unwrap()
}

#[test]
fn a_missing_enabled_is_added_at_the_end() {
    assert_eq!(
        switched_off("{\n  \"name\": \"x\",\n  \"exec\": \"y\"\n}\n"),
        "{\n  \"name\": \"x\",\n  \"exec\": \"y\",\n  \"enabled\": false\n}\n"
    );
    assert_eq!(
        switched_off("{\"name\":\"x\",\"exec\":\"y\"}"),
        "{\"name\":\"x\",\"exec\":\"y\", \"enabled\": false}"
    );
}

#[test]
fn only_the_top_level_counts() {
    let text = r#"{"name":"x","exec":"y","extra":{"enabled":true},"enabled" : true }"#;
    let expected = r#"{"name":"x","exec":"y","extra":{"enabled":true},"enabled" : false }"#;
    assert_eq!(switched_off(text), expected);
}

#[test]
fn a_manifest_that_is_a_link_stays_one_and_modes_stay() {
    let (home, store) = store_with("{\"name\":\"x\",\"exec\":\"y\"}");
    let link = store.directory().join("x").join(MANIFEST_FILE);
    let target = home.path().join("elsewhere.json");
    fs::rename(&link, &target).unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&target, &link).unwrap();
    store.switch("x", Switch::Off).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&target).unwrap().contains("false"));
    let mode = fs::metadata(&target).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_broken_manifest_is_not_touched() {
    let (_home, store) = store_with("{\"name\":");
    assert!(store.switch("x", Switch::Off).is_err());
    let text = fs::read_to_string(store.directory().join("x").join(MANIFEST_FILE)).unwrap();
    assert_eq!(text, "{\"name\":");
}

#[test]
fn names_cannot_leave_the_directory() {
    let (_home, store) = store_with("{}");
    for name in ["", ".", "..", "../x", "x/../x", "/x", ".x", "a b", "x\0"] {
        assert!(store.directory_of(name).is_err(), "{name:?}");
        assert!(store.remove(name).is_err(), "{name:?}");
        assert!(store.log_file(name).is_err(), "{name:?}");
    }
    assert_eq!(
        store.directory_of("x").unwrap(),
        store.directory().join("x")
    );
}

#[tokio::test]
async fn copies_lose_special_modes_and_can_be_removed() {
    let place = TempDir::new().unwrap();
    let source = fs::canonicalize(place.path()).unwrap().join("source");
    fs::create_dir_all(source.join("closed")).unwrap();
    fs::write(source.join("closed/file"), "text").unwrap();
    let mode = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(&source.join("closed/file"), 0o4755);
    mode(&source.join("closed"), 0o555);
    let target = place.path().join("target");
    let copied = copy::copy_directory(&source, &target).await.unwrap();
    assert_eq!(copied.files, 1);
    let copied_mode = |path: &str| {
        fs::metadata(target.join(path))
            .unwrap()
            .permissions()
            .mode()
    };
    assert_eq!(copied_mode("closed/file") & 0o7777, 0o755);
    assert_eq!(copied_mode("closed") & 0o7777, 0o755);
    mode(&source.join("closed"), 0o755);
}

#[tokio::test]
async fn dropping_a_staged_extension_removes_it() {
    let home = TempDir::new().unwrap();
    let source = home.path().join("source");
    fs::create_dir(&source).unwrap();
    fs::write(
        source.join(MANIFEST_FILE),
        "{\"name\":\"x\",\"exec\":\"sh\"}",
    )
    .unwrap();
    let store = Store::new(home.path().join("home"));
    let origin = Origin::Directory(source);
    let staged = store.stage(&origin, &mut |_| {}).await.unwrap();
    assert_eq!(staged.manifest().name, "x");
    assert_eq!(fs::read_dir(store.directory()).unwrap().count(), 1);
    drop(staged);
    assert_eq!(fs::read_dir(store.directory()).unwrap().count(), 0);
    let staged = store.stage(&origin, &mut |_| {}).await.unwrap();
    let place = staged.install(OnConflict::Refuse).unwrap();
    assert_eq!(place, store.directory().join("x"));
    assert_eq!(fs::read_dir(store.directory()).unwrap().count(), 1);
}
