use zot_auth::AuthFile;

use super::{LoginError, LoginPlan, LoginPreference, log_out, log_out_everywhere, plan};
use crate::credentials::Credentials;

fn credentials(home: &std::path::Path) -> Credentials {
    Credentials::open(Some(home.to_owned())).unwrap()
}

#[test]
fn a_provider_without_a_login_takes_a_key() {
    let home = tempfile::tempdir().unwrap();
    let credentials = credentials(home.path());
    let planned = |preference| plan(&credentials, "openai", preference);
    assert!(matches!(
        planned(LoginPreference::Usual),
        Ok(LoginPlan::Key { provider }) if provider == "openai"
    ));
    assert!(matches!(
        planned(LoginPreference::Device),
        Err(LoginError::NoOAuth { .. })
    ));
    let unknown = plan(&credentials, "no-such-provider", LoginPreference::Usual);
    assert!(matches!(unknown, Err(LoginError::Provider(_))));
}

#[test]
fn a_configured_login_is_used_unless_a_key_is_preferred() {
    let home = tempfile::tempdir().unwrap();
    let file = serde_json::json!({"providers": {"company": {
        "wire": "openai",
        "baseUrl": "https://company.example/v1",
        "defaultModel": "gpt-4o",
        "oauth": {
            "clientId": "zot",
            "authorizeUrl": "https://company.example/authorize",
            "tokenUrl": "https://company.example/token",
        },
    }}});
    std::fs::write(home.path().join("providers.json"), file.to_string()).unwrap();
    let credentials = credentials(home.path());
    assert_eq!(credentials.problems(), [""; 0]);
    let planned = |preference| plan(&credentials, "company", preference).unwrap();
    assert!(matches!(
        planned(LoginPreference::Usual),
        LoginPlan::OAuth(_)
    ));
    assert!(matches!(
        planned(LoginPreference::Device),
        LoginPlan::OAuth(_)
    ));
    assert!(matches!(
        planned(LoginPreference::Key),
        LoginPlan::Key { .. }
    ));
}

#[test]
fn logging_out_reports_what_was_removed() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("auth.json");
    let file = AuthFile::new(path.clone());
    file.put_key("openai", "sk-1").unwrap();
    file.put_key("groq", "gsk-1").unwrap();
    let credentials = credentials(home.path());
    let report = log_out(&credentials, "openai").unwrap();
    let first = report.to_string();
    assert!(
        first.starts_with("Forgot the credential of openai."),
        "{first}"
    );
    let again = log_out(&credentials, "openai").unwrap().to_string();
    let expected = format!("No credential for openai in {}.", path.display());
    assert!(again.starts_with(&expected), "{again}");
    let rest = log_out_everywhere(&credentials).unwrap();
    assert_eq!(rest.to_string(), "Forgot the credentials of groq.");
    let nothing = log_out_everywhere(&credentials).unwrap();
    assert_eq!(nothing.to_string(), "No credentials were stored.");
}
