use std::error::Error;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use tempfile::TempDir;

use crate::{Credential, CredentialError, CredentialRequest, CredentialSource, Logins, find};

const SECRET: &str = "sk-canary-7f3a";

struct Home {
    _directory: TempDir,
    auth_file: PathBuf,
}

impl Home {
    fn new(content: &str, mode: u32) -> Self {
        let directory = TempDir::new().unwrap();
        let auth_file = directory.path().join("auth.json");
        fs::write(&auth_file, content).unwrap();
        fs::set_permissions(&auth_file, Permissions::from_mode(mode)).unwrap();
        Self {
            _directory: directory,
            auth_file,
        }
    }

    fn find(&self, provider: &str) -> Result<Credential, CredentialError> {
        find(CredentialRequest {
            provider,
            explicit: None,
            variables: &["SOME_API_KEY"],
            auth_file: &self.auth_file,
            logins: Logins::Unsupported,
            env: &|_| None,
        })
    }
}

/// Returns the error with all its causes, as a person or a log would see it.
fn shown(error: &CredentialError) -> String {
    let mut text = format!("{error} {error:?}");
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(" {cause} {cause:?}"));
        source = cause.source();
    }
    text
}

#[test]
fn all_shapes_of_an_api_key_are_read() {
    for entry in [
        r#"{"type":"api_key","api_key":"sk-canary-7f3a"}"#,
        r#"{"type":"api_key","key":"sk-canary-7f3a"}"#,
        r#"{"key":"sk-canary-7f3a","added":1}"#,
        r#""sk-canary-7f3a""#,
    ] {
        let content = format!(r#"{{"other":[1],"openai":{entry},"login":{{"type":"oauth"}}}}"#);
        let home = Home::new(&content, 0o600);
        let found = home.find("openai").unwrap();
        assert_eq!(found.secret(), SECRET);
        assert_eq!(
            found.source(),
            &CredentialSource::File(home.auth_file.clone())
        );
    }
}

#[test]
fn a_provider_without_an_entry_or_with_an_empty_key_is_missing() {
    let home = Home::new(r#"{"openai":"","anthropic":{"key":"sk-canary"}}"#, 0o600);
    for provider in ["openai", "kimi"] {
        let error = home.find(provider).unwrap_err();
        assert!(
            matches!(error, CredentialError::Missing { .. }),
            "{error:?}"
        );
    }
}

#[test]
fn oauth_is_an_error_only_for_the_provider_asked_for() {
    let home = Home::new(
        r#"{"anthropic":{"type":"oauth","access":"sk-canary"},"openai":"k"}"#,
        0o600,
    );
    assert_eq!(home.find("openai").unwrap().secret(), "k");
    let error = home.find("anthropic").unwrap_err();
    assert!(matches!(error, CredentialError::OauthUnsupported { .. }));
    assert!(shown(&error).contains("zot login anthropic"));
    assert!(!shown(&error).contains("canary"));
}

#[test]
fn an_entry_of_unknown_shape_reports_how_to_write_it() {
    for entry in ["5", "null", r#"{"token":"sk-canary"}"#, r#"["sk-canary"]"#] {
        let home = Home::new(&format!(r#"{{"openai":{entry}}}"#), 0o600);
        let error = home.find("openai").unwrap_err();
        assert!(matches!(error, CredentialError::UnknownEntry { .. }));
        assert!(shown(&error).contains(r#""api_key""#));
        assert!(!shown(&error).contains("canary"));
    }
}

#[test]
fn a_file_of_the_original_is_read_entry_by_entry() {
    let home = Home::new(
        r#"{"anthropic":{"oauth":{"access_token":"sk-canary","refresh_token":"r","expiry":"2026-05-01T10:00:00Z"}},
            "openai":{"api_key":"k","oauth":{"access_token":"sk-canary"}},"kimi":{},"google":{"api_key":"g"},
            "deepseek":{"api_key":""},"xai":5,"mistral":null,"groq":["sk-canary"],
            "additional_api_key_creds":{"openrouter":{"api_key":"o"},"together":{},"bad":7}}"#,
        0o600,
    );
    for (provider, key) in [
        ("openai", "k"),
        ("google", "g"),
        ("gemini", "g"),
        ("openrouter", "o"),
    ] {
        assert_eq!(home.find(provider).unwrap().secret(), key, "{provider}");
    }
    for provider in ["kimi", "deepseek", "together", "nobody"] {
        let error = home.find(provider).unwrap_err();
        assert!(matches!(error, CredentialError::Missing { .. }), "{error}");
    }
    for provider in ["xai", "mistral", "groq", "bad"] {
        let error = home.find(provider).unwrap_err();
        assert!(
            matches!(error, CredentialError::UnknownEntry { .. }),
            "{error}"
        );
        let login = format!("zot login {provider}");
        assert!(error.to_string().contains(&login), "{error}");
    }
    let error = home.find("anthropic").unwrap_err();
    assert!(
        matches!(error, CredentialError::OauthUnsupported { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("zot login anthropic"), "{error}");
    assert!(!shown(&error).contains("canary"), "{error}");
}

#[test]
fn a_file_that_others_can_access_is_refused_with_the_command_that_fixes_it() {
    for mode in [0o644, 0o640, 0o604, 0o620, 0o660, 0o666] {
        let home = Home::new(r#"{"openai":"sk-canary"}"#, mode);
        let error = home.find("openai").unwrap_err();
        assert!(
            matches!(error, CredentialError::Unsafe { mode: seen, .. } if seen == mode),
            "{error:?}"
        );
        let command = format!("chmod 600 '{}'", home.auth_file.display());
        assert!(error.to_string().contains(&command), "{error}");
        assert!(error.to_string().contains(&format!("{mode:04o}")));
    }
    for mode in [0o600, 0o400] {
        let home = Home::new(r#"{"openai":"sk-canary"}"#, mode);
        assert_eq!(home.find("openai").unwrap().secret(), "sk-canary");
    }
}

#[test]
fn a_file_of_another_user_is_refused() {
    // Only root can create one; for everyone else /etc/passwd is one.
    let home = Home::new(r#"{"openai":"sk-canary"}"#, 0o600);
    let foreign = if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&home.auth_file, Some(12_345), None).unwrap();
        home
    } else {
        Home {
            auth_file: PathBuf::from("/etc/passwd"),
            ..home
        }
    };
    let error = foreign.find("openai").unwrap_err();
    assert!(
        matches!(error, CredentialError::NotOwned { .. }),
        "{error:?}"
    );
}

#[test]
fn a_symbolic_link_is_followed_and_its_target_checked() {
    let target = Home::new(r#"{"openai":"k"}"#, 0o600);
    let directory = TempDir::new().unwrap();
    let link = directory.path().join("auth.json");
    symlink(&target.auth_file, &link).unwrap();
    let linked = Home {
        _directory: directory,
        auth_file: link,
    };
    assert_eq!(linked.find("openai").unwrap().secret(), "k");

    fs::set_permissions(&target.auth_file, Permissions::from_mode(0o644)).unwrap();
    let error = linked.find("openai").unwrap_err();
    assert!(matches!(error, CredentialError::Unsafe { .. }), "{error:?}");
}

#[test]
fn malformed_files_give_a_position_and_never_their_content() {
    for (content, line) in [
        ("{\n  \"openai\": \"sk-canary\",\n}", 3),
        ("{\"openai\": \"sk-canary\"", 1),
        ("\"sk-canary\"", 1),
        ("[\"sk-canary\"]", 1),
        ("", 1),
    ] {
        let home = Home::new(content, 0o600);
        let error = home.find("openai").unwrap_err();
        assert!(
            matches!(error, CredentialError::Malformed { line: seen, .. } if seen == line),
            "{content:?}: {error:?}"
        );
        assert!(!shown(&error).contains("canary"), "{}", shown(&error));
        assert!(shown(&error).contains("auth.json"));
    }
}

#[test]
fn directories_and_oversized_files_are_unreadable() {
    let directory = TempDir::new().unwrap();
    let as_directory = directory.path().join("auth.json");
    fs::create_dir(&as_directory).unwrap();
    let oversized = Home::new(&" ".repeat((1 << 20) + 1), 0o600);
    for auth_file in [as_directory, oversized.auth_file.clone()] {
        let home = Home {
            _directory: TempDir::new().unwrap(),
            auth_file,
        };
        let error = home.find("openai").unwrap_err();
        assert!(
            matches!(error, CredentialError::Unreadable { .. }),
            "{error:?}"
        );
    }
}

#[test]
fn a_named_pipe_does_not_stall() {
    let directory = TempDir::new().unwrap();
    let auth_file = directory.path().join("auth.json");
    let made = std::process::Command::new("mkfifo")
        .arg(&auth_file)
        .status()
        .unwrap();
    assert!(made.success());
    let home = Home {
        _directory: directory,
        auth_file,
    };
    let error = home.find("openai").unwrap_err();
    assert!(
        matches!(error, CredentialError::Unreadable { .. }),
        "{error:?}"
    );
}
