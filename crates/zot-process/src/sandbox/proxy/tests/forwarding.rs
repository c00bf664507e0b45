use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::sync::mpsc;

use super::{PATIENCE, all, greeter, head, keep_sending, rest, running, server};

/// A server that reads `length` bytes after the head, tells what it got until it is silent, and answers.
fn reporting(length: usize) -> (SocketAddr, mpsc::Receiver<String>) {
    let (sender, reports) = mpsc::channel();
    let address = server(move |mut connection| {
        let mut text = head(&mut connection);
        let mut body = vec![0; length];
        connection.read_exact(&mut body).unwrap();
        text.push_str(&String::from_utf8(body).unwrap());
        connection
            .write_all(b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\ndone")
            .unwrap();
        connection.shutdown(Shutdown::Write).unwrap();
        // Anything beyond would have been smuggled.
        text.push_str(&rest(&mut connection));
        sender.send(text).unwrap();
    });
    (address, reports)
}

const DONE: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ndone";

#[test]
fn a_request_reaches_its_server_in_its_own_form() {
    let (server, reports) = reporting(0);
    let proxy = running(&[&server.to_string()]);
    let answer = proxy.answer(format!(
        "GET http://{server}/path?query HTTP/1.1\r\nHost: {server}\r\n\
         Proxy-Connection: keep-alive\r\nAccept: */*\r\n\r\n"
    ));
    assert_eq!(answer, DONE);
    assert_eq!(
        reports.recv_timeout(PATIENCE).unwrap(),
        format!(
            "GET /path?query HTTP/1.1\r\nHost: {server}\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        )
    );
    assert_eq!(proxy.contacts(), [format!("+{server}")]);
}

#[test]
fn a_body_is_passed_on_to_its_end_and_no_further() {
    let chunked = "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";
    for (field, body) in [
        ("Content-Length: 11", "hello world"),
        ("Transfer-Encoding: chunked", chunked),
    ] {
        let (server, reports) = reporting(body.len());
        let proxy = running(&[&server.to_string()]);
        let smuggled = format!("GET http://{server}/smuggled HTTP/1.1\r\nHost: evil.com\r\n\r\n");
        // At once, and byte by byte.
        for step in [usize::MAX, 1] {
            let request = format!(
                "POST http://{server}/ HTTP/1.1\r\nHost: {server}\r\n{field}\r\n\r\n{body}{smuggled}"
            );
            let mut client = proxy.sent("");
            for piece in request.as_bytes().chunks(step.min(request.len())) {
                client.write_all(piece).unwrap();
            }
            assert_eq!(rest(&mut client), DONE);
            drop(client);
            let report = reports.recv_timeout(PATIENCE).unwrap();
            let expected = format!("{field}\r\nConnection: close\r\n\r\n{body}");
            assert!(report.ends_with(&expected), "{report:?}");
        }
    }
}

#[test]
fn a_large_body_and_a_large_response_pass() {
    let size = 5_000_000;
    let server = server(move |mut connection| {
        head(&mut connection);
        let mut body = vec![0; size];
        connection.read_exact(&mut body).unwrap();
        connection.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        connection.write_all(&body).unwrap();
    });
    let proxy = running(&[&server.to_string()]);
    let mut client = proxy.sent(format!(
        "PUT http://{server}/ HTTP/1.1\r\nContent-Length: {size}\r\n\r\n"
    ));
    let body: Vec<u8> = (0..size).map(|number| (number % 253) as u8).collect();
    client.write_all(&body).unwrap();
    head(&mut client);
    assert!(all(&mut client).unwrap() == body);
}

#[test]
fn a_malformed_chunk_ends_the_request() {
    let (sender, reports) = mpsc::channel();
    let server = server(move |mut connection| {
        head(&mut connection);
        sender.send(rest(&mut connection)).unwrap();
    });
    let proxy = running(&[&server.to_string()]);
    let answer = proxy.answer(format!(
        "POST http://{server}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\
         5\r\nhello\r\n0\nGET /smuggled HTTP/1.1\r\n\r\n"
    ));
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    let received = reports.recv_timeout(PATIENCE).unwrap();
    assert!(!received.contains("smuggled"), "{received:?}");
}

#[test]
fn a_child_that_leaves_during_its_body_ends_the_request() {
    let (sender, reports) = mpsc::channel();
    let server = server(move |mut connection| {
        head(&mut connection);
        sender.send(rest(&mut connection)).unwrap();
    });
    let proxy = running(&[&server.to_string()]);
    let client = proxy.sent(format!(
        "POST http://{server}/ HTTP/1.1\r\nContent-Length: 10\r\n\r\nhello"
    ));
    drop(client);
    assert_eq!(reports.recv_timeout(PATIENCE).unwrap(), "hello");
}

#[test]
fn interim_responses_are_passed_on() {
    let server = server(|mut connection| {
        let head = head(&mut connection);
        assert!(head.contains("Expect: 100-continue\r\n"), "{head}");
        connection
            .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")
            .unwrap();
        let mut body = [0; 5];
        connection.read_exact(&mut body).unwrap();
        connection
            .write_all(
                b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
            )
            .unwrap();
    });
    let proxy = running(&[&server.to_string()]);
    let mut client = proxy.sent(format!(
        "POST http://{server}/ HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
    ));
    assert_eq!(head(&mut client), "HTTP/1.1 100 Continue\r\n\r\n");
    client.write_all(b"hello").unwrap();
    assert_eq!(
        rest(&mut client),
        "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n\
         HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
    );
}

#[test]
fn an_answer_before_the_end_of_the_request_arrives() {
    let server = server(|mut connection| {
        head(&mut connection);
        connection
            .write_all(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
            .unwrap();
    });
    let proxy = running(&[&server.to_string()]);
    let mut client = proxy.sent(format!(
        "POST http://{server}/ HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n"
    ));
    keep_sending(&mut client);
    let answer = rest(&mut client);
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[test]
fn a_server_that_keeps_its_connection_open_is_not_waited_for() {
    let (sender, ends) = mpsc::channel();
    let server = server(move |mut connection| {
        head(&mut connection);
        connection
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            .unwrap();
        sender.send(rest(&mut connection)).unwrap();
    });
    let proxy = running(&[&server.to_string()]);
    let mut client = proxy.sent(format!("GET http://{server}/ HTTP/1.1\r\n\r\n"));
    let head = head(&mut client);
    assert!(head.contains("Connection: close\r\n"), "{head}");
    client.read_exact(&mut [0; 2]).unwrap();
    // The child closes, as it was told to, and the server sees that.
    drop(client);
    assert_eq!(ends.recv_timeout(PATIENCE).unwrap(), "");
}

#[test]
fn a_response_that_breaks_off_does_not_look_whole() {
    let server = server(|mut connection| {
        let head_length = 5;
        connection.read_exact(&mut vec![0; head_length]).unwrap();
        connection
            .write_all(b"HTTP/1.1 200 OK\r\n\r\npart")
            .unwrap();
        // The rest of the request is unread: this resets the connection.
        std::thread::sleep(std::time::Duration::from_millis(300));
    });
    let proxy = running(&[&server.to_string()]);
    let mut client = proxy.sent(format!("GET http://{server}/ HTTP/1.1\r\n\r\n"));
    let error = all(&mut client).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[test]
fn failures_of_servers_name_them() {
    let banner = server(|mut connection| {
        connection.write_all(b"SSH-2.0-x\r\n\r\n").unwrap();
        let _ = all(&mut connection);
    });
    let silent = server(|mut connection| {
        head(&mut connection);
    });
    let endless = server(|mut connection| {
        head(&mut connection);
        let _ = connection.write_all(b"HTTP/1.1 200 OK\r\n");
        while connection.write_all(b"A: b\r\n").is_ok() {}
    });
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let proxy = running(&["127.0.0.1:*", "unknown.example"]);
    let cases = [
        (banner.to_string(), "sent a response that is not HTTP/1"),
        (
            silent.to_string(),
            "closed the connection without a response",
        ),
        (endless.to_string(), "it is too long"),
        (closed.to_string(), "cannot connect to"),
        (
            "unknown.example:80".to_owned(),
            "cannot find the address of",
        ),
    ];
    for (target, expected) in cases {
        let answer = proxy.answer(format!("GET http://{target}/ HTTP/1.1\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
        let text = answer.split("\r\n\r\n").nth(1).unwrap();
        assert!(text.contains(expected) && text.contains(&target), "{text}");
    }
    let answer = proxy.answer(format!("CONNECT {closed} HTTP/1.1\r\n\r\n"));
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    // None of this has harmed the proxy.
    let server = greeter("hello");
    let answer = proxy.answer(format!("GET http://{server}/ HTTP/1.0\r\n\r\n"));
    assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
}
