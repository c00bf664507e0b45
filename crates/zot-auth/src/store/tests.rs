use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use super::{AuthFile, StoredCredential};
use crate::{CredentialError, Tokens};

fn file() -> (tempfile::TempDir, AuthFile) {
    let directory = tempfile::tempdir().unwrap();
    let file = AuthFile::new(directory.path().join("home/auth.json"));
    (directory, file)
}

fn mode(file: &AuthFile) -> u32 {
    fs::metadata(file.path()).unwrap().permissions().mode() & 0o7777
}

#[test]
fn keys_are_added_to_existing_entries() {
    let (_directory, file) = file();
    file.put_key("openai", " sk-one \n").unwrap();
    assert_eq!(mode(&file), 0o600);
    let theirs = r#"{"other":{"type":"oauth","access":"a","n":12345678901234567890123},"x":"k"}"#;
    fs::write(file.path(), theirs).unwrap();
    file.put_key("openai", "sk-two").unwrap();
    let text = fs::read_to_string(file.path()).unwrap();
    assert!(text.contains("12345678901234567890123"), "{text}");
    assert_eq!(
        file.entries().unwrap(),
        [
            (
                "openai".to_owned(),
                StoredCredential::Key("sk-two".to_owned())
            ),
            ("other".to_owned(), StoredCredential::Foreign),
            ("x".to_owned(), StoredCredential::Key("k".to_owned())),
        ]
    );
    assert!(file.remove("openai").unwrap());
    assert!(!file.remove("openai").unwrap());
    assert_eq!(file.remove_all().unwrap(), ["other", "x"]);
    assert_eq!(fs::read_to_string(file.path()).unwrap(), "{}\n");
}

#[test]
fn a_login_comes_back_as_it_was() {
    let (_directory, file) = file();
    let expires = SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000);
    let tokens = Tokens::new("access", Some("refresh"), Some(expires));
    file.put_login("company", &tokens).unwrap();
    assert_eq!(file.login("company").unwrap(), Some(tokens));
    assert_eq!(file.login("openai").unwrap(), None);
    assert!(!format!("{:?}", file.entries().unwrap()).contains("access"));
}

#[test]
fn keys_that_cannot_be_sent_are_not_stored() {
    let (_directory, file) = file();
    for bad in ["", "  ", "two words", "schlüssel"] {
        assert!(file.put_key("openai", bad).is_err(), "{bad:?}");
    }
    assert!(!file.path().exists());
}

#[test]
fn a_file_that_others_can_read_is_not_added_to() {
    let (_directory, file) = file();
    file.put_key("openai", "sk-one").unwrap();
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644)).unwrap();
    let refused = file.put_key("openai", "sk-two");
    assert!(matches!(refused, Err(CredentialError::Unsafe { .. })));
}

#[test]
fn concurrent_writers_lose_nothing() {
    let (_directory, file) = file();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let file = &file;
            scope.spawn(move || file.put_key(&format!("p{number}"), "sk-one").unwrap());
        }
    });
    assert_eq!(file.entries().unwrap().len(), 8);
}

#[test]
fn other_entries_keep_their_order_and_form() {
    let (_directory, file) = file();
    file.put_key("x", "k").unwrap();
    let theirs = r#"{"zeta":{"n":1.50},"openai":{"oauth":{"access_token":"a","id_token":"i"}},"broken":5,"additional_api_key_creds":{"groq":{"api_key":"g"},"odd":{"n":2.50}},"kimi":{}}"#;
    fs::write(file.path(), theirs).unwrap();
    file.put_key("openai", "sk-one").unwrap();
    file.put_key("groq", "g2").unwrap();
    let text = fs::read_to_string(file.path()).unwrap();
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    let order = [
        "zeta", "1.50", "openai", "sk-one", "id_token", "broken", "odd", "2.50", "kimi", "g2",
    ];
    assert!(order.map(place).is_sorted(), "{text}");
    let names: Vec<String> = file.entries().unwrap().into_iter().map(|e| e.0).collect();
    assert_eq!(names, ["broken", "groq", "odd", "openai", "zeta"]);
    assert!(file.remove("odd").unwrap());
    assert!(!file.remove("kimi").unwrap(), "it held nothing");
    let text = fs::read_to_string(file.path()).unwrap();
    assert!(!text.contains("additional_api_key_creds"), "{text}");
}
