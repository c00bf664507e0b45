use serde_json::json;

use super::*;
use crate::authorization::Authorization as _;

/// A world with a login whose token expires at once.
async fn expired() -> World {
    let world = World::new(Behaviour {
        grant: json!({"refresh_token": "r", "expires_in": 0}),
        ..Behaviour::default()
    });
    world.log_in().await.unwrap();
    world.behaviour.lock().unwrap().grant = json!({"refresh_token": "r", "expires_in": "3600"});
    world
}

#[tokio::test]
async fn an_expired_token_is_renewed_once_whoever_asks() {
    let world = expired().await;
    let (one, two, three) = (world.stored(), world.stored(), world.stored());
    let tokens = tokio::join!(one.token(), two.token(), three.token());
    let first = tokens.0.unwrap().unwrap();
    assert_eq!(tokens.1.unwrap().unwrap(), first);
    assert_eq!(tokens.2.unwrap().unwrap(), first);
    let requests = world.token_requests();
    assert_eq!(requests.len(), 2, "a login and one renewal");
    assert_eq!(requests[1]["grant_type"], "refresh_token");
    assert_eq!(requests[1]["resource"], world.url());
    assert_eq!(requests[1]["client_id"], "client1");
    assert_eq!(world.call(&one).await, 200);
    assert_eq!(world.token_requests().len(), 2);
}

#[tokio::test]
async fn a_refused_token_is_renewed_once_and_then_the_user_is_asked() {
    let world = World::new(Behaviour::default());
    world.log_in().await.unwrap();
    world.behaviour.lock().unwrap().refuses_all = true;
    assert_eq!(world.call(&world.stored()).await, 401);
    assert_eq!(world.token_requests().len(), 2, "a login and one renewal");
    world.behaviour.lock().unwrap().refuses_all = false;
    assert_eq!(world.call(&world.stored()).await, 200);
}

#[tokio::test]
async fn a_token_that_another_process_renewed_is_taken_over() {
    let world = World::new(Behaviour::default());
    world.log_in().await.unwrap();
    let stored = world.stored();
    let old = stored.token().await.unwrap().unwrap();
    // The other process.
    world.log_in().await.unwrap();
    let refusal = crate::authorization::Refusal {
        status: 401,
        challenge: None,
        token: Some(&old),
    };
    let next = stored.refused(refusal).await.unwrap();
    assert_eq!(next, crate::authorization::NextStep::Repeat);
    assert_eq!(world.token_requests().len(), 2, "two logins, no renewal");
}

#[tokio::test]
async fn a_login_that_the_server_ended_is_not_asked_for_again() {
    let world = expired().await;
    // The issuer does not know this refresh token.
    let path = world.home.path().join("mcp/logins.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let ended = text.replace("\"refresh\": \"refresh", "\"refresh\": \"gone");
    assert_ne!(text, ended);
    std::fs::write(&path, ended).unwrap();
    let before = world.token_requests().len();
    world.behaviour.lock().unwrap().refuses_all = true;
    assert_eq!(world.call(&world.stored()).await, 401);
    assert_eq!(world.call(&world.stored()).await, 401);
    assert_eq!(world.token_requests().len(), before + 1);
    assert!(
        !world
            .store()
            .summary(&world.url())
            .unwrap()
            .unwrap()
            .is_renewable
    );
}

#[tokio::test]
async fn an_unreachable_issuer_is_an_error_only_when_the_token_has_expired() {
    let mut world = expired().await;
    let stored = world.stored();
    world.issuer = testkit::HttpScript::start(|_| testkit::HttpReply::new(500, ""));
    assert!(stored.token().await.is_err());
    let path = world.home.path().join("mcp/logins.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let soon = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs()
        + 30;
    let start = text.find("\"expires_at\": ").unwrap() + "\"expires_at\": ".len();
    let end = start + text[start..].find([',', '\n']).unwrap();
    let later = format!("{}{soon}{}", &text[..start], &text[end..]);
    std::fs::write(&path, later).unwrap();
    assert!(stored.token().await.unwrap().is_some());
}
