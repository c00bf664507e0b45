//! What a hostile server may try. None of it may get a code, a token or a secret.

use serde_json::{Value, json};

use super::*;
use crate::authorization::{Authorization as _, Refusal};
use crate::entry::OAuthGrant;
use crate::oauth::OAuthError;

#[tokio::test]
async fn metadata_of_others_is_refused() {
    let honest = Behaviour::default;
    let metadata = |metadata: Value| Behaviour {
        metadata,
        ..honest()
    };
    let resource = |resource: Value| Behaviour {
        resource,
        ..honest()
    };
    let is_foreign_issuer = |error: &OAuthError| matches!(error, OAuthError::ForeignIssuer { .. });
    let is_foreign = |error: &OAuthError| matches!(error, OAuthError::ForeignResource { .. });
    let is_insecure = |error: &OAuthError| matches!(error, OAuthError::Insecure { .. });
    let has_no_pkce = |error: &OAuthError| matches!(error, OAuthError::NoPkce { .. });
    let is_invalid = |error: &OAuthError| matches!(error, OAuthError::Invalid { .. });
    type Expected = fn(&OAuthError) -> bool;
    let cases: [(&str, Behaviour, Expected); 10] = [
        (
            "another issuer",
            metadata(json!({"issuer": "https://evil.test"})),
            is_foreign_issuer,
        ),
        (
            "no issuer",
            metadata(json!({"issuer": ""})),
            is_foreign_issuer,
        ),
        (
            "another resource",
            resource(json!({"resource": "https://evil.test/mcp"})),
            is_foreign,
        ),
        ("no resource", resource(json!({"resource": ""})), is_foreign),
        (
            "no PKCE",
            metadata(json!({"code_challenge_methods_supported": []})),
            has_no_pkce,
        ),
        (
            "plain PKCE",
            metadata(json!({"code_challenge_methods_supported": ["plain"]})),
            has_no_pkce,
        ),
        (
            "an open token endpoint",
            metadata(json!({"token_endpoint": "http://evil.test/"})),
            is_insecure,
        ),
        (
            "a script",
            metadata(json!({"authorization_endpoint": "javascript:alert(1)"})),
            is_insecure,
        ),
        (
            "an open issuer",
            resource(json!({"authorization_servers": ["http://evil.test"]})),
            is_insecure,
        ),
        (
            "nonsense",
            metadata(json!({"scopes_supported": 3})),
            is_invalid,
        ),
    ];
    for (name, behaviour, expected) in cases {
        let world = World::new(behaviour);
        let error = world.log_in().await.unwrap_err();
        assert!(expected(&error), "{name}: {error}");
        assert!(world.token_requests().is_empty(), "{name}");
        assert!(world.registrations().is_empty(), "{name}");
        assert_eq!(world.store().summary(&world.url()).unwrap(), None);
    }
}

#[tokio::test]
async fn a_response_of_another_issuer_is_refused_before_the_code_is_sent() {
    // `iss`, whether the metadata announces it, whether the user refused; whether the login goes on
    for (iss, announced, refused, goes_on) in [
        (Iss::Right, true, false, true),
        (Iss::Right, false, false, true),
        (Iss::Absent, false, false, true),
        (Iss::Absent, true, false, false),
        (Iss::Changed("/"), true, false, false),
        (Iss::Changed("/"), false, false, false),
        (Iss::Changed(".evil.test"), true, false, false),
        // What a stranger says about an error is not shown either.
        (Iss::Changed(".evil.test"), true, true, false),
        (Iss::Absent, true, true, false),
    ] {
        let world = World::new(Behaviour {
            iss,
            metadata: json!({"authorization_response_iss_parameter_supported": announced}),
            user_refuses: refused,
            ..Behaviour::default()
        });
        let outcome = world.log_in().await;
        assert_eq!(outcome.is_ok(), goes_on, "{outcome:?}");
        assert_eq!(world.token_requests().len(), usize::from(goes_on));
        if let Err(error) = outcome {
            let is_mixed_up = matches!(
                error,
                OAuthError::MixedUp { .. } | OAuthError::MissingIssuer { .. }
            );
            assert!(
                is_mixed_up && !error.to_string().contains("access_denied"),
                "{error}"
            );
        }
    }
}

#[tokio::test]
async fn tokens_that_cannot_be_used_are_refused() {
    for grant in [
        json!({"token_type": "mac"}),
        json!({"access_token": ""}),
        json!({"access_token": "a\r\nX-Evil: 1"}),
        json!({"access_token": 3}),
    ] {
        let world = World::new(Behaviour {
            grant,
            ..Behaviour::default()
        });
        let error = world.log_in().await.unwrap_err();
        assert!(matches!(error, OAuthError::Invalid { .. }), "{error}");
        assert_eq!(world.store().summary(&world.url()).unwrap(), None);
    }
}

#[tokio::test]
async fn credentials_stay_with_their_issuer() {
    let world = World::new(Behaviour::default());
    world.log_in().await.unwrap();
    // The server moves to another authorisation server.
    let other = World::new(Behaviour {
        registration: json!({"client_id": "new"}),
        ..Behaviour::default()
    });
    let moved = json!({"authorization_servers": [other.issuer.origin()]});
    world.behaviour.lock().unwrap().resource = moved.clone();
    world.log_in().await.unwrap();
    assert_eq!(other.registrations().len(), 1);
    let request = &other.token_requests()[0];
    assert_eq!(request["client_id"], "new");
    let summary = world.store().summary(&world.url()).unwrap().unwrap();
    assert_eq!(summary.issuer, other.issuer.origin());

    // A configured client is not taken along.
    let mut world = World::new(Behaviour::default());
    world.settings.client_id = Some("mine".to_owned());
    world.log_in().await.unwrap();
    world.behaviour.lock().unwrap().resource = moved;
    let before = other.issuer.requests().len();
    let error = world.log_in().await.unwrap_err();
    assert!(matches!(error, OAuthError::IssuerChanged { .. }), "{error}");
    let new = other.issuer.requests().split_off(before);
    assert!(new.iter().all(|request| !request.target.contains("mine")));
    world.store().remove(&world.url()).unwrap();
    assert!(world.begin().await.is_ok());
}

#[tokio::test]
async fn tokens_go_to_no_other_server() {
    let world = World::new(Behaviour::default());
    world.log_in().await.unwrap();
    let other = World::new(Behaviour::default());
    let elsewhere = crate::oauth::StoredLogin::new(
        zot_provider::HttpClient::new(),
        world.store(),
        &other.url(),
        crate::entry::OAuthSettings::default(),
    );
    assert_eq!(other.call(&elsewhere).await, 401);
    let sent = other.mcp.requests();
    assert!(
        sent.iter()
            .all(|request| request.header("authorization").is_none())
    );
}

#[tokio::test]
async fn configured_metadata_speaks_only_for_its_own_place() {
    for (issuer, is_foreign) in [
        (None, false),
        (Some("https://good.test"), true),
        (Some("http://127.0.0.1:1"), true),
        (Some(""), true),
    ] {
        let mut world = World::new(Behaviour {
            metadata: match issuer {
                Some(issuer) => json!({"issuer": issuer}),
                None => json!({}),
            },
            ..Behaviour::default()
        });
        let origin = world.issuer.origin();
        let url = format!("{origin}/.well-known/oauth-authorization-server");
        world.settings.metadata_url = Some(url);
        let outcome = world.log_in().await;
        match is_foreign {
            false => outcome.unwrap(),
            true => {
                let error = outcome.unwrap_err();
                assert!(matches!(error, OAuthError::ForeignIssuer { .. }), "{error}");
                assert!(world.registrations().is_empty());
                assert!(world.token_requests().is_empty());
            }
        }
    }
}

#[tokio::test]
async fn the_secret_of_a_client_without_a_user_stays_with_its_issuer() {
    let mut world = World::new(Behaviour::default());
    world.settings.client_id = Some("machine".to_owned());
    world.settings.client_secret = Some("secret".to_owned());
    world.settings.grant = OAuthGrant::ClientCredentials;
    let stored = world.stored();
    assert_eq!(world.call(&stored).await, 200);
    let other = World::new(Behaviour::default());
    let moved = json!({"authorization_servers": [other.issuer.origin()]});
    world.behaviour.lock().unwrap().resource = moved;
    let token = stored.token().await.unwrap();
    let origin = world.mcp.origin();
    let challenge = format!("Bearer resource_metadata=\"{origin}/metadata\"");
    let refused = stored.refused(Refusal {
        status: 401,
        challenge: Some(&challenge),
        token: token.as_ref(),
    });
    let error = refused.await.unwrap_err().to_string();
    assert!(error.contains("zot mcp logout"), "{error}");
    assert!(other.token_requests().is_empty());
}

#[test]
fn errors_name_addresses_without_their_secrets() {
    let url = || "https://me:hunter2@a.test/mcp?key=hunter2".to_owned();
    let (reason, issuer) = (String::new, || "https://b.test".to_owned());
    for error in [
        OAuthError::Unreachable {
            url: url(),
            reason: reason(),
        },
        OAuthError::Insecure { url: url() },
        OAuthError::NoAuthorizationServer { server: url() },
        OAuthError::ForeignResource {
            server: url(),
            resource: url(),
        },
        OAuthError::ForeignIssuer {
            expected: url(),
            found: issuer(),
        },
        OAuthError::IssuerChanged {
            server: url(),
            expected: issuer(),
            found: issuer(),
        },
        OAuthError::Invalid {
            url: url(),
            reason: reason(),
        },
    ] {
        let text = error.to_string();
        assert!(text.contains("a.test/mcp?…"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}
