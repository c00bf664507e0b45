use std::sync::{Mutex, mpsc};
use std::time::Duration;

use serde_json::json;
use testkit::{HttpReply, HttpScript};
use zot_process::Secret;

use super::*;
use crate::authorization::{Authorization as _, NextStep, Refusal};
use crate::oauth::StoredLogin;

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

/// Has the login renewed at another server.
fn renew_at(world: &World, server: &HttpScript) {
    let path = world.home.path().join("mcp/logins.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let changed = text.replace(
        &format!("{}/token", world.issuer.origin()),
        &format!("{}/token", server.origin()),
    );
    assert_ne!(text, changed);
    std::fs::write(&path, changed).unwrap();
}

/// Tells a login that its token was refused.
async fn refuse(stored: &StoredLogin, token: &Secret) -> NextStep {
    let refusal = Refusal {
        status: 401,
        challenge: None,
        token: Some(token),
    };
    stored.refused(refusal).await.unwrap()
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

#[tokio::test]
async fn a_refusal_that_passes_does_not_end_the_login() {
    for (status, error, is_ended) in [
        (503, "temporarily_unavailable", false),
        (500, "invalid_grant", false),
        (429, "slow_down", false),
        (400, "invalid_request", false),
        (400, "invalid_grant", true),
        (401, "invalid_client", true),
        (400, "unauthorized_client", true),
    ] {
        let world = expired().await;
        let issuer =
            HttpScript::start(move |_| HttpReply::json(&json!({"error": error})).status(status));
        renew_at(&world, &issuer);
        let token = world.stored().token().await;
        assert_eq!(token.is_err(), status >= 429, "{status} {error}");
        assert_eq!(issuer.requests().len(), 1);
        let summary = world.store().summary(&world.url()).unwrap().unwrap();
        assert_eq!(summary.is_renewable, !is_ended, "{status} {error}");
    }
}

#[tokio::test]
async fn a_token_that_has_worked_for_a_while_is_renewed_again() {
    let world = World::new(Behaviour::default());
    world.log_in().await.unwrap();
    let stored = world.stored();
    for _ in 0..3 {
        let token = stored.token().await.unwrap().unwrap();
        assert_eq!(refuse(&stored, &token).await, NextStep::Repeat);
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(31)).await;
        tokio::time::resume();
    }
    let token = stored.token().await.unwrap().unwrap();
    assert_eq!(refuse(&stored, &token).await, NextStep::Repeat);
    // Nobody can have used this one.
    let token = stored.token().await.unwrap().unwrap();
    assert_eq!(refuse(&stored, &token).await, NextStep::LogIn);
}

#[tokio::test]
async fn a_renewal_is_stored_even_if_its_caller_has_gone() {
    let world = expired().await;
    let (respond, responses) = mpsc::channel();
    let responses = Mutex::new(responses);
    let issuer = HttpScript::start(move |_| responses.lock().unwrap().recv().unwrap());
    renew_at(&world, &issuer);
    let stored = world.stored();
    tokio::select! {
        _ = stored.token() => panic!("nobody has responded"),
        () = async {
            while issuer.requests().is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        } => {}
    }
    let renewed = json!({
        "access_token": "renewed", "token_type": "Bearer", "refresh_token": "new", "expires_in": 3600,
    });
    respond.send(HttpReply::json(&renewed)).unwrap();
    // The old refresh token does not work twice.
    let used = json!({"error": "invalid_grant"});
    respond.send(HttpReply::json(&used).status(400)).unwrap();
    let token = world.stored().token().await.unwrap().unwrap();
    assert_eq!(&*token, "renewed");
    assert_eq!(issuer.requests().len(), 1);
}
