use std::io::Write as _;
use std::net::Shutdown;

use super::{greeter, keep_sending, rest, running};

#[test]
fn a_host_that_is_not_allowed_is_refused_and_never_resolved() {
    let proxy = running(&["allowed.example", "*.below.example"]);
    let mark = proxy.log.mark();
    let answer = proxy.answer("CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n");
    let text = "zot's sandbox refused example.com:443: it is not in `connect`. Only the user can \
                allow it. Do not try to get around this.\n";
    assert_eq!(
        answer,
        format!(
            "HTTP/1.1 403 Refused by zot's sandbox: example.com:443 is not in connect\r\n\
             Content-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
             Zot-Sandbox: refused example.com:443\r\nConnection: close\r\n\r\n{text}",
            text.len()
        )
    );
    for target in [
        "allowed.example:22",
        "below.example:443",
        "notbelow.example:443",
        "sub.allowed.example:443",
        "169.254.169.254:80",
        "127.0.0.1:80",
        "[::1]:80",
        "localhost:80",
    ] {
        for request in [
            format!("CONNECT {target} HTTP/1.1\r\n\r\n"),
            format!("GET http://{target}/ HTTP/1.1\r\n\r\n"),
        ] {
            let answer = proxy.answer(request);
            assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        }
    }
    assert!(proxy.network.resolved().is_empty());
    assert!(proxy.network.connected().is_empty());
    let refused = proxy.log.refused_since(mark);
    assert_eq!(refused.len(), 9);
    assert_eq!(refused[0].times, 1);
    assert!(refused[1..].iter().all(|contact| contact.times == 2));
}

#[test]
fn a_refused_upload_gets_its_answer() {
    let proxy = running(&[]);
    let mut client =
        proxy.sent("POST http://example.com/ HTTP/1.1\r\nContent-Length: 300000\r\n\r\n");
    client.write_all(&[b'x'; 200_000]).unwrap();
    keep_sending(&mut client);
    client.shutdown(Shutdown::Write).unwrap();
    assert!(rest(&mut client).contains("zot's sandbox refused example.com:80"));
}

#[test]
fn malformed_requests_reach_nobody() {
    let server = greeter("never");
    let proxy = running(&[&server.to_string(), "allowed.com", "*.allowed.com"]);
    proxy.network.name("allowed.com", &[&["127.0.0.1"]]);
    let port = server.port();
    let texts: Vec<Vec<u8>> = [
        "CONNECT allowed.com@evil.com:443 HTTP/1.1\r\n\r\n",
        "CONNECT allowed.com:443@evil.com:443 HTTP/1.1\r\n\r\n",
        "CONNECT evil.com%00.allowed.com:443 HTTP/1.1\r\n\r\n",
        "CONNECT evil.com\0.allowed.com:443 HTTP/1.1\r\n\r\n",
        "CONNECT evil.com\\.allowed.com:443 HTTP/1.1\r\n\r\n",
        "CONNECT evil.com#.allowed.com:443 HTTP/1.1\r\n\r\n",
        "CONNECT allowed.com:443:80 HTTP/1.1\r\n\r\n",
        "CONNECT allowed.com HTTP/1.1\r\n\r\n",
        "CONNECT allowed.com:0 HTTP/1.1\r\n\r\n",
        "CONNECT 2130706433:PORT HTTP/1.1\r\n\r\n",
        "CONNECT 0x7f000001:PORT HTTP/1.1\r\n\r\n",
        "CONNECT 0177.0.0.1:PORT HTTP/1.1\r\n\r\n",
        "CONNECT 127.1:PORT HTTP/1.1\r\n\r\n",
        "CONNECT 127.0.0.1:PORT\tHTTP/1.1\r\n\r\n",
        "CONNECT 127.0.0.1:PORT HTTP/1.1\n\n",
        "CONNECT 127.0.0.1:PORT HTTP/1.1\r\nX: \0\r\n\r\n",
        "CONNECT 127.0.0.1:PORT HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
        "GET http://127.0.0.1:PORT/\r\nX: y HTTP/1.1\r\n\r\n",
        "GET http://127.0.0.1:PORT/ HTTP/1.1\r\nHost: evil.com\r\n\r\n",
        "GET http://127.0.0.1:PORT/ HTTP/1.1\r\nX: a\r\n b\r\n\r\n",
        "GET http://127.0.0.1:PORT/ HTTP/1.1\rX: a\r\n\r\n",
        "GET http://127.0.0.1:PORT/#x HTTP/1.1\r\n\r\n",
        "GET http://a:b@127.0.0.1:PORT/ HTTP/1.1\r\n\r\n",
        "GET http://127.0.0.1:PORT\\@evil.com/ HTTP/1.1\r\n\r\n",
        "GET https://127.0.0.1:PORT/ HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
        "GET http://127.0.0.1:PORT/ HTTP/9.9\r\n\r\n",
        "POST http://127.0.0.1:PORT/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
        "POST http://127.0.0.1:PORT/ HTTP/1.1\r\nContent-Length: 1\r\n\
         Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST http://127.0.0.1:PORT/ HTTP/1.1\r\nTransfer-Encoding: \u{b}chunked\r\n\r\n0\r\n\r\n",
        "POST http://127.0.0.1:PORT/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "\r\nGET http://127.0.0.1:PORT/ HTTP/1.1\r\n\r\n",
        // A client that speaks TLS or SOCKS is told at once.
        "\u{16}\u{3}\u{1}",
        "\u{5}\u{1}\0",
        "\u{4}\u{1}\0P",
    ]
    .into_iter()
    .map(|text| text.replace("PORT", &port.to_string()).into_bytes())
    .collect();
    for bytes in texts {
        let answer = proxy.answer(&bytes);
        let shown = bytes.escape_ascii();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{shown}: {answer}");
        assert!(answer.contains("the request is malformed: "), "{answer}");
    }
    assert!(proxy.network.resolved().is_empty());
    assert!(proxy.network.connected().is_empty());
    assert!(proxy.log.all().is_empty());
}

#[test]
fn rules_can_be_replaced_while_a_tunnel_is_open() {
    let server = super::echo();
    let proxy = running(&[]);
    let request = format!("CONNECT {server} HTTP/1.1\r\n\r\n");
    assert!(proxy.answer(&request).starts_with("HTTP/1.1 403 "));
    proxy.set_rules(&[&server.to_string()]);
    let mut client = proxy.tunnel(server);
    proxy.set_rules(&[]);
    assert!(proxy.answer(&request).starts_with("HTTP/1.1 403 "));
    // It was allowed when it was opened.
    client.write_all(b"hello").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(&mut client), "hello");
    assert_eq!(
        proxy.contacts(),
        [format!("+{server}"), format!("-{server}")]
    );
    assert_eq!(proxy.log.all()[1].times, 2);
}
