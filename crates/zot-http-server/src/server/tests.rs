//! Slow, greedy and broken clients, over real sockets and a paused clock.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{Limits, Server};
use crate::Body;

const LIMITS: Limits = Limits {
    connections: 2,
    head_bytes: 8 * 1024,
    headers: 20,
    body_bytes: 64,
    read_time: Duration::from_secs(10),
    write_time: Duration::from_secs(20),
    ending_time: Duration::from_secs(30),
};

/// Runs `client` against a server with `handler`.
async fn with_server<H, F>(handler: H, client: impl AsyncFnOnce(SocketAddr, CancellationToken))
where
    H: Fn(Request<Bytes>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let cancel = CancellationToken::new();
    let server = Server::new(listener, LIMITS, HeaderMap::new()).serve(handler, cancel.clone());
    tokio::select! {
        () = server => panic!("the server ended"),
        () = client(address, cancel) => {}
    }
}

/// Responds with the method, the path and the size of the body.
async fn echo(request: Request<Bytes>) -> Response<Body> {
    let (method, path, bytes) = (request.method(), request.uri().path(), request.body().len());
    Response::new(format!("{method} {path} {bytes}").into())
}

/// Sends `request` and returns everything that comes back until the connection ends.
async fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request).await.unwrap();
    read_all(&mut stream).await
}

async fn read_all(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset ends the connection as well.
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8(bytes).unwrap()
}

/// Reads until `end` has arrived.
async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(end.as_bytes()) {
        bytes.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(bytes).unwrap()
}

fn status(response: &str) -> &str {
    response.get(9..12).unwrap_or("none")
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_request_is_closed_without_a_response() {
    with_server(echo, async |address, _| {
        let started = Instant::now();
        assert_eq!(exchange(address, b"").await, "");
        assert!(started.elapsed() >= LIMITS.read_time);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn headers_that_trickle_in_are_timed_out_as_a_whole() {
    with_server(echo, async |address, _| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let started = Instant::now();
        stream.write_all(b"GET / HTTP/1.1\r\nX: ").await.unwrap();
        let (mut reader, mut writer) = stream.split();
        let mut response = Vec::new();
        tokio::select! {
            read = reader.read_to_end(&mut response) => drop(read),
            // Never silent for long.
            () = async {
                loop {
                    sleep(LIMITS.read_time / 10).await;
                    let _ = writer.write_all(b"x").await;
                }
            } => {}
        }
        let response = String::from_utf8(response).unwrap();
        assert_eq!(status(&response), "408", "{response}");
        assert!(started.elapsed() < LIMITS.read_time * 2);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn oversized_heads_are_refused() {
    let long = "x".repeat(LIMITS.head_bytes);
    let many = "X: y\r\n".repeat(LIMITS.headers + 1);
    with_server(echo, async |address, _| {
        for head in [
            format!("GET /{long} HTTP/1.1\r\n\r\n"),
            format!("GET / HTTP/1.1\r\nX: {long}\r\n\r\n"),
            format!("GET / HTTP/1.1\r\n{many}\r\n"),
        ] {
            let response = exchange(address, head.as_bytes()).await;
            assert_eq!(status(&response), "431", "{response}");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn malformed_requests_are_refused_without_the_handler() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let handler = move |request: Request<Bytes>| {
        counted.fetch_add(1, Ordering::SeqCst);
        echo(request)
    };
    with_server(handler, async |address, _| {
        for request in [
            "G@T / HTTP/1.1\r\n\r\n",
            "GET / HTTP/9.9\r\n\r\n",
            "GET\r\n\r\n",
            "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\r\n\r\n",
            "GET / HTTP/1.1\r\nBad Name: x\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        ] {
            let response = exchange(address, request.as_bytes()).await;
            assert_eq!(status(&response), "400", "{request:?}: {response}");
        }
        assert_eq!(calls.load(Ordering::SeqCst), 0);
        // Which methods exist is for the handler to decide.
        let brew = b"BREW /pot HTTP/1.1\r\nConnection: close\r\n\r\n";
        assert!(exchange(address, brew).await.ends_with("BREW /pot 0"));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn oversized_bodies_are_refused_however_they_are_declared() {
    let chunks = "20\r\n0123456789abcdef0123456789abcdef\r\n".repeat(3);
    with_server(echo, async |address, _| {
        for (declared, body, expected) in [
            // Refused before the body is sent.
            ("Content-Length: 65", "", "413"),
            // hyper itself refuses the largest number.
            ("Content-Length: 18446744073709551615", "", "431"),
            ("Transfer-Encoding: chunked", chunks.as_str(), "413"),
        ] {
            let request = format!("POST / HTTP/1.1\r\n{declared}\r\n\r\n{body}");
            let response = exchange(address, request.as_bytes()).await;
            assert_eq!(status(&response), expected, "{declared}: {response}");
        }
        let body = "x".repeat(LIMITS.body_bytes);
        let request = format!(
            "POST / HTTP/1.1\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let response = exchange(address, request.as_bytes()).await;
        assert!(response.ends_with("POST / 64"), "{response}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_timed_out() {
    with_server(echo, async |address, _| {
        let started = Instant::now();
        let request = b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf";
        let response = exchange(address, request).await;
        assert_eq!(status(&response), "408", "{response}");
        assert!(started.elapsed() >= LIMITS.read_time);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn pipelined_requests_are_answered_in_order() {
    with_server(echo, async |address, _| {
        let requests = "GET /1 HTTP/1.1\r\n\r\nPOST /2 HTTP/1.1\r\nContent-Length: 2\r\n\r\nab\
                        GET /3 HTTP/1.1\r\nConnection: close\r\n\r\n";
        let responses = exchange(address, requests.as_bytes()).await;
        let bodies = ["GET /1 0", "POST /2 2", "GET /3 0"];
        let positions = bodies.map(|body| responses.find(body));
        assert!(positions.iter().all(Option::is_some), "{responses}");
        assert!(positions.is_sorted(), "{responses}");
        assert_eq!(responses.matches("HTTP/1.1 200").count(), 3, "{responses}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn nothing_after_a_refused_body_counts_as_a_request() {
    with_server(echo, async |address, _| {
        let smuggled =
            "POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n";
        let response = exchange(address, smuggled.as_bytes()).await;
        assert_eq!(status(&response), "413", "{response}");
        assert!(!response.contains("smuggled"), "{response}");
        assert_eq!(response.matches("HTTP/1.1").count(), 1, "{response}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_half_closed_connection_still_gets_its_response() {
    with_server(echo, async |address, _| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(b"GET /half HTTP/1.1\r\n\r\n")
            .await
            .unwrap();
        stream.shutdown().await.unwrap();
        let response = read_all(&mut stream).await;
        assert!(response.ends_with("GET /half 0"), "{response}");
        // A request that is cut off gets none.
        let mut stream = TcpStream::connect(address).await.unwrap();
        let started = Instant::now();
        stream.write_all(b"GET /cut HTTP/1.1\r\nX").await.unwrap();
        stream.shutdown().await.unwrap();
        let response = read_all(&mut stream).await;
        assert!(!response.contains("200 OK"), "{response}");
        assert!(started.elapsed() < LIMITS.read_time, "it is not waited for");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_oldest_idle_connection_makes_room() {
    with_server(echo, async |address, _| {
        let mut first = TcpStream::connect(address).await.unwrap();
        let mut second = TcpStream::connect(address).await.unwrap();
        for stream in [&mut first, &mut second] {
            stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
            read_until(stream, "GET / 0").await;
        }
        let started = Instant::now();
        let third = exchange(address, b"GET /3 HTTP/1.1\r\nConnection: close\r\n\r\n").await;
        assert!(third.ends_with("GET /3 0"), "{third}");
        assert_eq!(read_all(&mut first).await, "");
        assert!(
            started.elapsed() < LIMITS.read_time,
            "it was closed, not timed out"
        );
        second.write_all(b"GET /2 HTTP/1.1\r\n\r\n").await.unwrap();
        read_until(&mut second, "GET /2 0").await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn busy_connections_are_kept_and_further_clients_refused() {
    let release = Arc::new(Notify::new());
    let waiting = Arc::clone(&release);
    let handler = move |request: Request<Bytes>| {
        let waiting = Arc::clone(&waiting);
        async move {
            if request.uri().path() == "/wait" {
                waiting.notified().await;
            }
            echo(request).await
        }
    };
    with_server(handler, async |address, _| {
        let mut busy = Vec::new();
        for _ in 0..LIMITS.connections {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream
                .write_all(b"GET /wait HTTP/1.1\r\n\r\n")
                .await
                .unwrap();
            // Lets the server start on it, so that it is not idle.
            sleep(Duration::from_millis(1)).await;
            busy.push(stream);
        }
        for _ in 0..50 {
            let refused = exchange(address, b"").await;
            assert_eq!(status(&refused), "503", "{refused}");
        }
        release.notify_waiters();
        for mut stream in busy {
            read_until(&mut stream, "GET /wait 0").await;
        }
        let next = exchange(address, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").await;
        assert_eq!(status(&next), "200", "{next}");
    })
    .await;
}

/// Reports when a future that owns it is dropped.
struct DropSignal(Arc<Notify>);

impl Drop for DropSignal {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_disconnected() {
    let dropped = Arc::new(Notify::new());
    let signal = Arc::clone(&dropped);
    let handler = move |_: Request<Bytes>| {
        let signal = DropSignal(Arc::clone(&signal));
        async move {
            Response::new(Body::produced(None, async move |sender| {
                let _signal = signal;
                while sender.send(vec![b'x'; 64 * 1024]).await.is_ok() {}
            }))
        }
    };
    with_server(handler, async |address, _| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let started = Instant::now();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        dropped.notified().await;
        assert!(started.elapsed() >= LIMITS.write_time);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_stuck_handler_does_not_delay_the_end_forever() {
    let dropped = Arc::new(Notify::new());
    let signal = Arc::clone(&dropped);
    let handler = move |_: Request<Bytes>| {
        let signal = DropSignal(Arc::clone(&signal));
        async move {
            let _signal = signal;
            pending().await
        }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let cancel = CancellationToken::new();
    let server = Server::new(listener, LIMITS, HeaderMap::new()).serve(handler, cancel.clone());
    let started = Instant::now();
    let client = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        sleep(Duration::from_secs(1)).await;
        cancel.cancel();
        read_all(&mut stream).await
    };
    let ((), response) = tokio::join!(server, client);
    assert_eq!(response, "");
    dropped.notified().await;
    assert!(started.elapsed() >= LIMITS.ending_time);
}
