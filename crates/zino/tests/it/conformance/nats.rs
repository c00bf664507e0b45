//! A client of the bus that speaks the protocol of a NATS server itself, so that it shares nothing with the
//! code that it tests.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use testkit::nats::Nats;
use zino::kind::ServiceKind;

use super::Frames;
use crate::stack::TEST_TIMEOUT;

/// How many frames the service may send at once.
const WINDOW: u64 = 64;

/// How often the service is told that its caller still waits.
const ALIVE: Duration = Duration::from_secs(1);

const INBOX: &str = "_INBOX_client.conformance";

/// What a service answered.
pub(super) enum Answer {
    Frames(Frames),
    /// It did not take the request, for this reason.
    Refused(String),
}

/// Calls services, one after the other.
pub(super) struct Client {
    stream: BufReader<TcpStream>,
    calls: usize,
}

/// A message, with its headers in lower case.
struct Message {
    status: String,
    headers: HashMap<String, String>,
    payload: Vec<u8>,
}

/// Where a request is.
#[derive(Clone, Copy)]
enum Body<'a> {
    Here(&'a [u8]),
    /// It was announced, with this length.
    Later(u32),
}

impl Client {
    pub(super) fn new(nats: &Nats) -> Self {
        let stream = TcpStream::connect(nats.address()).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut client = Self {
            stream: BufReader::new(stream),
            calls: 0,
        };
        let options = r#"{"verbose":false,"pedantic":true,"headers":true,"no_responders":true}"#;
        client.write(format!("CONNECT {options}\r\nSUB {INBOX}.> 1\r\nPING\r\n").as_bytes());
        while client.line() != "PONG" {}
        client
    }

    /// Sends a request, which begins with its length, and returns the answer.
    pub(super) fn call(&mut self, kind: ServiceKind, request: &[u8]) -> Answer {
        let (length, body) = request.split_first_chunk::<4>().unwrap();
        let length = u32::from_be_bytes(*length);
        let body = match body.len() == length as usize {
            true => Body::Here(body),
            false => Body::Later(length),
        };
        self.calls += 1;
        let call = format!("{:032x}", self.calls);
        let reply = format!("{INBOX}.{call}.1");
        let mut headers = vec![
            ("Zino-Proto", "1".to_owned()),
            ("Zino-Call", call),
            ("Zino-Attempt", "1".to_owned()),
            ("Zino-Window", WINDOW.to_string()),
            // Headers of later versions are ignored.
            ("Zino-Unknown", "x".to_owned()),
        ];
        let payload = match body {
            Body::Here(body) => body,
            Body::Later(length) => {
                headers.push(("Zino-Body", "later".to_owned()));
                headers.push(("Zino-Total", length.to_string()));
                &[]
            }
        };
        self.publish(
            &format!("zino.default.{}", kind.name()),
            &reply,
            &headers,
            payload,
        );
        self.receive(kind)
    }

    fn receive(&mut self, kind: ServiceKind) -> Answer {
        let (mut frames, mut part) = (Frames::new(), Vec::new());
        let (mut units, mut control) = (0, None);
        loop {
            let Some(message) = self.has_message().then(|| self.message()).flatten() else {
                // Also a sign of life.
                self.allow(control.as_deref(), units + WINDOW);
                continue;
            };
            assert_ne!(message.status, "503", "{kind:?}: nobody serves");
            control = control.or(message.header("zino-ctl"));
            if let Some(first) = message.header("zino-seq") {
                assert_eq!(first, units.to_string(), "{kind:?}: a message is missing");
            }
            match message.header("zino-kind").as_deref() {
                Some("data") => {
                    let several = message.header("zino-frames");
                    let before = frames.len();
                    match several {
                        Some(count) => {
                            frames.extend(split(&message.payload));
                            assert_eq!(count, (frames.len() - before).to_string());
                        }
                        None => frames.push(message.payload.clone()),
                    }
                    units += (frames.len() - before) as u64;
                }
                Some("part") => {
                    units += 1;
                    part.extend_from_slice(&message.payload);
                    let number = message.header("zino-part").unwrap();
                    let (index, count) = number.split_once('/').unwrap();
                    if index.parse::<u64>().unwrap() + 1 == count.parse::<u64>().unwrap() {
                        frames.push(std::mem::take(&mut part));
                    }
                }
                Some("end") => return Answer::Frames(frames),
                Some("refuse") => return Answer::Refused(message.header("zino-reason").unwrap()),
                _ => {}
            }
            if message.header("zino-end").is_some() {
                return Answer::Frames(frames);
            }
            self.allow(control.as_deref(), units + WINDOW);
        }
    }

    /// Lets the service send up to this many frames.
    fn allow(&mut self, control: Option<&str>, limit: u64) {
        if let Some(control) = control {
            let headers = [
                ("Zino-Kind", "credit".to_owned()),
                ("Zino-Seq", limit.to_string()),
            ];
            let subject = format!("{control}.{:032x}.1", self.calls);
            self.publish(&subject, "", &headers, &[]);
        }
    }

    fn publish(&mut self, subject: &str, reply: &str, headers: &[(&str, String)], payload: &[u8]) {
        let mut head = "NATS/1.0\r\n".to_owned();
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        head += "\r\n";
        let (length, total) = (head.len(), head.len() + payload.len());
        let line = format!("HPUB {subject} {reply} {length} {total}\r\n");
        self.write(&[line.as_bytes(), head.as_bytes(), payload, b"\r\n"].concat());
    }

    /// Returns whether something has arrived; waits for it a while.
    fn has_message(&mut self) -> bool {
        self.limit(ALIVE);
        let result = match self.stream.fill_buf() {
            Ok(bytes) => {
                assert!(!bytes.is_empty(), "the server has closed the connection");
                true
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                false
            }
            Err(error) => panic!("the connection broke: {error}"),
        };
        self.limit(TEST_TIMEOUT);
        result
    }

    fn limit(&self, limit: Duration) {
        self.stream.get_ref().set_read_timeout(Some(limit)).unwrap();
    }

    /// Reads what has arrived; `None` if it is no message about the call.
    fn message(&mut self) -> Option<Message> {
        let line = self.line();
        let mut words = line.split(' ');
        match words.next() {
            Some("PING") => self.write(b"PONG\r\n"),
            Some("HMSG") => {
                let numbers: Vec<&str> = words.collect();
                let [.., head, total] = numbers[..] else {
                    panic!("{line}");
                };
                return Some(self.body(head.parse().unwrap(), total.parse().unwrap()));
            }
            // Without headers: signs that the service still works.
            Some("MSG") => {
                let length: usize = words.next_back().unwrap().parse().unwrap();
                self.stream.read_exact(&mut vec![0; length + 2]).unwrap();
            }
            Some("INFO" | "PONG") => {}
            _ => panic!("unexpected {line}"),
        }
        None
    }

    fn body(&mut self, head: usize, total: usize) -> Message {
        let mut bytes = vec![0; total + 2];
        self.stream.read_exact(&mut bytes).unwrap();
        let text = str::from_utf8(&bytes[..head]).unwrap();
        let mut lines = text.lines();
        let status = lines.next().unwrap().trim_start_matches("NATS/1.0").trim();
        let headers = lines.filter_map(|line| line.split_once(':'));
        let headers = headers.map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()));
        Message {
            status: status.to_owned(),
            headers: headers.collect(),
            payload: bytes[head..total].to_vec(),
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        assert!(
            line.ends_with("\r\n"),
            "the server has closed the connection"
        );
        line.trim_end().to_owned()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }
}

impl Message {
    fn header(&self, name: &str) -> Option<String> {
        self.headers.get(name).cloned()
    }
}

/// Returns the frames of a message, each of which follows its length.
fn split(mut bytes: &[u8]) -> Frames {
    let mut frames = Frames::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let (frame, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
        frames.push(frame.to_vec());
        bytes = rest;
    }
    frames
}
