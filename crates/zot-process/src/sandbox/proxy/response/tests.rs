use super::super::head::BadHead;
use super::ResponseHead;

fn rewritten(text: &str) -> Result<(String, bool), BadHead> {
    let head = ResponseHead::rewrite(text.as_bytes())?;
    Ok((String::from_utf8(head.bytes).unwrap(), head.is_interim))
}

#[test]
fn a_child_expects_no_second_response() {
    let (head, is_interim) = rewritten(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive, X-Mine\r\nKeep-Alive: 5\r\n\
         X-Mine: 1\r\nProxy-Authenticate: Basic\r\nUpgrade: h2c\r\nSet-Cookie: a=b\r\n\r\n",
    )
    .unwrap();
    assert!(!is_interim);
    assert_eq!(
        head,
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nSet-Cookie: a=b\r\nConnection: close\r\n\r\n"
    );
    // A server cannot take the length away.
    let (head, _) =
        rewritten("HTTP/1.0 404\r\nConnection: content-length\r\nContent-Length: 5\r\n\r\n")
            .unwrap();
    assert_eq!(
        head,
        "HTTP/1.0 404\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"
    );
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    assert_eq!(rewritten(interim), Ok((interim.to_owned(), true)));
    let (head, is_interim) = rewritten("HTTP/1.1 101 Switching Protocols\r\n\r\n").unwrap();
    assert!(!is_interim && head.contains("close"), "{head}");
}

#[test]
fn other_protocols_are_refused() {
    for (text, expected) in [
        ("SSH-2.0-OpenSSH_9.9\r\n\r\n", BadHead::Version),
        ("HTTP/2 200\r\n\r\n", BadHead::Version),
        ("HTTP/1.1  200 OK\r\n\r\n", BadHead::FirstLine),
        ("HTTP/1.1 2000 OK\r\n\r\n", BadHead::FirstLine),
        ("HTTP/1.1 20 OK\r\n\r\n", BadHead::FirstLine),
        ("HTTP/1.1 OK\r\n\r\n", BadHead::FirstLine),
        ("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", BadHead::Folded),
        ("HTTP/1.1 200 OK\r\nA\r\n\r\n", BadHead::Field),
    ] {
        assert_eq!(rewritten(text), Err(expected), "{text:?}");
    }
}
