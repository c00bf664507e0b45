use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixListener};
use tokio::time::sleep;
use zot_wire::zino::Message;
use zot_wire::zino::agent_loop::{Request, Response, Run};

use super::*;
use crate::kind::ServiceKind;
use crate::logging::Level;
use crate::network::{CLOSING, END};

const LIMIT: Duration = Duration::from_secs(5);

/// Accepts a request and sends a frame after each of `waits`, then nothing more.
async fn respond_slowly(listener: UnixListener, waits: &[Duration]) {
    let (mut stream, _) = listener.accept().await.unwrap();
    for wait in waits {
        sleep(*wait).await;
        let mut frame = Vec::new();
        write_frame(&mut frame, &Response::Chunk("x".to_owned())).unwrap();
        stream.write_all(&frame).await.unwrap();
    }
    std::future::pending().await
}

struct SlowService(Vec<Duration>);

impl Service for SlowService {
    type Request = Request;

    fn kind(&self) -> ServiceKind {
        ServiceKind::AgentLoop
    }

    fn handle(&self, _request: Request, responses: Responses<Response>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            for wait in &self.0 {
                sleep(*wait).await;
                responses
                    .send(Response::Chunk("x".to_owned()))
                    .await
                    .unwrap();
            }
            std::future::pending().await
        })
    }
}

/// Every frame may take the whole limit; a service that takes longer for one is abandoned.
async fn check(peer: Peer<Request>) {
    let peer = peer.within(LIMIT);
    let mut call = peer.call(Request::Run(Run::default())).await.unwrap();
    for _ in 0..3 {
        let frame = call.next().await.unwrap();
        assert_eq!(frame, Some(Response::Chunk("x".to_owned())));
    }
    let began = tokio::time::Instant::now();
    let error = call.next().await.unwrap_err();
    assert!(matches!(error, CallError::Silent(LIMIT)), "{error}");
    let took = began.elapsed();
    assert!(
        (LIMIT..LIMIT + Duration::from_secs(1)).contains(&took),
        "{took:?}"
    );
    assert_eq!(error.to_string(), "no response within 5s");
}

#[tokio::test(start_paused = true)]
async fn silence_is_limited_between_frames() {
    let waits = [4, 4, 4].map(Duration::from_secs);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.sock");
    let listener = UnixListener::bind(&path).unwrap();
    tokio::select! {
        () = check(Peer::socket(path, 1000)) => {}
        () = respond_slowly(listener, &waits) => {}
    }
    let log = Log::new("agr", Level::Error);
    check(Peer::local(Arc::new(SlowService(waits.to_vec())), log)).await;
}

/// The limit also holds while no connection is accepted, and for a whole response.
#[tokio::test(start_paused = true)]
async fn a_request_that_gets_no_response_fails_after_the_limit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.sock");
    let socket = tokio::net::UnixSocket::new_stream().unwrap();
    socket.bind(&path).unwrap();
    let _listener = socket.listen(0).unwrap();
    let peer = Peer::socket(path, 1000).within(LIMIT);
    let request = || {
        Request::Run(Run {
            messages: vec![Message::new("user", "x".repeat(1 << 20))],
            ..Run::default()
        })
    };
    // The queue has room for the first request but not for all of them.
    for _ in 0..3 {
        let error = peer.ask(request()).await.unwrap_err();
        assert!(matches!(error, CallError::Silent(LIMIT)), "{error}");
    }
}

/// Reads a request, without looking at it.
async fn read_request(stream: &mut tokio::net::TcpStream) {
    let mut length = [0; 4];
    stream.read_exact(&mut length).await.unwrap();
    let mut body = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut body).await.unwrap();
}

/// Responds to one request, as a kept connection does.
async fn respond(stream: &mut tokio::net::TcpStream) {
    read_request(stream).await;
    let mut frames = Vec::new();
    write_frame(&mut frames, &Response::Chunk("x".to_owned())).unwrap();
    frames.extend_from_slice(END);
    stream.write_all(&frames).await.unwrap();
}

#[tokio::test]
async fn a_request_that_crosses_the_end_of_its_connection_is_sent_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    let text = format!("peers.agr = {address:?}");
    let config = Config::parse(&text).unwrap().config;
    let peer = Peer::configured(&config, ServiceKind::AgentLoop, None, None);
    let run = || Request::Run(Run::default());
    let service = async {
        let (mut first, _) = listener.accept().await.unwrap();
        respond(&mut first).await;
        read_request(&mut first).await;
        first.write_all(CLOSING).await.unwrap();
        drop(first);
        let (mut second, _) = listener.accept().await.unwrap();
        respond(&mut second).await;
        // This one ends without a word: the request may have been handled.
        read_request(&mut second).await;
    };
    let caller = async {
        // Not repeatable, but certainly not handled on the connection that was closing.
        for _ in 0..2 {
            let response = peer.ask(run()).await.unwrap();
            assert_eq!(response, Response::Chunk("x".to_owned()));
        }
        let error = peer.ask(run()).await.unwrap_err();
        assert!(matches!(error, CallError::OutcomeUnknown(_)), "{error}");
    };
    tokio::join!(service, caller);
}
