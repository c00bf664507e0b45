use std::sync::mpsc;

use super::*;

#[test]
fn responds_as_told_and_notices_who_leaves() {
    let (sender, pieces) = mpsc::channel();
    let pieces = Mutex::new(Some(pieces));
    let server = HttpScript::start(move |request| match request.path() {
        "/stream" => HttpReply::streamed(lock(&pieces).take().unwrap()),
        _ => HttpReply::json(&request.json()).status(201),
    });
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream
        .write_all(
            b"POST /a?b=1 HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}GET /stream HTTP/1.1\r\n\r\n",
        )
        .unwrap();
    sender.send(b"abc".to_vec()).unwrap();
    let mut read = Vec::new();
    let mut buffer = [0; 1024];
    while !read.ends_with(b"3\r\nabc\r\n") {
        let count = stream.read(&mut buffer).unwrap();
        read.extend_from_slice(&buffer[..count]);
    }
    assert!(read.starts_with(b"HTTP/1.1 201 Scripted\r\ncontent-type: application/json\r\n"));
    assert_eq!(server.requests()[0].target, "/a?b=1");
    drop(stream);
    while server.abandoned() == 0 {
        thread::yield_now();
    }
}
