//! Instances, callers and servers that go away.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use testkit::nats::{Nats, NatsEnd, NatsOptions, Nkey, NkeyUser};
use tokio::time::timeout;
use zino::bus::{Bus, BusError, BusFailure};
use zino::config::Config;
use zino::peer::{CallError, LinkError, Unreachable};
use zot_wire::zino::executor::Response;

use super::worker::{
    LOG, Serving, config, connect, execute, peer, until, validate, wait_for_instances,
};

fn failure(error: &CallError) -> &BusFailure {
    match error {
        CallError::Unreachable(Unreachable::Bus(error))
        | CallError::OutcomeUnknown(LinkError::Bus(error))
        | CallError::Lost(LinkError::Bus(error)) => &error.failure,
        other => panic!("{other}"),
    }
}

/// Takes requests of `exc` as a member of its queue group and does not answer them.
async fn black_hole(nats: &Nats) -> (async_nats::Client, async_nats::Subscriber) {
    let client = async_nats::connect(nats.url()).await.unwrap();
    let requests = client
        .queue_subscribe("zino.default.exc", "exc".to_owned())
        .await
        .unwrap();
    client.flush().await.unwrap();
    (client, requests)
}

async fn next(messages: &mut async_nats::Subscriber) -> async_nats::Message {
    use futures_core::Stream as _;
    let next =
        std::future::poll_fn(|context| std::pin::Pin::new(&mut *messages).poll_next(context));
    let message = timeout(crate::stack::TEST_TIMEOUT, next).await;
    message.expect("a message in time").expect("a message")
}

#[tokio::test]
async fn without_an_instance_a_call_fails_at_once() {
    let nats = Nats::start();
    let client = connect(&nats, "agr").await;
    for request in [validate("length"), execute("length")] {
        let error = peer(&client).ask(request).await.unwrap_err();
        assert!(matches!(error, CallError::Unreachable(_)), "{error}");
        assert_eq!(failure(&error), &BusFailure::NoInstance);
    }
}

#[tokio::test]
async fn an_instance_that_does_not_answer_is_passed_over() {
    let nats = Nats::start();
    let client = connect(&nats, "agr").await;
    let (_hole, mut swallowed) = black_hole(&nats).await;
    let serving = Serving::begin(&nats).await;
    wait_for_instances(&client, 1).await;
    let peer = peer(&client);
    for request in [validate("length"), execute("length")] {
        for _ in 0..10 {
            let Response::Result(_) = peer.ask(request.clone()).await.unwrap() else {
                panic!("expected a result");
            };
        }
    }
    assert_eq!(serving.begun(), 20, "none was handled twice");
    // The bus is not asked to choose again for a while.
    let message = next(&mut swallowed).await;
    assert!(message.headers.unwrap().get("Zino-Call").is_some());
    assert!(
        timeout(Duration::from_millis(50), next(&mut swallowed))
            .await
            .is_err(),
        "more than one request was lost"
    );
    serving.end().await;
}

#[tokio::test]
async fn an_instance_that_accepts_too_late_is_told_to_stop() {
    let nats = Nats::start();
    let client = connect(&nats, "agr").await;
    let (late, mut requests) = black_hole(&nats).await;
    let mut told = late.subscribe("zino.default.ctl.exc.late.>").await.unwrap();
    let serving = Serving::begin(&nats).await;
    wait_for_instances(&client, 1).await;
    let peer = peer(&client);
    let asking = async {
        // The bus chooses one of the two.
        loop {
            peer.ask(execute("length")).await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    let request = tokio::select! {
        () = asking => unreachable!(),
        request = next(&mut requests) => request,
    };
    let window = request.headers.unwrap();
    assert_eq!(window.get("Zino-Window").unwrap().as_str(), "0");
    let mut headers = async_nats::HeaderMap::new();
    headers.insert("Zino-Kind", "accept");
    headers.insert("Zino-Ctl", "zino.default.ctl.exc.late");
    let reply = request.reply.unwrap();
    // Whoever asked has dropped its call, or another instance has it.
    late.publish_with_headers(reply.clone(), headers, Bytes::new())
        .await
        .unwrap();
    let answer = next(&mut told).await;
    let kind = answer.headers.unwrap();
    assert_eq!(kind.get("Zino-Kind").unwrap().as_str(), "cancel");
    let call = |subject: &str| subject.rsplit('.').nth(1).unwrap().to_owned();
    assert_eq!(call(&answer.subject), call(&reply));
    serving.end().await;
}

#[tokio::test]
async fn a_request_that_comes_again_is_not_handled_again() {
    let nats = Nats::start();
    let serving = Serving::begin(&nats).await;
    let client = async_nats::connect(nats.url()).await.unwrap();
    let mut answers = client.subscribe("_INBOX_test.>").await.unwrap();
    for attempt in ["1", "2"] {
        let mut headers = async_nats::HeaderMap::new();
        headers.insert("Zino-Call", "12");
        headers.insert("Zino-Attempt", attempt);
        headers.insert("Zino-Window", "64");
        client
            .publish_with_reply_and_headers(
                "zino.default.exc",
                format!("_INBOX_test.me.12.{attempt}"),
                headers,
                "{\"type\":\"validate\",\"code\":\"slow\"}".into(),
            )
            .await
            .unwrap();
    }
    loop {
        let answer = next(&mut answers).await;
        assert!(answer.subject.ends_with(".12.1"), "{}", answer.subject);
        let headers = answer.headers.unwrap();
        if headers.get("Zino-Kind").unwrap().as_str() == "data" {
            break;
        }
    }
    assert_eq!(serving.begun(), 1);
    serving.end().await;
}

#[tokio::test]
async fn an_instance_that_is_lost_is_noticed() {
    let nats = Nats::start();
    let serving = Serving::begin(&nats).await;
    let client = connect(&nats, "agr").await;
    let peer = peer(&client);
    let mut never = peer.call(execute("hang")).await.unwrap();
    let mut begun = peer.call(execute("frames 100000 100")).await.unwrap();
    begun.next().await.unwrap().unwrap();
    until(async || serving.begun() == 2).await;
    drop(serving);
    let error = never.next().await.unwrap_err();
    assert!(matches!(error, CallError::OutcomeUnknown(_)), "{error}");
    let error = loop {
        if let Err(error) = begun.next().await {
            break error;
        }
    };
    assert!(matches!(error, CallError::Lost(_)), "{error}");
}

#[tokio::test]
async fn a_repeatable_request_is_repeated_until_something_was_delivered() {
    let nats = Nats::start();
    let first = Serving::begin(&nats).await;
    let client = connect(&nats, "agr").await;
    wait_for_instances(&client, 1).await;
    let peer = peer(&client);
    let call = peer.call(validate("slow"));
    let (call, second) = tokio::join!(call, async {
        until(async || first.begun() == 1).await;
        let second = Serving::begin(&nats).await;
        wait_for_instances(&client, 2).await;
        drop(first);
        second
    });
    let mut call = call.unwrap();
    let response = call.next().await.unwrap();
    assert!(
        matches!(response, Some(Response::Result(_))),
        "{response:?}"
    );
    assert_eq!(second.begun(), 1);
    second.end().await;
}

#[tokio::test]
async fn a_caller_that_is_gone_ends_the_work() {
    let nats = Nats::start();
    let serving = Serving::begin(&nats).await;
    let client = connect(&nats, "agr").await;
    let call = peer(&client).call(execute("hang")).await.unwrap();
    until(async || serving.begun() == 1).await;
    drop(call);
    until(async || serving.left() == 1).await;

    let call = peer(&client).call(execute("hang")).await.unwrap();
    until(async || serving.begun() == 2).await;
    // It says nothing any longer, not even goodbye.
    std::mem::forget(call);
    drop(client);
    until(async || serving.left() == 2).await;
    serving.end().await;
}

#[tokio::test]
async fn a_restarted_server_fails_running_calls_and_serves_new_ones() {
    let mut nats = Nats::start();
    let serving = Serving::begin(&nats).await;
    let client = connect(&nats, "agr").await;
    let peer = peer(&client);
    let mut call = peer.call(execute("hang")).await.unwrap();
    until(async || serving.begun() == 1).await;
    nats.stop(NatsEnd::Kill);
    let error = call.next().await.unwrap_err();
    assert_eq!(failure(&error), &BusFailure::Disconnected);
    let error = peer.ask(validate("length")).await.unwrap_err();
    assert_eq!(failure(&error), &BusFailure::NotConnected);
    until(async || serving.left() == 1).await;
    nats.start_again();
    until(async || peer.ask(validate("length")).await.is_ok()).await;
    peer.ask(execute("length")).await.unwrap();
    wait_for_instances(&client, 1).await;
    serving.end().await;
}

#[tokio::test]
async fn an_instance_that_ends_finishes_its_work_and_takes_no_more() {
    let nats = Nats::start();
    let (ending, other) = (Serving::begin(&nats).await, Serving::begin(&nats).await);
    let client = connect(&nats, "agr").await;
    wait_for_instances(&client, 2).await;
    let peer = peer(&client);
    let mut calls = Vec::new();
    while ending.begun() == 0 {
        calls.push(peer.call(execute("slow")).await.unwrap());
        tokio::task::yield_now().await;
    }
    ending.stop();
    for _ in 0..20 {
        peer.ask(execute("length")).await.unwrap();
    }
    for mut call in calls {
        call.next().await.unwrap().unwrap();
    }
    ending.end().await;
    wait_for_instances(&client, 1).await;
    other.end().await;
    wait_for_instances(&client, 0).await;
    let error = peer.ask(execute("length")).await.unwrap_err();
    assert_eq!(failure(&error), &BusFailure::NoInstance);
}

#[tokio::test]
async fn a_full_instance_is_passed_over() {
    let nats = Nats::start();
    let small = Serving::with_capacity(&nats, 1).await;
    let client = connect(&nats, "agr").await;
    let peer = peer(&client);
    let _running = peer.call(execute("hang")).await.unwrap();
    let error = peer.ask(execute("length")).await.unwrap_err();
    assert!(
        error.to_string().contains("as many requests as it can"),
        "{error}"
    );
    let large = Serving::begin(&nats).await;
    wait_for_instances(&client, 2).await;
    for _ in 0..10 {
        peer.ask(execute("length")).await.unwrap();
    }
    assert_eq!((small.begun(), large.begun()), (1, 10));
    drop((small, large));
}

fn key_file(directory: &tempfile::TempDir, name: &str, key: &Nkey) -> std::path::PathBuf {
    let path = directory.path().join(name);
    key.write(&path);
    path
}

fn config_with(nats: &Nats, key: std::path::PathBuf) -> Config {
    let mut config = config(nats);
    config.bus.nkey = Some(key);
    config
}

#[tokio::test]
async fn a_wrong_key_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let (right, wrong) = (Nkey::new(), Nkey::new());
    let nats = Nats::with(NatsOptions {
        users: vec![NkeyUser {
            key: right.clone(),
            permissions: None,
        }],
        ..NatsOptions::default()
    });
    let right = config_with(&nats, key_file(&directory, "right", &right));
    assert!(Bus::connect(&right, "exc", LOG).await.unwrap().is_some());
    let wrong = config_with(&nats, key_file(&directory, "wrong", &wrong));
    for (config, name) in [(wrong, "wrong"), (config(&nats), "set [bus] nkey")] {
        let error = Bus::connect(&config, "exc", LOG).await.err().unwrap();
        assert!(matches!(error, BusError::Unauthorized { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[tokio::test]
async fn a_forbidden_subject_is_named_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let (agr, exc, bad) = (Nkey::new(), Nkey::new(), Nkey::new());
    let user = |key: &Nkey, permissions: &str| NkeyUser {
        key: key.clone(),
        permissions: Some(permissions.to_owned()),
    };
    let nats = Nats::with(NatsOptions {
        users: vec![
            user(&agr, "publish: [\"zino.default.ctl.agr.>\"]"),
            user(&exc, ""),
            user(&bad, "subscribe: {deny: [\"zino.default.exc\"]}"),
        ],
        ..NatsOptions::default()
    });
    let serving = {
        let config = config_with(&nats, key_file(&directory, "exc", &exc));
        Bus::connect(&config, "exc", LOG).await.unwrap().unwrap()
    };
    let config = config_with(&nats, key_file(&directory, "agr", &agr));
    let client = Arc::new(Bus::connect(&config, "agr", LOG).await.unwrap().unwrap());
    let error = peer(&client).ask(execute("length")).await.unwrap_err();
    assert!(
        matches!(failure(&error), BusFailure::Forbidden(_)),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("publish to \"zino.default.exc\""),
        "{error}"
    );

    let config = config_with(&nats, key_file(&directory, "bad", &bad));
    let bus = Bus::connect(&config, "exc", LOG).await.unwrap().unwrap();
    let error = zino::bus::BusListener::bind(&bus, "exc", 1)
        .await
        .err()
        .unwrap();
    assert!(
        error
            .to_string()
            .contains("subscribe to \"zino.default.exc\""),
        "{error}"
    );
    drop(serving);
}
