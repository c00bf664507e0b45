use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::world::{browse, follow, query};
use super::*;
use crate::entry::OAuthGrant;
use crate::oauth::OAuthError;

#[tokio::test]
async fn a_login_by_redirect() {
    let world = World::new(Behaviour {
        needed: "files:read",
        ..Behaviour::default()
    });
    let stored = world.stored();
    assert_eq!(world.call(&stored).await, 401);
    let mut login = world.begin().await.unwrap();
    let asked = query(login.url());
    for (name, value) in [
        ("response_type", "code"),
        ("code_challenge_method", "S256"),
        ("scope", "files:read"),
        ("resource", &world.url()),
        ("client_id", "client1"),
    ] {
        assert_eq!(asked[name], value, "{name}");
    }
    assert!(asked["redirect_uri"].starts_with("http://127.0.0.1:"));
    let target = browse(login.url()).await;
    let foreign = target.replace("state=", "state=x");
    let (redirect, statuses) = tokio::join!(login.redirect(), async {
        // Requests of others are not ours to take.
        (follow(&foreign).await, follow(&target).await)
    });
    assert_eq!(statuses, (404, 200));
    login.finish(redirect.unwrap()).await.unwrap();
    assert_eq!(world.call(&stored).await, 200);

    let request = &world.token_requests()[0];
    assert_eq!(request["resource"], world.url());
    assert_eq!(request["client_id"], "client1");
    let registration = &world.registrations()[0];
    assert_eq!(registration["application_type"], "native");
    assert_eq!(
        registration["redirect_uris"],
        json!([asked["redirect_uri"]])
    );
    assert_eq!(registration["token_endpoint_auth_method"], "none");
}

#[tokio::test]
async fn a_login_leaves_a_private_file_and_a_logout_empties_it() {
    let world = World::new(Behaviour::default());
    world.log_in().await.unwrap();
    let path = world.home.path().join("mcp/logins.json");
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.clone()), 0o600);
    assert_eq!(mode(world.home.path().join("mcp")), 0o700);
    let store = world.store();
    let summary = store.summary(&world.url()).unwrap().unwrap();
    assert_eq!(summary.issuer, world.issuer.origin());
    assert!(summary.is_renewable);
    assert!(!format!("{summary:?} {store:?}").contains("token"));
    assert_eq!(store.summary("http://127.0.0.1:1/mcp").unwrap(), None);

    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let open = store.summary(&world.url()).unwrap_err().to_string();
    assert!(open.contains("chmod 600"), "{open}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();

    assert!(store.remove(&world.url()).unwrap());
    assert!(!store.remove(&world.url()).unwrap());
    assert_eq!(store.summary(&world.url()).unwrap(), None);
    assert!(!fs::read_to_string(&path).unwrap().contains("token1"));
    assert_eq!(world.call(&world.stored()).await, 401);
}

#[tokio::test]
async fn a_pasted_address_must_belong_to_the_login() {
    let world = World::new(Behaviour::default());
    let login = world.begin().await.unwrap();
    let target = browse(login.url()).await;
    let other = world.begin().await.unwrap();
    for (pasted, expected) in [
        ("", "not the address of a finished login"),
        ("code1", "not the address of a finished login"),
        (&*browse(other.url()).await, "belongs to another login"),
    ] {
        let error = login.read_redirect(pasted).err().unwrap().to_string();
        assert!(error.contains(expected), "{pasted}: {error}");
    }
    let query = target.split_once('?').unwrap().1;
    let redirect = login.read_redirect(&format!("  {query}\n")).unwrap();
    login.finish(redirect).await.unwrap();
    assert_eq!(world.call(&world.stored()).await, 200);
}

#[tokio::test]
async fn a_refusing_user_is_told_apart() {
    let world = World::new(Behaviour {
        user_refuses: true,
        ..Behaviour::default()
    });
    let error = world.log_in().await.unwrap_err();
    assert!(matches!(error, OAuthError::Refused { code, .. } if code == "access_denied"));
    assert!(world.token_requests().is_empty());
}

#[tokio::test]
async fn a_client_is_registered_once_and_configured_or_described_ones_never() {
    let world = World::new(Behaviour::default());
    world.log_in().await.unwrap();
    world.log_in().await.unwrap();
    assert_eq!(world.registrations().len(), 1);

    let mut world = World::new(Behaviour {
        metadata: json!({"client_id_metadata_document_supported": true}),
        ..Behaviour::default()
    });
    world.settings.client_metadata_url = Some("https://zot.test/client.json".to_owned());
    world.log_in().await.unwrap();
    assert_eq!(
        world.token_requests()[0]["client_id"],
        "https://zot.test/client.json"
    );
    world.settings.client_id = Some("mine".to_owned());
    world.settings.callback_port = Some(1);
    let login = world.begin().await.unwrap();
    let asked = query(login.url());
    assert_eq!(asked["client_id"], "mine");
    assert_eq!(asked["redirect_uri"], "http://localhost:1/callback");
    assert!(world.registrations().is_empty());
}

#[tokio::test]
async fn clients_prove_who_they_are_as_the_server_wants() {
    for (methods, expected) in [
        (
            json!(["client_secret_basic", "client_secret_post"]),
            Some("basic"),
        ),
        (json!(["client_secret_post"]), Some("client_secret")),
        (json!(["none", "client_secret_basic"]), None),
    ] {
        let mut world = World::new(Behaviour {
            metadata: json!({"token_endpoint_auth_methods_supported": methods}),
            registration: json!({"client_secret": "s&cret"}),
            ..Behaviour::default()
        });
        world.log_in().await.unwrap();
        let request = &world.token_requests()[0];
        let sent = |name: &str| request.get(name).map(String::as_str);
        match expected {
            Some("basic") => {
                assert_eq!(sent("basic"), Some("client1:s%26cret"));
                assert_eq!(sent("client_id"), None);
            }
            Some(_) => assert_eq!(sent("client_secret"), Some("s&cret")),
            None => assert_eq!((sent("basic"), sent("client_secret")), (None, None)),
        }
        world.settings.client_id = Some("mine".to_owned());
        world.log_in().await.unwrap();
        assert_eq!(
            world.token_requests()[1]["client_id"],
            "mine",
            "no secret is configured"
        );
    }
}

#[tokio::test]
async fn more_rights_are_asked_for_beside_those_there_are() {
    let world = World::new(Behaviour {
        needed: "read",
        metadata: json!({"scopes_supported": ["offline_access"]}),
        ..Behaviour::default()
    });
    world.log_in().await.unwrap();
    assert_eq!(world.call(&world.stored()).await, 200);
    world.behaviour.lock().unwrap().needed = "write";
    assert_eq!(world.call(&world.stored()).await, 403);
    // Another process knows what the refusal said.
    let login = world.begin().await.unwrap();
    assert_eq!(query(login.url())["scope"], "read offline_access write");
    assert_eq!(query(login.url())["prompt"], "consent");
    let redirect = login.read_redirect(&browse(login.url()).await).unwrap();
    login.finish(redirect).await.unwrap();
    assert_eq!(world.call(&world.stored()).await, 200);
}

#[tokio::test]
async fn a_client_without_a_user_gets_its_own_tokens() {
    let mut world = World::new(Behaviour {
        needed: "read",
        grant: json!({"expires_in": 3600}),
        ..Behaviour::default()
    });
    world.settings.client_id = Some("machine".to_owned());
    world.settings.client_secret = Some("secret".to_owned());
    world.settings.grant = OAuthGrant::ClientCredentials;
    assert_eq!(world.call(&world.stored()).await, 200);
    assert_eq!(world.call(&world.stored()).await, 200);
    let requests = world.token_requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0]["grant_type"], "client_credentials");
    assert_eq!(requests[0]["resource"], world.url());
    assert_eq!(requests[0]["basic"], "machine:secret");
    world.behaviour.lock().unwrap().needed = "write";
    assert_eq!(world.call(&world.stored()).await, 200);
    assert_eq!(world.token_requests()[1]["scope"], "read write");
}

#[tokio::test]
async fn a_server_without_logins_says_so() {
    let server = testkit::HttpScript::start(|_| testkit::HttpReply::new(404, ""));
    let home = tempfile::tempdir().unwrap();
    let login = crate::oauth::Login::begin(crate::oauth::LoginRequest {
        http: zot_provider::HttpClient::new(),
        home: home.path(),
        server: &format!("{}/mcp", server.origin()),
        settings: &crate::entry::OAuthSettings::default(),
        challenge: None,
    })
    .await;
    assert!(matches!(
        login,
        Err(OAuthError::NoAuthorizationServer { .. })
    ));
    let paths: Vec<_> = server
        .requests()
        .iter()
        .map(|r| r.path().to_owned())
        .collect();
    assert_eq!(
        paths,
        [
            "/mcp",
            "/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-protected-resource",
            "/.well-known/oauth-authorization-server",
            "/.well-known/openid-configuration",
        ]
    );
}
