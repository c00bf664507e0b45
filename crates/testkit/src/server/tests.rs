use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{ModelServer, Reply, Wire};

/// A response: the head, and the body without the chunk framing.
struct Answer {
    head: String,
    body: Vec<u8>,
    complete: bool,
}

impl Answer {
    fn status(&self) -> u16 {
        self.head[9..12].parse().unwrap()
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Returns the JSON payloads of the events, parsed by the standard.
    fn events(&self) -> Vec<Value> {
        let text = self.text().replace("\r\n", "\n");
        let payloads = text.split("\n\n").map(|event| {
            let data = event.lines().filter_map(|line| line.strip_prefix("data:"));
            let data = data.map(|data| data.strip_prefix(' ').unwrap_or(data));
            data.collect::<Vec<_>>().join("\n")
        });
        payloads
            .filter_map(|data| serde_json::from_str(&data).ok())
            .collect()
    }
}

fn request(wire: Wire, prompt: &str) -> String {
    let text = json!({ "text": prompt });
    let (path, mut body) = match wire {
        Wire::OpenAi => (
            "/v1/chat/completions",
            json!({"messages": [{"role": "system", "content": "s"},
                {"role": "user", "content": prompt}]}),
        ),
        Wire::Anthropic => (
            "/v1/messages",
            json!({"messages": [{"role": "user", "content": [{"type": "text", "text": prompt}]}]}),
        ),
        Wire::OpenAiResponses => (
            "/v1/responses",
            json!({"input": [{"type": "message", "role": "user",
                "content": [{"type": "input_text", "text": prompt}]}]}),
        ),
        Wire::Gemini => (
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            json!({"contents": [{"role": "user", "parts": [text]}]}),
        ),
    };
    body["model"] = "m".into();
    body["stream"] = true.into();
    body["stream_options"] = json!({"include_usage": true});
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nX-Api-Key: secret\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn connect(server: &ModelServer) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    stream
}

/// Reads one response byte by byte, so that nothing of the next one is consumed.
fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(read_byte(stream).expect("an answer"));
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = Vec::new();
    if let Some(length) = length {
        body.resize(length.parse().unwrap(), 0);
        stream.read_exact(&mut body).unwrap();
        let complete = true;
        return Answer {
            head,
            body,
            complete,
        };
    }
    loop {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            match read_byte(stream) {
                Some(byte) => line.push(byte),
                None => {
                    let complete = false;
                    return Answer {
                        head,
                        body,
                        complete,
                    };
                }
            }
        }
        let size = usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim(), 16).unwrap();
        let mut chunk = vec![0; size + 2];
        stream.read_exact(&mut chunk).unwrap();
        body.extend_from_slice(&chunk[..size]);
        if size == 0 {
            let complete = true;
            return Answer {
                head,
                body,
                complete,
            };
        }
    }
}

fn read_byte(stream: &mut TcpStream) -> Option<u8> {
    let mut byte = [0];
    match stream.read(&mut byte) {
        Ok(1) => Some(byte[0]),
        _ => None,
    }
}

fn ask(server: &ModelServer, wire: Wire, prompt: &str) -> Answer {
    let mut stream = connect(server);
    stream.write_all(request(wire, prompt).as_bytes()).unwrap();
    read_answer(&mut stream)
}

#[test]
fn the_transport_does_not_change_the_events() {
    let server = ModelServer::start();
    for wire in Wire::ALL {
        for directive in ["say:5", "utf8", "tool:bash:{\"command\": \"true\"}"] {
            let plain = ask(&server, wire, directive).events();
            assert!(plain.len() >= 2);
            for wrapper in ["split:1:", "split:7:", "crlf:", "split:3:crlf:", "delay:1:"] {
                let wrapped = ask(&server, wire, &format!("{wrapper}{directive}"));
                assert!(wrapped.complete);
                assert_eq!(wrapped.events(), plain, "{wire:?} {wrapper}{directive}");
            }
        }
    }
}

#[test]
fn cutat_sends_exactly_that_many_bytes() {
    let server = ModelServer::start();
    for wire in Wire::ALL {
        let whole = ask(&server, wire, "say:2").body;
        for limit in [0, 1, 100, whole.len() - 1] {
            let cut = ask(&server, wire, &format!("cutat:{limit}:say:2"));
            assert!(!cut.complete);
            assert_eq!(cut.body, whole[..limit]);
        }
    }
}

#[test]
fn a_cut_response_has_no_end() {
    let server = ModelServer::start();
    for wire in Wire::ALL {
        let answer = ask(&server, wire, "cut");
        assert!(!answer.complete);
        assert!(answer.text().contains("gamm "));
    }
}

#[test]
fn thinking_comes_before_the_text() {
    let server = ModelServer::start();
    let answer = ask(&server, Wire::Anthropic, "think:let me see:say:1");
    let signature = json!({"type": "signature_delta", "signature": "signature over let me see"});
    assert!(answer.events().iter().any(|e| e["delta"] == signature));
    let text = answer.text();
    assert!(text.find("thinking_delta") < text.find("alpha "));

    let answer = ask(&server, Wire::OpenAi, "think:let me see:say:1");
    let thought: String = answer
        .events()
        .iter()
        .filter_map(|event| event["choices"][0]["delta"]["reasoning_content"].as_str())
        .collect();
    assert_eq!(thought, "let me see");
}

#[test]
fn failures_are_counted_per_directive() {
    let server = ModelServer::start();
    let openai = ask(&server, Wire::OpenAi, "overflow:1:say:1");
    assert_eq!(openai.status(), 400);
    let error: Value = serde_json::from_slice(&openai.body).unwrap();
    assert_eq!(error["error"]["code"], "context_length_exceeded");
    assert_eq!(ask(&server, Wire::OpenAi, "overflow:1:say:1").status(), 200);

    let anthropic = ask(&server, Wire::Anthropic, "overflow:1:say:2");
    assert!(anthropic.text().contains("prompt is too long: "));

    let busy = ask(&server, Wire::OpenAi, "retryafter:3:say:1");
    assert_eq!(busy.status(), 503);
    assert!(busy.head.contains("\r\nretry-after: 3\r\n"));
    assert_eq!(
        ask(&server, Wire::OpenAi, "retryafter:3:say:1").status(),
        200
    );
    server.reset();
    assert_eq!(
        ask(&server, Wire::OpenAi, "retryafter:3:say:1").status(),
        503
    );
}

#[test]
fn a_reset_connection_sends_nothing() {
    let server = ModelServer::start();
    let mut stream = connect(&server);
    stream
        .write_all(request(Wire::OpenAi, "reset:1:say:1").as_bytes())
        .unwrap();
    let mut nothing = Vec::new();
    let error = stream.read_to_end(&mut nothing).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    assert!(nothing.is_empty());
    assert_eq!(ask(&server, Wire::OpenAi, "reset:1:say:1").status(), 200);
}

#[test]
fn a_flood_never_ends_its_event() {
    let server = ModelServer::start();
    for wire in Wire::ALL {
        let answer = ask(&server, wire, "flood:200000");
        assert!(!answer.complete);
        assert!(answer.body.len() > 200_000);
        assert!(!answer.text().contains("\n\n"));
    }
}

#[test]
fn one_connection_serves_many_requests_and_all_are_recorded() {
    let server = ModelServer::start();
    let mut stream = connect(&server);
    for count in [1, 3, 2] {
        let prompt = format!("say:{count}");
        stream
            .write_all(request(Wire::Anthropic, &prompt).as_bytes())
            .unwrap();
        let answer = read_answer(&mut stream);
        assert!(answer.complete);
        assert_eq!(answer.text().matches("text_delta").count(), count);
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[1].messages()[0]["content"][0]["text"], "say:3");
    assert_eq!(requests[1].headers["x-api-key"], "secret");
}

#[test]
fn a_client_that_disconnects_ends_its_response() {
    let server = ModelServer::start();
    for directive in ["hang", "hangmid", "slow:1000:100"] {
        let mut stream = connect(&server);
        stream
            .write_all(request(Wire::OpenAi, directive).as_bytes())
            .unwrap();
        poll(|| server.responses_in_progress() == 1);
        stream.shutdown(Shutdown::Both).unwrap();
        poll(|| server.responses_in_progress() == 0);
    }
}

fn poll(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !condition() {
        assert!(Instant::now() < deadline, "timed out");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_script_is_followed_in_order() {
    let server = ModelServer::with_script([
        Reply::directive("tool:bash:{}"),
        Reply::status(418, "teapot"),
        Reply::event_stream("data: hi\n\n"),
    ]);
    let tool = ask(&server, Wire::OpenAi, "ignored");
    assert!(tool.text().contains("\"call_1\""));
    assert_eq!(ask(&server, Wire::OpenAi, "ignored").status(), 418);
    let stream = ask(&server, Wire::OpenAi, "ignored");
    assert_eq!(stream.text(), "data: hi\n\n");
    assert_eq!(ask(&server, Wire::OpenAi, "ignored").status(), 500);
}
