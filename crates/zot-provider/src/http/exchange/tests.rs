use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use http::{HeaderMap, HeaderValue, Method};

use super::*;
use crate::FetchRequest;

/// Responds to the requests of each connection with the given bytes, in order, then closes it. Returns
/// the address, and the requests as they come.
fn serve(connections: Vec<Vec<&'static [u8]>>) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = mpsc::channel();
    thread::spawn(move || {
        for responses in connections {
            let (stream, _) = listener.accept().unwrap();
            let mut stream = BufReader::new(stream);
            for response in responses {
                sender.send(read_request(&mut stream)).unwrap();
                stream.get_mut().write_all(response).unwrap();
            }
        }
    });
    (address, requests)
}

fn read_request(stream: &mut BufReader<TcpStream>) -> String {
    let mut request = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
        request.push_str(&line);
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    request + &String::from_utf8(body).unwrap()
}

fn request<'a>(method: Method, url: &'a str, repeat: Repeat) -> ExchangeRequest<'a> {
    let mut headers = HeaderMap::new();
    headers.insert("mcp-method", HeaderValue::from_static("ping"));
    ExchangeRequest {
        method,
        url,
        headers,
        body: Bytes::from_static(b"{}"),
        repeat,
    }
}

async fn whole(mut response: ExchangeResponse) -> Result<Vec<u8>, std::io::Error> {
    let mut bytes = Vec::new();
    while let Some(piece) = response.next(|data| bytes.extend_from_slice(data)).await {
        piece?;
    }
    Ok(bytes)
}

#[tokio::test]
async fn any_method_and_every_header() {
    let (address, requests) = serve(vec![vec![
        b"HTTP/1.1 200 OK\r\nMcp-Session-Id: abc\r\nX-Two: a\r\nX-Two: b\r\ntransfer-encoding: chunked\r\n\r\n\
          3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        b"HTTP/1.1 307 Moved\r\nlocation: /there\r\ncontent-length: 0\r\n\r\n",
    ]]);
    let client = HttpClient::new();
    let url = format!("{address}/mcp?x=1");
    let posted = client
        .exchange(request(Method::POST, &url, Repeat::Safe))
        .await
        .unwrap();
    assert_eq!(posted.status, 200);
    assert_eq!(posted.headers.get("mcp-session-id").unwrap(), "abc");
    assert_eq!(posted.headers.get_all("x-two").iter().count(), 2);
    assert_eq!(whole(posted).await.unwrap(), b"abcde");
    let sent = requests.recv().unwrap();
    assert!(sent.starts_with("POST /mcp?x=1 HTTP/1.1\r\n"), "{sent}");
    assert!(sent.ends_with("mcp-method: ping\r\n\r\n{}"), "{sent}");

    let deleted = client
        .exchange(request(Method::DELETE, &url, Repeat::Never))
        .await
        .unwrap();
    assert_eq!(deleted.status, 307, "a redirect is reported");
    assert_eq!(deleted.headers.get("location").unwrap(), "/there");
    assert!(requests.recv().unwrap().starts_with("DELETE /mcp?x=1"));
}

#[tokio::test]
async fn what_may_have_run_is_not_sent_twice() {
    // The first connection closes after one response; the next request finds that out only by sending,
    // or before, and then opens a second connection.
    let closing: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    for (repeat, sent) in [(Repeat::Safe, 3), (Repeat::Never, 2)] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = mpsc::channel();
        thread::spawn(move || {
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            sender.send(read_request(&mut stream)).unwrap();
            stream.get_mut().write_all(closing).unwrap();
            // Reads the second request and hangs up without a response.
            sender.send(read_request(&mut stream)).unwrap();
            drop(stream);
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            sender.send(read_request(&mut stream)).unwrap();
            stream.get_mut().write_all(closing).unwrap();
        });
        let client = HttpClient::new();
        let first = client.exchange(request(Method::POST, &url, repeat)).await;
        assert!(whole(first.unwrap()).await.unwrap().is_empty());
        let second = client.exchange(request(Method::POST, &url, repeat)).await;
        match repeat {
            Repeat::Safe => assert_eq!(second.unwrap().status, 200),
            Repeat::Never => assert!(matches!(second, Err(ExchangeFailure::Connection(_)))),
        }
        assert_eq!(requests.try_iter().count(), sent);
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_an_error_after_its_data() {
    let (address, _requests) = serve(vec![vec![
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc",
    ]]);
    let client = HttpClient::new();
    let mut response = client
        .exchange(request(Method::GET, &address, Repeat::Safe))
        .await
        .unwrap();
    let mut bytes = Vec::new();
    let first = response.next(|data| bytes.extend_from_slice(data)).await;
    assert!(first.unwrap().is_ok());
    assert_eq!(bytes, b"abc");
    assert!(response.next(|_| {}).await.unwrap().is_err());
}

#[tokio::test]
async fn a_compressed_response_and_a_wrong_address_are_refused() {
    let (address, _requests) = serve(vec![vec![
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 0\r\n\r\n",
    ]]);
    let client = HttpClient::new();
    let compressed = client
        .exchange(request(Method::GET, &address, Repeat::Safe))
        .await;
    assert!(matches!(compressed, Err(ExchangeFailure::Invalid(_))));
    let nowhere = client
        .exchange(request(Method::GET, "not an address", Repeat::Safe))
        .await;
    assert!(matches!(nowhere, Err(ExchangeFailure::Address(_))));
}

#[tokio::test]
async fn whole_documents_with_own_headers() {
    let (address, requests) = serve(vec![vec![
        b"HTTP/1.1 404 Not Found\r\nwww-authenticate: Bearer\r\ncontent-length: 2\r\n\r\n{}",
    ]]);
    let mut headers = HeaderMap::new();
    headers.insert("accept", HeaderValue::from_static("text/plain"));
    let fetched = HttpClient::new()
        .fetch_whole(FetchRequest {
            method: Method::GET,
            url: &address,
            headers,
            body: Vec::new(),
        })
        .await
        .unwrap();
    assert_eq!(fetched.status, 404);
    assert_eq!(fetched.headers.get("www-authenticate").unwrap(), "Bearer");
    assert_eq!(fetched.body, b"{}");
    let sent = requests.recv().unwrap();
    assert!(sent.contains("accept: text/plain\r\n"), "{sent}");
    assert!(!sent.contains("application/json"), "{sent}");
}

#[tokio::test]
async fn only_documents_are_fetched_twice() {
    // The first connection closes after it has read a second request; a third is on another connection.
    let response: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    for (method, sent) in [(Method::GET, 3), (Method::POST, 2)] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = mpsc::channel();
        thread::spawn(move || {
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            sender.send(read_request(&mut stream)).unwrap();
            stream.get_mut().write_all(response).unwrap();
            sender.send(read_request(&mut stream)).unwrap();
            drop(stream);
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            sender.send(read_request(&mut stream)).unwrap();
            stream.get_mut().write_all(response).unwrap();
        });
        let client = HttpClient::new();
        let fetch = || {
            client.fetch_whole(FetchRequest {
                method: method.clone(),
                url: &url,
                headers: HeaderMap::new(),
                body: Vec::new(),
            })
        };
        assert_eq!(fetch().await.unwrap().status, 200);
        assert_eq!(fetch().await.is_ok(), method == Method::GET);
        assert_eq!(requests.try_iter().count(), sent);
    }
}
