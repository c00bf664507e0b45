use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

async fn answer(head: &str) -> Result<ResponseHead, ExchangeError> {
    let (client, mut server) = tokio::io::duplex(1024);
    server.write_all(head.as_bytes()).await.unwrap();
    let mut connection = Connection::new(client);
    let mut body = RequestBody::default();
    body.push(&b"{}"[..]);
    let exchange = connection.exchange(Bytes::from_static(b"POST"), &body);
    let read = async {
        let mut request = [0; 6];
        server.read_exact(&mut request).await.unwrap();
        assert_eq!(&request, b"POST{}");
        drop(server);
    };
    let (answer, ()) = tokio::join!(exchange, read);
    answer
}

#[tokio::test]
async fn reads_heads() {
    let head = answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n")
        .await
        .unwrap();
    assert!(head.keep_alive && matches!(head.framing, Framing::Length(3)));

    let head = answer("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 X\r\nRetry-After: 7\r\n\r\n");
    let head = head.await.unwrap();
    let wait = head
        .retry
        .retry_after(zot_conversation::Timestamp::UNIX_EPOCH);
    let seven = Some(std::time::Duration::from_secs(7));
    assert_eq!((head.status.as_u16(), wait), (503, seven));
    assert!(matches!(head.framing, Framing::UntilClose));

    let head =
        answer("HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\nconnection: x, Close\r\n\r\n");
    let head = head.await.unwrap();
    assert!(!head.keep_alive && matches!(head.framing, Framing::Chunked(_)));

    let both = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n";
    assert!(!answer(both).await.unwrap().keep_alive);
    assert!(!answer("HTTP/1.0 200 OK\r\n\r\n").await.unwrap().keep_alive);
}

#[tokio::test]
async fn refuses_what_is_not_a_response() {
    for head in [
        "SSH-2.0-OpenSSH\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
    ] {
        let error = answer(head).await.unwrap_err();
        assert!(
            matches!(error, ExchangeError::Malformed(_)),
            "{head:?}: {error}"
        );
    }
    let cut = answer("HTTP/1.1 200").await.unwrap_err();
    assert!(matches!(cut, ExchangeError::Broken(_)));
    let nothing = answer("").await.unwrap_err();
    assert!(matches!(nothing, ExchangeError::NoResponse(_)));
}

#[tokio::test]
async fn takes_a_response_that_comes_before_the_request_is_sent() {
    let (client, mut server) = tokio::io::duplex(64);
    let mut connection = Connection::new(client);
    let mut body = RequestBody::default();
    body.push(vec![b'x'; 100_000]);
    let exchange = connection.exchange(Bytes::from_static(b"POST"), &body);
    let refuse = server.write_all(b"HTTP/1.1 413 X\r\ncontent-length: 0\r\n\r\n");
    let (head, written) = tokio::join!(exchange, refuse);
    written.unwrap();
    assert_eq!(head.unwrap().status.as_u16(), 413);
    assert!(!connection.is_reusable());
}
