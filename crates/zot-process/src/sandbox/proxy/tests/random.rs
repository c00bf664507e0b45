//! Requests nobody would write.

use std::io::Write as _;
use std::net::Shutdown;
use std::sync::{Arc, RwLock};

use super::super::head::HeadEnd;
use super::super::request::Request;
use super::super::route;
use super::{ContactLog, Limits, Shared, TestNetwork, all, rules, running};

const RULES: [&str; 4] = [
    "allowed.com",
    "*.below.com:8080",
    "127.0.0.1:9",
    "[2001:db8::1]:443",
];

const HEADS: [&str; 8] = [
    "CONNECT allowed.com:443 HTTP/1.1\r\nHost: allowed.com:443\r\n\r\n",
    "CONNECT a.below.com:8080 HTTP/1.0\r\n\r\n",
    "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\n",
    "CONNECT 127.0.0.1:9 HTTP/1.1\r\n\r\n",
    "GET http://allowed.com/path?query HTTP/1.1\r\nHost: allowed.com\r\nConnection: close\r\n\r\n",
    "POST http://a.below.com:8080/ HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
    "PUT http://127.0.0.1:9/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "CONNECT evil.com:443 HTTP/1.1\r\nHost: allowed.com:443\r\n\r\n",
];

/// What is inserted, because it means something to somebody.
const PIECES: [&[u8]; 30] = [
    b"@",
    b"evil.com",
    b"allowed.com",
    b".",
    b":",
    b":443",
    b"\0",
    b"%00",
    b"\\",
    b"/",
    b"//",
    b"#",
    b"?",
    b"\r",
    b"\n",
    b"\r\n",
    b" ",
    b"\t",
    b"[",
    b"]",
    b"::ffff:",
    b"%25",
    b"0x7f",
    b"127.1",
    b"*",
    b"http://",
    b"_",
    b"-",
    b"\xff",
    b"\xe3\x80\x82",
];

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % limit
    }

    fn head(&mut self) -> Vec<u8> {
        let mut bytes = HEADS[self.below(HEADS.len())].as_bytes().to_vec();
        for _ in 0..=self.below(3) {
            // Mostly in the first line, where the host is.
            let range = match self.below(4) {
                0 => bytes.len(),
                _ => bytes.len().min(40),
            };
            let position = self.below(range + 1).min(bytes.len());
            match self.below(8) {
                0 if position < bytes.len() => drop(bytes.remove(position)),
                1 if position < bytes.len() => {
                    bytes[position] = u8::try_from(self.below(256)).unwrap();
                }
                2 => {
                    let end = (position + self.below(12)).min(bytes.len());
                    let copy = bytes[position..end].to_vec();
                    bytes.splice(position..position, copy);
                }
                // Texts that are mostly hosts still, but others.
                3..=5 if position < bytes.len() => {
                    let letters = b"abcxyz0129.-ALOWED";
                    bytes[position] = letters[self.below(letters.len())];
                }
                6 if position < bytes.len() => {
                    let bit = self.below(8);
                    bytes[position] ^= 1 << bit;
                }
                _ => {
                    let piece = PIECES[self.below(PIECES.len())];
                    bytes.splice(position..position, piece.iter().copied());
                }
            }
        }
        bytes
    }
}

/// Decides anew, in a simpler way, what may be resolved and connected to.
fn is_listed_name(name: &str) -> bool {
    name == "allowed.com" || name.ends_with(".below.com")
}

fn check(network: &TestNetwork, bytes: &[u8]) {
    for name in network.resolved.lock().unwrap().drain(..) {
        assert!(is_listed_name(&name), "{name}: {}", bytes.escape_ascii());
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        assert!(name.bytes().all(is_plain), "{name:?}");
    }
    let listed = [
        "127.0.0.1:9",
        "[2001:db8::1]:443",
        "9.9.9.9:80",
        "9.9.9.9:443",
    ];
    for address in network.connected.lock().unwrap().drain(..) {
        let address = address.to_string();
        assert!(
            listed.contains(&address.as_str()),
            "{address}: {}",
            bytes.escape_ascii()
        );
    }
}

#[test]
fn twenty_thousand_changed_heads_reach_only_listed_hosts() {
    let network = Arc::new(TestNetwork::default());
    network.name("allowed.com", &[&["9.9.9.9", "127.0.0.1"]]);
    let shared = Shared {
        rules: RwLock::new(rules(&RULES).into()),
        log: ContactLog::default(),
        network: Box::new(Arc::clone(&network)),
        limits: Limits::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut numbers = Numbers(0x5eed);
    let (mut reached, mut refused, mut malformed) = (0, 0, 0);
    for _ in 0..20_000 {
        let bytes = numbers.head();
        let parsed = match HeadEnd::default().find(&bytes) {
            Ok(Some(length)) => Request::parse(&bytes[..length]).ok(),
            _ => None,
        };
        let Some(request) = parsed else {
            malformed += 1;
            continue;
        };
        let target = match &request {
            Request::Connect(target) => target,
            Request::Forward(forward) => {
                // What the server gets is one request with one host.
                let mut end = HeadEnd::default();
                assert_eq!(end.find(&forward.head), Ok(Some(forward.head.len())));
                let text = String::from_utf8_lossy(&forward.head).to_ascii_lowercase();
                assert_eq!(text.matches("\r\nhost:").count(), 1, "{text}");
                &forward.target
            }
        };
        let before = network.resolved().len() + network.connected().len();
        assert_eq!(before, 0);
        let result = runtime.block_on(route::connect(target, &shared));
        assert!(result.is_err(), "nothing listens");
        match network.resolved().len() + network.connected().len() {
            0 => refused += 1,
            _ => reached += 1,
        }
        assert!(network.resolved().len() <= 1);
        check(&network, &bytes);
    }
    // The test would prove nothing if one of these did not happen.
    assert!(
        reached > 1000 && refused > 1000 && malformed > 1000,
        "{reached} reached, {refused} refused, {malformed} malformed"
    );
}

#[test]
fn changed_requests_over_sockets_do_not_stop_the_proxy() {
    let proxy = running(&RULES);
    proxy.network.name("allowed.com", &[&["9.9.9.9"]]);
    let mut numbers = Numbers(0xbad5eed);
    for _ in 0..1000 {
        let bytes = numbers.head();
        let mut client = proxy.sent("");
        let cut = numbers.below(bytes.len());
        let _ = client.write_all(&bytes[..cut]);
        let _ = client.write_all(&bytes[cut..]);
        let _ = client.shutdown(Shutdown::Write);
        let answer = all(&mut client).unwrap_or_default();
        assert!(
            answer.is_empty() || answer.starts_with(b"HTTP/1.1 "),
            "{}",
            answer.escape_ascii()
        );
        assert!(!answer.starts_with(b"HTTP/1.1 200"));
        check(&proxy.network, &bytes);
    }
    let answer = proxy.answer("CONNECT evil.com:443 HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
}
