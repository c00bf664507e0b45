use super::super::body::Body;
use super::super::head::{BadHead, HeadEnd};
use super::{BadRequest, Request};
use crate::sandbox::host::HostProblem;

fn parsed(text: &str) -> Result<Request, BadRequest> {
    let bytes = text.as_bytes();
    let length = HeadEnd::default().find(bytes)?.expect("a whole head");
    assert_eq!(length, bytes.len(), "{text:?}");
    Request::parse(bytes)
}

/// Returns the target and head that the server of a plain request gets.
fn forwarded(text: &str) -> (String, String) {
    match parsed(text) {
        Ok(Request::Forward(forward)) => (
            forward.target.to_string(),
            String::from_utf8(forward.head).unwrap(),
        ),
        other => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn tunnels_are_read() {
    let heads = [
        "CONNECT Example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
        "CONNECT example.com.:443 HTTP/1.0\r\n\r\n",
        "CONNECT example.com:443 HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
        "CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic eA==\r\n\r\n",
    ];
    for head in heads {
        match parsed(head) {
            Ok(Request::Connect(target)) => assert_eq!(target.to_string(), "example.com:443"),
            other => panic!("{head:?}: {other:?}"),
        }
    }
}

#[test]
fn plain_requests_are_rewritten() {
    let (target, head) = forwarded(
        "GET http://Example.com:8080/a?b=//c@d HTTP/1.1\r\nHost: EXAMPLE.com\r\nAccept:  */* \r\n\
         Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic eA==\r\nCookie: caf\u{e9}\r\n\
         Connection: keep-alive, X-Mine , x-other\r\nX-Mine: 1\r\nX-Other: 2\r\nX-Kept: 3\r\n\
         Keep-Alive: 5\r\nTE: trailers\r\nTrailer: x\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\
         proxy-anything: 1\r\nEmpty:\r\n\r\n",
    );
    assert_eq!(target, "example.com:8080");
    assert_eq!(
        head,
        "GET /a?b=//c@d HTTP/1.1\r\nHost: example.com:8080\r\nAccept: */*\r\n\
         Cookie: caf\u{e9}\r\nX-Kept: 3\r\nEmpty: \r\nConnection: close\r\n\r\n"
    );
    let cases = [
        ("GET http://a.b HTTP/1.1", "GET / HTTP/1.1\r\nHost: a.b\r\n"),
        (
            "GET HTTP://a.b:80?x HTTP/1.0",
            "GET /?x HTTP/1.0\r\nHost: a.b\r\n",
        ),
        (
            "OPTIONS http://a.b HTTP/1.1",
            "OPTIONS * HTTP/1.1\r\nHost: a.b\r\n",
        ),
        (
            "OPTIONS http://a.b/ HTTP/1.1",
            "OPTIONS / HTTP/1.1\r\nHost: a.b\r\n",
        ),
        (
            "GET http://[::1]:81//x\\y HTTP/1.1",
            "GET //x\\y HTTP/1.1\r\nHost: [::1]:81\r\n",
        ),
    ];
    for (first, expected) in cases {
        let (_, head) = forwarded(&format!("{first}\r\n\r\n"));
        assert_eq!(head, format!("{expected}Connection: close\r\n\r\n"));
    }
}

/// Returns the body of a request with these header lines, and what the server is told of it.
fn body(fields: &str) -> Result<(Body, String), BadRequest> {
    match parsed(&format!("POST http://a.b/ HTTP/1.1\r\n{fields}\r\n"))? {
        Request::Forward(forward) => {
            let head = String::from_utf8(forward.head).unwrap();
            let lengths: Vec<&str> = head
                .lines()
                .filter(|line| line.contains("ength") || line.contains("oding"))
                .collect();
            Ok((forward.body, lengths.join("|")))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn bodies_have_one_length() {
    assert_eq!(body(""), Ok((Body::Complete, String::new())));
    let length = |length: u64| Ok((Body::Bytes(length), format!("Content-Length: {length}")));
    assert_eq!(body("Content-Length: 0\r\n"), length(0));
    assert_eq!(body("CONTENT-length:\t007 \r\n"), length(7));
    let chunked = Ok((Body::chunked(), "Transfer-Encoding: chunked".to_owned()));
    assert_eq!(body("transfer-encoding: Chunked\r\n"), chunked);
}

#[test]
fn bodies_of_uncertain_length_are_refused() {
    let bad = [
        (
            "Content-Length: 1\r\nContent-Length: 1\r\n",
            BadRequest::Repeated("Content-Length"),
        ),
        (
            "Content-Length: 1\r\ncontent-length: 2\r\n",
            BadRequest::Repeated("Content-Length"),
        ),
        ("Content-Length: 1, 1\r\n", BadRequest::Length),
        ("Content-Length: +1\r\n", BadRequest::Length),
        ("Content-Length: -1\r\n", BadRequest::Length),
        ("Content-Length: 0x1\r\n", BadRequest::Length),
        ("Content-Length: 1 2\r\n", BadRequest::Length),
        ("Content-Length:\r\n", BadRequest::Length),
        ("Content-Length: \u{661}\r\n", BadRequest::Length),
        (
            "Content-Length: 99999999999999999999\r\n",
            BadRequest::Length,
        ),
        (
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            BadRequest::TwoLengths,
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
            BadRequest::TwoLengths,
        ),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            BadRequest::Repeated("Transfer-Encoding"),
        ),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
            BadRequest::Repeated("Transfer-Encoding"),
        ),
        ("Transfer-Encoding: identity\r\n", BadRequest::Coding),
        ("Transfer-Encoding: gzip, chunked\r\n", BadRequest::Coding),
        ("Transfer-Encoding: xchunked\r\n", BadRequest::Coding),
        ("Transfer-Encoding: \"chunked\"\r\n", BadRequest::Coding),
        ("Transfer-Encoding: chunked;x\r\n", BadRequest::Coding),
        ("Transfer-Encoding:\r\n", BadRequest::Coding),
        ("Transfer-Encoding : chunked\r\n", BadHead::Field.into()),
        ("Transfer_Encoding: chunked\r\n", BadHead::Field.into()),
        ("content_length: 5\r\n", BadHead::Field.into()),
        ("Content-Length : 5\r\n", BadHead::Field.into()),
        ("X: 1\r\n Content-Length: 5\r\n", BadHead::Folded.into()),
        (
            "Transfer-Encoding:\r\n\tchunked\r\n",
            BadHead::Folded.into(),
        ),
        (
            "Connection: Content-Length\r\nContent-Length: 5\r\n",
            BadRequest::Connection,
        ),
        ("Connection: close, HOST\r\n", BadRequest::Connection),
        (
            "Proxy-Connection: transfer-encoding\r\n",
            BadRequest::Connection,
        ),
    ];
    for (fields, expected) in bad {
        assert_eq!(body(fields), Err(expected), "{fields:?}");
    }
    let old = "POST http://a.b/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(parsed(old).unwrap_err(), BadRequest::Coding);
}

#[test]
fn malformed_heads_are_refused() {
    use BadHead::{Characters, Field, FirstLine, Folded, Version};
    let bad: [(&str, BadHead); 28] = [
        ("GET  http://a.b/ HTTP/1.1\r\n\r\n", FirstLine),
        ("GET http://a.b/  HTTP/1.1\r\n\r\n", FirstLine),
        (" GET http://a.b/ HTTP/1.1\r\n\r\n", FirstLine),
        ("GET http://a.b/ HTTP/1.1 \r\n\r\n", FirstLine),
        ("GET\thttp://a.b/\tHTTP/1.1\r\n\r\n", FirstLine),
        ("GET http://a.b/ x HTTP/1.1\r\n\r\n", FirstLine),
        ("GET http://a.b/\u{e9} HTTP/1.1\r\n\r\n", FirstLine),
        ("GET http://a.b/\tx HTTP/1.1\r\n\r\n", FirstLine),
        ("G(T http://a.b/ HTTP/1.1\r\n\r\n", FirstLine),
        ("GET http://a.b/\r\n\r\n", FirstLine),
        ("\r\n\r\n", FirstLine),
        ("GET http://a.b/ HTTP/1.2\r\n\r\n", Version),
        ("GET http://a.b/ HTTP/2.0\r\n\r\n", Version),
        ("PRI * HTTP/2.0\r\n\r\n", Version),
        ("GET http://a.b/ http/1.1\r\n\r\n", Version),
        ("GET http://a.b/ HTTP/1.1\r\nNo colon\r\n\r\n", Field),
        ("GET http://a.b/ HTTP/1.1\r\n: x\r\n\r\n", Field),
        ("GET http://a.b/ HTTP/1.1\r\nA b: x\r\n\r\n", Field),
        ("GET http://a.b/ HTTP/1.1\r\nA: x\r\n y\r\n\r\n", Folded),
        ("GET http://a.b/ HTTP/1.1\r\n\tA: x\r\n\r\n", Folded),
        ("GET http://a.b/ HTTP/1.1\nA: x\r\n\r\n", Characters),
        ("GET http://a.b/ HTTP/1.1\r\nA: x\ny\r\n\r\n", Characters),
        ("GET http://a.b/ HTTP/1.1\r\nA: x\ry\r\n\r\n", Characters),
        ("GET http://a.b/ HTTP/1.1\r\r\n\r\n", Characters),
        ("GET http://a.b/\0 HTTP/1.1\r\n\r\n", Characters),
        ("GET http://a.b/ HTTP/1.1\r\nA: \0\r\n\r\n", Characters),
        (
            "GET http://a.b/ HTTP/1.1\r\nA: \u{1b}[m\r\n\r\n",
            Characters,
        ),
        ("GET http://a.b/ HTTP/1.1\r\nA: \u{7f}\r\n\r\n", Characters),
    ];
    for (text, expected) in bad {
        assert_eq!(parsed(text).unwrap_err(), expected.into(), "{text:?}");
    }
}

#[test]
fn requests_without_a_clear_server_are_refused() {
    let bad = [
        (
            "GET / HTTP/1.1\r\nHost: a.b\r\n\r\n",
            BadRequest::NotForProxy,
        ),
        (
            "OPTIONS * HTTP/1.1\r\nHost: a.b\r\n\r\n",
            BadRequest::NotForProxy,
        ),
        ("GET a.b:80 HTTP/1.1\r\n\r\n", BadRequest::NotForProxy),
        ("connect a.b:443 HTTP/1.1\r\n\r\n", BadRequest::NotForProxy),
        ("GET //a.b/ HTTP/1.1\r\n\r\n", BadRequest::NotForProxy),
        ("GET ftp://a.b/ HTTP/1.1\r\n\r\n", BadRequest::NotForProxy),
        (
            "GET file:///etc/passwd HTTP/1.1\r\n\r\n",
            BadRequest::NotForProxy,
        ),
        ("GET https://a.b/ HTTP/1.1\r\n\r\n", BadRequest::Https),
        ("GET http://a.b/#c HTTP/1.1\r\n\r\n", BadRequest::Fragment),
        (
            "GET http://a.b#@evil.com/ HTTP/1.1\r\n\r\n",
            BadRequest::Fragment,
        ),
        (
            "GET http://a.b/ HTTP/1.1\r\nHost: evil.com\r\n\r\n",
            BadRequest::OtherHost,
        ),
        (
            "GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nHost: a.b\r\n\r\n",
            BadRequest::Repeated("Host"),
        ),
        (
            "CONNECT a.b:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\n",
            BadRequest::TunnelBody,
        ),
        (
            "CONNECT a.b:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            BadRequest::TunnelBody,
        ),
    ];
    for (text, expected) in bad {
        assert_eq!(parsed(text).unwrap_err(), expected, "{text:?}");
    }
}

#[test]
fn hosts_of_requests_are_read_strictly() {
    let problem = |text: &str| match parsed(text) {
        Err(BadRequest::Host(error)) => error.problem,
        other => panic!("{text:?}: {other:?}"),
    };
    for url in [
        "http://allowed.com@evil.com/",
        "http://a:b@evil.com/",
        "http://@evil.com",
    ] {
        let text = format!("GET {url} HTTP/1.1\r\n\r\n");
        assert_eq!(problem(&text), HostProblem::UserInformation);
    }
    for url in [
        "http://a.com\\@evil.com/",
        "http://a.com%00.evil.com/",
        "http://a.com\\.evil.com",
    ] {
        let text = format!("GET {url} HTTP/1.1\r\n\r\n");
        let problem = problem(&text);
        let expected = [HostProblem::UserInformation, HostProblem::Character];
        assert!(expected.contains(&problem), "{text:?}: {problem}");
    }
    assert_eq!(
        problem("GET http:///x HTTP/1.1\r\n\r\n"),
        HostProblem::Empty
    );
    assert_eq!(
        problem("GET http://a.b:/x HTTP/1.1\r\n\r\n"),
        HostProblem::Port
    );
    assert_eq!(
        problem("GET http://0x7f.1/x HTTP/1.1\r\n\r\n"),
        HostProblem::Ipv4
    );
    assert_eq!(
        problem("CONNECT a.b HTTP/1.1\r\n\r\n"),
        HostProblem::MissingPort
    );
    assert_eq!(
        problem("CONNECT a.b:443:80 HTTP/1.1\r\n\r\n"),
        HostProblem::Port
    );
    assert_eq!(
        problem("CONNECT http://a.b:443 HTTP/1.1\r\n\r\n"),
        HostProblem::Url
    );
    assert_eq!(
        problem("CONNECT * HTTP/1.1\r\n\r\n"),
        HostProblem::Character
    );
    assert_eq!(
        problem("GET http://a.b/ HTTP/1.1\r\nHost: a.b@evil.com\r\n\r\n"),
        HostProblem::UserInformation
    );
    assert_eq!(
        problem("GET http://a.b/ HTTP/1.1\r\nHost:\r\n\r\n"),
        HostProblem::Empty
    );
}

#[test]
fn the_end_of_a_head_is_found_wherever_it_is_cut() {
    let head = b"GET http://a.b/ HTTP/1.1\r\nA: b\r\n\r\n";
    let mut bytes = head.to_vec();
    // What follows can be anything.
    bytes.extend_from_slice(b"\0\n\r\r");
    for step in 1..=bytes.len() {
        let mut end = HeadEnd::default();
        let found = (step..=bytes.len())
            .step_by(step)
            .chain([bytes.len()])
            .find_map(|length| end.find(&bytes[..length]).unwrap());
        assert_eq!(found, Some(head.len()), "{step}");
    }
    for bad in [
        b"\x16\x03\x01".as_slice(),
        b"\x05\x01\0",
        b"GET\n",
        b"GET\rx",
        b"\n",
    ] {
        assert_eq!(HeadEnd::default().find(bad), Err(BadHead::Characters));
    }
}
