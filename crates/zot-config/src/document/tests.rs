use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{set, set_model, unset};
use crate::{ConfigError, ConfigFile, key};

#[test]
fn setting_one_key_keeps_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("home/config.json");
    set(&path, ConfigFile::User, key("model").unwrap(), "gpt-5").unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "{\n  \"model\": \"gpt-5\"\n}\n"
    );
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode(&path), mode(&path.with_file_name("."))),
        (0o600, 0o700)
    );

    // A number that no f64 holds, and keys that are not sorted.
    fs::write(
        &path,
        r#"{"zeta": 12345678901234567890123, "model": "a", "theme": {"b": 1,  "a": 2}}"#,
    )
    .unwrap();
    set(&path, ConfigFile::User, key("model").unwrap(), "b").unwrap();
    set(&path, ConfigFile::User, key("max_steps").unwrap(), "3").unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        r#"{"zeta": 12345678901234567890123, "model": "b", "theme": {"b": 1,  "a": 2}, "max_steps": 3}"#
    );
    unset(&path, ConfigFile::User, "theme").unwrap();
    unset(&path, ConfigFile::User, "zeta").unwrap();
    unset(&path, ConfigFile::User, "model").unwrap();
    unset(&path, ConfigFile::User, "max_steps").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n");
}

#[test]
fn the_formatting_of_a_file_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.json");
    let original = "{\n\t\"provider\": \"\",\n\t\"temperature\" : 0.70,\n\n\t\"quick_model_shortcuts\": [\n\t\t{}\n\t]\n}";
    fs::write(&path, original).unwrap();
    set_model(&path, "openai", "gpt-5").unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "{\n\t\"provider\": \"openai\",\n\t\"temperature\" : 0.70,\n\n\t\"quick_model_shortcuts\": [\n\t\t{}\n\t],\n\t\"model\": \"gpt-5\"\n}"
    );
    // A duplicate name is resolved.
    fs::write(&path, r#"{"model": "a", "x": 1, "model": "b"}"#).unwrap();
    set_model(&path, "openai", "gpt-5").unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "{\n  \"model\": \"gpt-5\",\n  \"x\": 1,\n  \"provider\": \"openai\"\n}\n"
    );
    fs::write(&path, "\n").unwrap();
    set_model(&path, "openai", "gpt-5").unwrap();
    let written = fs::read_to_string(&path).unwrap();
    assert_eq!(
        written,
        "{\n  \"provider\": \"openai\",\n  \"model\": \"gpt-5\"\n}\n"
    );
}

#[test]
fn an_empty_value_unsets() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.json");
    fs::write(&path, r#"{"model": "a", "max_steps": 3}"#).unwrap();
    for name in ["model", "max_steps"] {
        let value = set(&path, ConfigFile::User, key(name).unwrap(), " ").unwrap();
        assert!(value.is_null(), "{name}: {value}");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n");
}

#[test]
fn a_project_file_is_readable_by_all_and_has_no_lock_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(".zot/config.json");
    set(&path, ConfigFile::Project, key("model").unwrap(), "gpt-5").unwrap();
    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o644);
    assert_eq!(
        fs::read_dir(directory.path().join(".zot")).unwrap().count(),
        1
    );
    let refused = set(
        &path,
        ConfigFile::Project,
        key("extension_paths").unwrap(),
        "x",
    );
    assert!(matches!(refused, Err(ConfigError::UserOnly { .. })));
}

#[test]
fn a_broken_file_is_not_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.json");
    fs::write(&path, "{\n  \"model\": oops\n}").unwrap();
    let error = set(&path, ConfigFile::User, key("model").unwrap(), "b").unwrap_err();
    let text = error.to_string();
    assert!(text.contains("config.json, line 2"), "{text}");
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "{\n  \"model\": oops\n}"
    );
}

#[test]
fn concurrent_changes_are_all_kept() {
    let settings = [
        ("model", "a"),
        ("max_steps", "1"),
        ("max_tokens", "2"),
        ("reasoning", "high"),
    ];
    for file in [ConfigFile::User, ConfigFile::Project] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.json");
        // Often enough for a collision.
        for _ in 0..25 {
            let _ = fs::remove_file(&path);
            std::thread::scope(|scope| {
                for (name, value) in settings {
                    let path = &path;
                    scope.spawn(move || set(path, file, key(name).unwrap(), value).unwrap());
                }
            });
            let text = fs::read_to_string(&path).unwrap();
            for (name, _) in settings {
                assert!(text.contains(name), "{file:?}: {text}");
            }
        }
    }
}
