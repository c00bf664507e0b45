//! Servers that respond in ways the protocol allows and few expect, or does not allow at all.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use zot_conversation::{Message, Model, ModelErrorKind, ModelEvent, StopReason, Timestamp};
use zot_provider::{AnthropicClient, HttpClient, OpenAiClient, OpenAiQuirks, Timeouts};

use crate::server::{Peer, Server, delta};
use crate::transport::{
    ask, assert_failed, assert_said, endpoint, messages, next, openai, request,
};

/// Nothing here should take as long.
const PATIENCE: Duration = Duration::from_secs(10);

const STOP: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

fn whole_answer(text: &str) -> String {
    delta(text) + STOP + DONE
}

/// Asks a server that responds to one request with `answer` and closes.
async fn ask_for(answer: &str) -> (Vec<ModelEvent>, Option<zot_conversation::ModelError>) {
    let server = Server::start().await;
    let client = openai(&server, Timeouts::default());
    let serve = async {
        let mut peer = server.accept().await;
        peer.request().await;
        peer.send(answer).await;
    };
    within(async { tokio::join!(ask(&client), serve).0 }).await
}

async fn within<F: Future>(future: F) -> F::Output {
    let outcome = tokio::time::timeout(PATIENCE, future).await;
    outcome.expect("hung")
}

/// A message that no socket buffer holds.
fn long_message() -> [Arc<Message>; 1] {
    let text = "x".repeat(16 << 20);
    [Arc::new(Message::user_text(&text, Timestamp::UNIX_EPOCH))]
}

#[tokio::test]
async fn interim_heads_may_be_larger_than_the_final_one_leaves_room_for() {
    let hints = format!(
        "HTTP/1.1 103 Early Hints\r\nlink: {}\r\n\r\n",
        "x".repeat(20_000)
    );
    let head = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(20_000));
    let answer = ask_for(&format!("{hints}{head}{}", whole_answer("ok"))).await;
    assert_said(answer, "ok");
}

#[tokio::test]
async fn an_interim_response_does_not_stop_the_request() {
    let server = Server::start().await;
    let client = openai(&server, Timeouts::default());
    let messages = long_message();
    let serve = async {
        let mut peer = server.accept().await;
        peer.first_bytes().await;
        peer.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 X\r\n\r\n")
            .await;
        peer.request().await;
        peer.say("got it").await;
    };
    let mut stream = client.stream(request(&messages));
    let answer = within(async { tokio::join!(next(&mut stream), serve).0 }).await;
    assert_eq!(answer.unwrap().unwrap(), ModelEvent::Start);
}

#[tokio::test]
async fn a_refusal_in_the_middle_of_the_request_is_reported() {
    let messages = long_message();
    for (status, kind) in [
        (413, ModelErrorKind::Invalid),
        (401, ModelErrorKind::Unauthorized),
    ] {
        let server = Server::start().await;
        let client = openai(&server, Timeouts::default());
        let serve = async {
            let mut peer = server.accept().await;
            peer.first_bytes().await;
            // Closed with most of the request unread, which resets the connection.
            peer.respond(status, "connection: close\r\n", "no such thing")
                .await;
        };
        let mut stream = client.stream(request(&messages));
        let answer = within(async { tokio::join!(next(&mut stream), serve).0 }).await;
        let error = answer.unwrap().unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert_eq!(
            error.to_string(),
            format!("openai: http {status}: no such thing")
        );
    }
}

#[tokio::test]
async fn heads_without_end_are_refused() {
    let many = "x: y\r\n".repeat(10_000);
    let message = assert_failed(
        ask_for(&format!("HTTP/1.1 200 OK\r\n{many}\r\n")).await,
        ModelErrorKind::Connection,
    );
    assert!(message.contains("not an HTTP response"), "{message}");
    for start in ["HTTP/1.1 200 OK\r\nx: ", "HTTP/1.1 200 "] {
        let server = Server::start().await;
        let client = openai(&server, Timeouts::default());
        let serve = async {
            let mut peer = server.accept().await;
            peer.request().await;
            peer.send(start).await;
            peer.flood(&"y".repeat(4096)).await;
        };
        let answer = within(async { tokio::join!(ask(&client), serve).0 }).await;
        assert_failed(answer, ModelErrorKind::Connection);
    }
}

#[tokio::test]
async fn a_response_that_continues_after_its_end_is_complete() {
    let server = Server::start().await;
    let client = openai(&server, Timeouts::default());
    let serve = async {
        let mut peer = server.accept().await;
        peer.request().await;
        peer.send("HTTP/1.1 200 OK\r\n\r\n").await;
        peer.send(&whole_answer("enough")).await;
        peer.flood_from_a_thread(": and on and on\n".repeat(65_536));
    };
    let answer = within(async { tokio::join!(ask(&client), serve).0 }).await;
    assert_said(answer, "enough");
}

#[tokio::test]
async fn what_follows_a_response_does_not_become_the_next_one() {
    let server = Server::start().await;
    let client = openai(&server, Timeouts::default());
    let first = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{}",
        whole_answer("first").len(),
        whole_answer("first")
    );
    let forged = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    let serve = async {
        let mut peer: Peer = server.accept().await;
        peer.request().await;
        peer.send(&format!("{first}{forged}")).await;
        let mut peer = server.accept().await;
        peer.request().await;
        peer.say("second").await;
        // Out of turn, after the connection was put aside.
        peer.send(forged).await;
        let mut peer = server.accept().await;
        peer.request().await;
        peer.say("third").await;
    };
    let ask_all = async {
        for text in ["first", "second", "third"] {
            assert_said(ask(&client).await, text);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    within(async { tokio::join!(serve, ask_all) }).await;
}

#[tokio::test]
async fn a_base_url_may_be_an_ipv6_address() {
    let server = Server::start_on("[::1]:0").await;
    let address = server.address();
    let endpoint = endpoint("openai", format!("http://{address}/v1"));
    let client = OpenAiClient::new(HttpClient::new(), endpoint, OpenAiQuirks::COMPATIBLE);
    let serve = async {
        let mut peer = server.accept().await;
        let head = peer.request().await.head;
        peer.say("ok").await;
        head
    };
    let (answer, head) = within(async { tokio::join!(ask(&client), serve) }).await;
    assert_said(answer, "ok");
    assert!(head.contains(&format!("\r\nhost: {address}\r\n")), "{head}");
}

#[tokio::test]
async fn large_refusals_are_cut() {
    let head = format!("HTTP/1.1 400 X\r\n\r\n{}", "no ".repeat(1 << 20));
    let message = assert_failed(ask_for(&head).await, ModelErrorKind::Invalid);
    assert!(message.len() < 8 * 1024, "{} bytes", message.len());
}

#[tokio::test]
async fn an_empty_response_is_an_error() {
    for head in [
        "HTTP/1.1 204 X\r\n\r\n",
        "HTTP/1.1 200 X\r\ncontent-length: 0\r\n\r\n",
    ] {
        let answer = ask_for(head).await;
        assert_eq!(answer.0, [ModelEvent::Start]);
        assert_failed(answer, ModelErrorKind::Stream);
    }
    let stop = ModelEvent::Stop(StopReason::End);
    assert!(!ask_for("HTTP/1.1 204 X\r\n\r\n").await.0.contains(&stop));
}

#[tokio::test]
async fn heads_the_protocol_allows_are_understood() {
    let body = whole_answer("ok");
    let length = body.len();
    for head in [
        // No length: the end of the connection is the end.
        "HTTP/1.1 200 OK\r\n\r\n".to_owned(),
        "HTTP/1.0 200 OK\r\n\r\n".to_owned(),
        "HTTP/1.1 200\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\nx: y\n\n".to_owned(),
        // Interim responses, with and without headers.
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n".to_owned(),
        "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n".to_owned(),
        // A header over several lines, as was once allowed.
        "HTTP/1.1 200 OK\r\nx-old: a\r\n  b\r\n\tc\r\n\r\n".to_owned(),
        format!("HTTP/1.1 200 OK\r\nCONTENT-LENGTH:{length}\r\n\r\n"),
        format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\ncontent-length: {length}\r\n\r\n"),
        "HTTP/1.1 200 OK\r\ncontent-encoding: identity\r\n\r\n".to_owned(),
    ] {
        let answer = ask_for(&format!("{head}{body}")).await;
        assert_eq!(answer.1.map(|error| error.to_string()), None, "{head}");
        assert_eq!(answer.0.len(), 3, "{head}");
    }
    // Both lengths: chunked wins. Extensions and trailers are passed over.
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunked =
        format!("{head}{length:X};name=\"value\"\r\n{body}\r\n0;last\r\ntrailer: x\r\n\r\n");
    assert_said(ask_for(&chunked).await, "ok");
}

#[tokio::test]
async fn a_redirect_names_where_to() {
    for status in [301, 302, 307, 308] {
        let head = format!(
            "HTTP/1.1 {status} X\r\nlocation: https://elsewhere.example/v2\r\ncontent-length: 4\r\n\r\ngone"
        );
        let message = assert_failed(ask_for(&head).await, ModelErrorKind::Invalid);
        assert_eq!(
            message,
            format!(
                "openai: http {status}: the server redirects to https://elsewhere.example/v2; \
                 change the base URL accordingly"
            )
        );
    }
}

#[tokio::test]
async fn unrequested_compression_is_named() {
    let head = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n\x1f\x08";
    let message = assert_failed(ask_for(head).await, ModelErrorKind::Stream);
    assert!(
        message.contains("compressed its response (gzip)"),
        "{message}"
    );
    let head = "HTTP/1.1 401 X\r\ncontent-encoding: br\r\ncontent-length: 2\r\n\r\n\x1f\x08";
    let message = assert_failed(ask_for(head).await, ModelErrorKind::Unauthorized);
    assert!(message.starts_with("openai: http 401: "), "{message}");
    assert!(
        message.contains("compressed its response (br)"),
        "{message}"
    );
}

#[tokio::test]
async fn a_page_instead_of_a_stream_is_named() {
    let page = "<html>please log in</html>";
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\r\n{page}",
        page.len()
    );
    let message = assert_failed(ask_for(&head).await, ModelErrorKind::Stream);
    assert!(message.contains("text/html"), "{message}");
}

#[tokio::test]
async fn base_urls_as_people_write_them() {
    let server = Server::start().await;
    let address = server.address();
    let port = address.port();
    for (base_url, line, host) in [
        (
            format!("HTTP://{address}/V1"),
            "/V1/chat/completions",
            address.to_string(),
        ),
        (
            format!("http://{address}"),
            "/v1/chat/completions",
            address.to_string(),
        ),
        (
            format!("http://{address}/#"),
            "/chat/completions",
            address.to_string(),
        ),
        (
            format!("http://user:pass@{address}/v1//"),
            "/v1/chat/completions",
            address.to_string(),
        ),
        (
            format!("http://localhost:{port}/v1"),
            "/v1/chat/completions",
            format!("localhost:{port}"),
        ),
        (
            format!("http://{address}/deployments/x?api-version=1&y=/"),
            "/deployments/x/chat/completions?api-version=1&y=/",
            address.to_string(),
        ),
        (
            format!("http://{address}/v1#top"),
            "/v1/chat/completions",
            address.to_string(),
        ),
    ] {
        let endpoint = endpoint("openai", base_url.clone());
        let client = OpenAiClient::new(HttpClient::new(), endpoint, OpenAiQuirks::COMPATIBLE);
        let serve = async {
            let mut peer = server.accept().await;
            let head = peer.request().await.head;
            peer.say("ok").await;
            head
        };
        let (answer, head) = within(async { tokio::join!(ask(&client), serve) }).await;
        assert_said(answer, "ok");
        let expected = format!("POST {line} HTTP/1.1\r\nhost: {host}\r\n");
        assert!(head.starts_with(&expected), "{base_url}: {head}");
        assert!(!head.contains("pass"), "{head}");
    }
    // The other wire finds its version in the path, or adds it.
    for below in ["/v1/?a=b", "/?a=b", " "] {
        let endpoint = endpoint("anthropic", format!("http://{address}{below}"));
        let client = AnthropicClient::new(HttpClient::new(), endpoint);
        let serve = async {
            let mut peer = server.accept().await;
            let head = peer.request().await.head;
            peer.respond(200, "", "data: {\"type\":\"message_stop\"}\n\n")
                .await;
            head
        };
        let (_, head) = within(async { tokio::join!(ask(&client), serve) }).await;
        let query = if below.contains('?') { "?a=b" } else { "" };
        let expected = format!("POST /v1/messages{query} HTTP/1.1\r\n");
        assert!(head.starts_with(&expected), "{below}: {head}");
    }
}

#[tokio::test]
async fn a_refusal_that_dribbles_is_not_waited_for() {
    let server = Server::start().await;
    let client = openai(&server, Timeouts::default());
    let messages = messages();
    let mut stream = client.stream(request(&messages));
    let serve = async {
        let mut peer = server.accept().await;
        peer.request().await;
        peer.send("HTTP/1.1 400 X\r\n\r\nno").await;
        peer
    };
    let mut peer = tokio::select! {
        peer = serve => peer,
        _ = next(&mut stream) => panic!("nothing was answered"),
    };
    tokio::time::pause();
    let dribble = async {
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_secs(5)).await;
            peer.send("o").await;
        }
    };
    let error = tokio::select! {
        answer = next(&mut stream) => answer.unwrap().unwrap_err(),
        () = dribble => panic!("all of it was waited for"),
    };
    assert_eq!(error.kind, ModelErrorKind::Invalid);
    assert!(
        error.to_string().starts_with("openai: http 400: no"),
        "{error}"
    );
}
