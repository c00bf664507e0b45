use std::path::Path;

use super::{Credential, CredentialError, CredentialRequest, CredentialSource, Logins, find};

const SECRET: &str = "sk-canary-7f3a";

fn look(
    explicit: Option<&str>,
    variables: &[(&str, &str)],
    auth_file: &Path,
) -> Result<Credential, CredentialError> {
    find(CredentialRequest {
        provider: "kimi",
        explicit,
        variables: &["KIMI_API_KEY", "MOONSHOT_API_KEY"],
        auth_file,
        logins: Logins::Unsupported,
        env: &|name| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        },
    })
}

fn no_file() -> &'static Path {
    Path::new("/nonexistent/auth.json")
}

#[test]
fn the_flag_wins() {
    let found = look(Some(SECRET), &[("KIMI_API_KEY", "other")], no_file()).unwrap();
    assert_eq!(found.secret(), SECRET);
    assert_eq!(found.source(), &CredentialSource::Flag);
}

#[test]
fn variables_are_tried_in_order_and_empty_ones_are_unset() {
    let both = [("KIMI_API_KEY", "first"), ("MOONSHOT_API_KEY", "second")];
    assert_eq!(look(None, &both, no_file()).unwrap().secret(), "first");

    let second = [("KIMI_API_KEY", ""), ("MOONSHOT_API_KEY", "second\n")];
    let found = look(Some("  "), &second, no_file()).unwrap();
    assert_eq!(found.secret(), "second");
    assert_eq!(
        found.source(),
        &CredentialSource::Variable("MOONSHOT_API_KEY".to_owned())
    );
}

#[test]
fn a_missing_key_names_every_way_to_give_one() {
    let error = look(None, &[], no_file()).unwrap_err();
    assert!(matches!(error, CredentialError::Missing { .. }));
    let text = error.to_string();
    for way in [
        "kimi",
        "--api-key",
        "KIMI_API_KEY or MOONSHOT_API_KEY",
        "/nonexistent/auth.json",
        "--provider offline",
    ] {
        assert!(text.contains(way), "{way} is not in: {text}");
    }
}

#[test]
fn a_key_that_cannot_be_sent_is_refused_without_being_shown() {
    for bad in ["sk-canary\nX: y", "sk-canary 1", "sk-canary-ä"] {
        let error = look(None, &[("KIMI_API_KEY", bad)], no_file()).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(shown.contains("$KIMI_API_KEY"), "{shown}");
        assert!(!shown.contains("canary"), "{shown}");
    }
}

#[test]
fn debug_redacts_the_secret() {
    let shown = format!("{:?}", look(Some(SECRET), &[], no_file()).unwrap());
    assert!(!shown.contains("canary"), "{shown}");
    assert!(shown.contains("Flag"), "{shown}");
}
