use std::fs;

use super::in_files;

#[test]
fn secrets_are_found_in_every_file_and_form() {
    let home = tempfile::tempdir().unwrap();
    let auth = r#"{
        "anthropic": {"type": "api_key", "api_key": "first-key-1"},
        "plain": "second-key-2",
        "login": {"type": "oauth", "access": "access-3", "refresh": "refresh-4", "expires": 12},
        "foreign": {"oauth": {"id_token": "id-token-5", "token_url": "https://x"}},
        "additional_api_key_creds": {"groq": {"api_key": "groq-key-6"}}
    }"#;
    fs::write(home.path().join("auth.json"), auth).unwrap();
    let models = r#"{"providers": {"mine": {"baseUrl": "https://mine", "apiKey": "mine-key-7",
        "headers": {"X-Whatever": "header-8"}, "key": "optional", "key_variables": ["MY_OWN_KEY_1"], "models": [{"id": "not-a-secret"}]}}}"#;
    fs::write(home.path().join("models.json"), models).unwrap();
    let found = in_files(home.path());
    for secret in [
        "first-key-1",
        "second-key-2",
        "access-3",
        "refresh-4",
        "id-token-5",
        "groq-key-6",
        "mine-key-7",
        "header-8",
    ] {
        assert!(
            found.iter().any(|known| known == secret),
            "{secret}: {found:?}"
        );
    }
    for harmless in [
        "api_key",
        "oauth",
        "https://mine",
        "https://x",
        "not-a-secret",
        "optional",
        "MY_OWN_KEY_1",
    ] {
        assert!(!found.iter().any(|known| known == harmless), "{harmless}");
    }
}
