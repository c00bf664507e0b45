//! Retries, timeouts, reuse and cancellation over loopback.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::{Duration, Instant};

use zot_conversation::{
    Message, Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream, Sampling,
    StopReason, Timestamp,
};
use zot_provider::{AnthropicClient, Endpoint, HttpClient, OpenAiClient, OpenAiQuirks, Timeouts};

use crate::server::{Server, delta};

pub(crate) const KEY: &str = "sk-a-secret-key";

pub(crate) fn endpoint(provider: &str, base_url: String) -> Endpoint {
    Endpoint {
        provider: provider.to_owned(),
        base_url,
        api_key: Some(KEY.into()),
    }
}

pub(crate) fn openai(server: &Server, timeouts: Timeouts) -> OpenAiClient {
    // A trailing slash is harmless.
    let base_url = format!("http://{}/v1/", server.address());
    let http = HttpClient::with_timeouts(timeouts);
    OpenAiClient::new(http, endpoint("openai", base_url), OpenAiQuirks::COMPATIBLE)
}

pub(crate) fn messages() -> [Arc<Message>; 1] {
    [Arc::new(Message::user_text("hi", Timestamp::UNIX_EPOCH))]
}

pub(crate) fn request(messages: &[Arc<Message>]) -> ModelRequest<'_> {
    ModelRequest {
        model: "m",
        system: "",
        messages,
        tools: &[],
        reasoning: None,
        max_output: 10,
        sampling: Sampling::default(),
    }
}

pub(crate) async fn next(stream: &mut ModelStream<'_>) -> Option<Result<ModelEvent, ModelError>> {
    poll_fn(|context| stream.as_mut().poll_next(context)).await
}

/// What came of the request in the end, however often it was sent.
async fn collect(mut stream: ModelStream<'_>) -> (Vec<ModelEvent>, Option<ModelError>) {
    let mut events = Vec::new();
    while let Some(event) = next(&mut stream).await {
        match event {
            Ok(ModelEvent::Retrying { .. }) => assert!(events.is_empty(), "only before the start"),
            Ok(event) => events.push(event),
            Err(error) => {
                assert!(next(&mut stream).await.is_none(), "an error is the end");
                return (events, Some(error));
            }
        }
    }
    (events, None)
}

pub(crate) async fn ask(client: &dyn Model) -> (Vec<ModelEvent>, Option<ModelError>) {
    collect(client.stream(request(&messages()))).await
}

fn said(text: &str) -> Vec<ModelEvent> {
    vec![
        ModelEvent::Start,
        ModelEvent::TextDelta(text.to_owned()),
        ModelEvent::Stop(StopReason::End),
    ]
}

pub(crate) fn assert_said(answer: (Vec<ModelEvent>, Option<ModelError>), text: &str) {
    assert!(answer.1.is_none(), "{:?}", answer.1);
    assert_eq!(answer.0, said(text));
}

pub(crate) fn assert_failed(
    answer: (Vec<ModelEvent>, Option<ModelError>),
    kind: ModelErrorKind,
) -> String {
    let error = answer.1.expect("an error");
    assert_eq!(error.kind, kind, "{error}");
    assert!(!error.to_string().contains(KEY), "{error}");
    error.to_string()
}

#[tokio::test]
async fn sends_what_servers_expect() {
    let server = Server::start().await;
    let client = openai(&server, Timeouts::default());
    let serve = async {
        let mut peer = server.accept().await;
        let received = peer.request().await;
        peer.say("ok").await;
        received
    };
    let (answer, received) = tokio::join!(ask(&client), serve);
    assert_said(answer, "ok");
    let head = received.head;
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:"));
    let version = env!("CARGO_PKG_VERSION");
    for line in [
        &format!("authorization: Bearer {KEY}\r\n"),
        &format!("user-agent: zot/{version}\r\n"),
        "content-type: application/json\r\n",
    ] {
        assert!(head.contains(line), "{head}");
    }
    assert!(received.body.starts_with(b"{\"model\":\"m\",") && received.body.ends_with(b"]}"));

    let base_url = format!("http://{}", server.address());
    let client = AnthropicClient::new(HttpClient::new(), endpoint("anthropic", base_url));
    let serve = async {
        let mut peer = server.accept().await;
        let received = peer.request().await;
        peer.respond(200, "", "data: {\"type\":\"message_stop\"}\n\n")
            .await;
        received.head
    };
    let (answer, head) = tokio::join!(ask(&client), serve);
    assert_eq!(
        answer.0,
        [ModelEvent::Start, ModelEvent::Stop(StopReason::End)]
    );
    assert!(head.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("x-api-key: {KEY}\r\n")));
    assert!(head.contains("anthropic-version: 2023-06-01\r\n"));
}

#[tokio::test]
async fn refusals_carry_status_and_body() {
    let server = Server::start().await;
    let client = openai(&server, Timeouts::default());
    let serve = async {
        let mut peer = server.accept().await;
        // One connection serves all: refusals are read to their end.
        for (status, headers, body) in [
            (401, "", "{\"error\":\"no\"}"),
            (429, "retry-after: 7\r\nx-should-retry: false\r\n", "slow"),
            (500, "x-should-retry: false\r\n", "oops"),
            (400, "", "maximum context length is 8"),
            (503, "retry-after: 61\r\n", "later"),
        ] {
            peer.request().await;
            peer.respond(status, headers, body).await;
        }
    };
    let ask_all = async {
        let message = assert_failed(ask(&client).await, ModelErrorKind::Unauthorized);
        assert_eq!(message, "openai: http 401: {\"error\":\"no\"}");
        assert_failed(ask(&client).await, ModelErrorKind::RateLimited);
        let message = assert_failed(ask(&client).await, ModelErrorKind::Unavailable);
        assert_eq!(message, "openai: http 500: oops");
        assert_failed(ask(&client).await, ModelErrorKind::ContextOverflow);
        assert_failed(ask(&client).await, ModelErrorKind::Unavailable);
    };
    tokio::join!(serve, ask_all);
}

#[tokio::test]
async fn failures_before_the_response_are_retried_twice() {
    let server = Server::start().await;
    let client = openai(&server, Timeouts::default());
    let serve = async {
        let mut peer = server.accept().await;
        peer.request().await;
        peer.respond(503, "retry-after: 0\r\nconnection: close\r\n", "busy")
            .await;
        let mut peer = server.accept().await;
        peer.request().await;
        peer.reset();
        let mut peer = server.accept().await;
        peer.request().await;
        peer.say("third").await;
    };
    let before = Instant::now();
    let (answer, ()) = tokio::join!(ask(&client), serve);
    assert_said(answer, "third");
    assert!(before.elapsed() >= Duration::from_millis(1000));

    let serve = async {
        for _ in 0..3 {
            let mut peer = server.accept().await;
            peer.request().await;
        }
    };
    // A separate client: the connection above would only count as a stale one.
    let client = openai(&server, Timeouts::default());
    let (answer, ()) = tokio::join!(ask(&client), serve);
    assert!(answer.0.is_empty());
    let message = assert_failed(answer, ModelErrorKind::Connection);
    let url = format!("http://{}/v1/chat/completions", server.address());
    assert_eq!(message, format!("openai: Post \"{url}\": unexpected EOF"));
}

#[tokio::test]
async fn a_patient_client_waits_for_rate_limits() {
    let server = Server::start().await;
    let base_url = format!("http://{}/v1", server.address());
    let client = OpenAiClient::new(
        HttpClient::new().patient(),
        endpoint("openai", base_url),
        OpenAiQuirks::COMPATIBLE,
    );
    let serve = async {
        let mut peer = server.accept().await;
        let soon = "retry-after-ms: 1\r\n";
        for status in [429, 529, 500, 503, 429] {
            peer.request().await;
            peer.respond(status, soon, "slow").await;
        }
        peer.request().await;
        peer.say("at last").await;
    };
    let (answer, ()) = tokio::join!(ask(&client), serve);
    assert_said(answer, "at last");
}

/// A wait is part of the stream: dropping it ends the wait, and nothing is sent afterwards.
#[tokio::test]
async fn a_wait_can_be_broken_off() {
    let server = Server::start().await;
    let client = openai(&server, Timeouts::default());
    let serve = async {
        let mut peer = server.accept().await;
        peer.request().await;
        peer.respond(429, "retry-after: 50\r\n", "slow").await;
        std::future::pending::<()>().await;
    };
    let broken_off = async {
        let messages = [Arc::new(Message::user_text("hello", Timestamp::UNIX_EPOCH))];
        let mut stream = client.stream(request(&messages));
        let first = poll_fn(|context| stream.as_mut().poll_next(context)).await;
        let Some(Ok(ModelEvent::Retrying { failures, wait, .. })) = first else {
            panic!("{first:?}");
        };
        assert_eq!((failures, wait), (1, Duration::from_secs(50)));
    };
    let before = Instant::now();
    tokio::select! {
        () = serve => {}
        () = broken_off => {}
    }
    assert!(before.elapsed() < Duration::from_secs(40));
}

#[tokio::test]
async fn a_server_that_is_not_there() {
    let server = Server::start().await;
    let client = openai(&server, Timeouts::default());
    drop(server);
    let answer = ask(&client).await;
    assert!(answer.0.is_empty());
    let message = assert_failed(answer, ModelErrorKind::Connection);
    assert!(
        message.starts_with("openai: Post \"http://127.0.0.1:"),
        "{message}"
    );
    assert!(message.contains("onnection refused"), "{message}");
}

#[tokio::test]
async fn nothing_is_retried_after_the_start() {
    let server = Server::start().await;
    let client = openai(&server, Timeouts::default());
    let serve = async {
        let mut peer = server.accept().await;
        peer.request().await;
        peer.begin().await;
        peer.send_chunk(&delta("part")).await;
    };
    let (answer, ()) = tokio::join!(ask(&client), serve);
    assert_eq!(answer.0, said("part")[..2]);
    let message = assert_failed(answer, ModelErrorKind::Stream);
    assert!(message.contains("unexpected EOF"), "{message}");
}

#[tokio::test]
async fn an_error_event_keeps_what_came_before() {
    let server = Server::start().await;
    let client = openai(&server, Timeouts::default());
    let serve = async {
        let mut peer = server.accept().await;
        peer.request().await;
        peer.begin().await;
        let error = "data: {\"error\":{\"type\":\"server_error\",\"message\":\"no\"}}\n\n";
        peer.send_chunk(&(delta("part") + error)).await;
        peer.closed().await;
    };
    let (answer, ()) = tokio::join!(ask(&client), serve);
    assert_eq!(answer.0, said("part")[..2]);
    let message = assert_failed(answer, ModelErrorKind::Unavailable);
    assert_eq!(message, "openai: server_error: no");
}

#[tokio::test]
async fn a_silent_stream_times_out() {
    let server = Server::start().await;
    let client = openai(&server, Timeouts::default());
    let messages = messages();
    let mut stream = client.stream(request(&messages));
    let serve = async {
        let mut peer = server.accept().await;
        peer.request().await;
        peer.begin().await;
        peer.send_chunk(&delta("part")).await;
        peer
    };
    let (first, peer) = tokio::join!(next(&mut stream), serve);
    assert_eq!(first.unwrap().unwrap(), ModelEvent::Start);
    assert!(matches!(
        next(&mut stream).await,
        Some(Ok(ModelEvent::TextDelta(_)))
    ));
    tokio::time::pause();
    let before = tokio::time::Instant::now();
    let error = next(&mut stream).await.unwrap().unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Stream);
    assert_eq!(
        error.to_string(),
        "openai: stream broke off: no data for 120s"
    );
    let waited = before.elapsed();
    assert!(
        waited > Duration::from_secs(119) && waited < Duration::from_secs(121),
        "{waited:?}"
    );
    peer.closed().await;
}

#[tokio::test]
async fn a_server_that_never_responds_times_out() {
    let server = Server::start().await;
    let timeouts = Timeouts {
        headers: Duration::from_millis(50),
        ..Timeouts::default()
    };
    let client = openai(&server, timeouts);
    let serve = async {
        let mut peer = server.accept().await;
        peer.request().await;
        peer.closed().await;
    };
    let (answer, ()) = tokio::join!(ask(&client), serve);
    let message = assert_failed(answer, ModelErrorKind::Connection);
    assert!(message.ends_with("no response within 50ms"), "{message}");
}

#[tokio::test]
async fn connections_are_reused_and_stale_ones_replaced() {
    let server = Server::start().await;
    let client = openai(&server, Timeouts::default());
    let serve = async {
        let mut peer = server.accept().await;
        for text in ["one", "two"] {
            peer.request().await;
            peer.say(text).await;
        }
        // Closed while idle, or while the third request is under way: neither counts as an attempt,
        // so two failures more are survived.
        drop(peer);
        for _ in 0..2 {
            server.accept().await.request().await;
        }
        let mut peer = server.accept().await;
        peer.request().await;
        peer.say("three").await;
    };
    let ask_all = async {
        for text in ["one", "two", "three"] {
            assert_said(ask(&client).await, text);
        }
    };
    tokio::join!(serve, ask_all);
}

#[tokio::test]
async fn a_response_without_an_end_is_complete_but_not_reused() {
    let server = Server::start().await;
    let client = openai(&server, Timeouts::default());
    let serve = async {
        let mut peer = server.accept().await;
        peer.request().await;
        peer.begin().await;
        let stop = "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        peer.send_chunk(&(delta("open") + stop)).await;
        peer.closed().await;
    };
    let (answer, ()) = tokio::join!(ask(&client), serve);
    assert_said(answer, "open");
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let server = Server::start().await;
    let client = openai(&server, Timeouts::default());
    let messages = messages();

    let mut stream = client.stream(request(&messages));
    let serve = async {
        let mut peer = server.accept().await;
        peer.request().await;
        peer
    };
    // Before the response.
    let peer = tokio::select! {
        peer = serve => peer,
        _ = next(&mut stream) => panic!("nothing was answered"),
    };
    drop(stream);
    peer.closed().await;

    // In its middle.
    let mut stream = client.stream(request(&messages));
    let serve = async {
        let mut peer = server.accept().await;
        peer.request().await;
        peer.begin().await;
        peer
    };
    let (first, peer) = tokio::join!(next(&mut stream), serve);
    assert_eq!(first.unwrap().unwrap(), ModelEvent::Start);
    drop(stream);
    peer.closed().await;
}

#[tokio::test]
async fn a_base_url_that_is_none() {
    for base_url in ["", "127.0.0.1:80", "ftp://host"] {
        let endpoint = endpoint("openai", base_url.to_owned());
        let client = OpenAiClient::new(HttpClient::new(), endpoint, OpenAiQuirks::COMPATIBLE);
        assert_failed(ask(&client).await, ModelErrorKind::Invalid);
    }
}
