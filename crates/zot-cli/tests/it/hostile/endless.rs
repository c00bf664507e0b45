//! Servers whose responses never end.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::process::peak_resident_bytes;
use testkit::{Signal, Workdir, ZotCommand, poll_until};

use super::{ENDING, Process};
use crate::support::binary;

/// The most memory an endless response may need in a debug build.
const MOST_MEMORY: u64 = 300 << 20;

/// How long a limit may take to be reached on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(180);

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";

/// Responds to every request with `first` and then with `again` forever.
struct Endless {
    port: u16,
    sent: Arc<AtomicU64>,
}

impl Endless {
    fn start(first: String, again: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let sent = Arc::new(AtomicU64::new(0));
        let again = again.repeat((1 << 16) / again.len() + 1);
        let counter = Arc::clone(&sent);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (first, again, sent) = (first.clone(), again.clone(), Arc::clone(&counter));
                thread::spawn(move || answer(client, &first, &again, &sent));
            }
        });
        Self { port, sent }
    }

    fn command(&self, workdir: &Workdir, mode: &[&str]) -> ZotCommand {
        ZotCommand::new(binary(), workdir)
            .arguments(mode)
            .arguments(["--provider", "anthropic", "--base-url"])
            .argument(format!("http://127.0.0.1:{}", self.port))
            .arguments(["--api-key", "x", "--model", "claude-sonnet-4-5"])
    }

    /// Waits until the client is in the middle of it.
    fn wait_for_flood(&self) {
        poll_until("a flood", || self.sent.load(Ordering::Relaxed) > 2 << 20);
    }
}

fn answer(mut client: TcpStream, first: &str, again: &str, sent: &AtomicU64) {
    let mut request = [0; 1 << 16];
    // The rest of the request is not read.
    let _ = client.read(&mut request);
    let mut written = client.write_all(first.as_bytes());
    while written.is_ok() {
        written = client.write_all(again.as_bytes());
        sent.fetch_add(again.len() as u64, Ordering::Relaxed);
    }
}

fn event(value: &serde_json::Value) -> String {
    let name = value["type"].as_str().unwrap();
    format!("event: {name}\ndata: {value}\n\n")
}

fn block(content: serde_json::Value) -> String {
    event(&json!({"type": "content_block_start", "index": 0, "content_block": content}))
}

fn delta(content: serde_json::Value) -> String {
    event(&json!({"type": "content_block_delta", "index": 0, "delta": content}))
}

fn started(content: serde_json::Value) -> String {
    let start = json!({"type": "message_start", "message": {"usage": {"input_tokens": 1}}});
    format!("{HEAD}\r\n{}{}", event(&start), block(content))
}

fn text() -> serde_json::Value {
    json!({"type": "text", "text": ""})
}

/// Checks that a run ends with an error that names `limit`, in little memory.
fn ends_at(limit: &str, first: String, again: &str) {
    let (server, workdir) = (Endless::start(first, again), Workdir::new("work"));
    let mut command = server.command(&workdir, &["-p", "go", "-n"]).into_command();
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut zot = Process::start(command.stderr(Stdio::piped()));
    let began = Instant::now();
    let mut peak = 0;
    let status = loop {
        peak = peak.max(peak_resident_bytes(zot.0.id()).unwrap_or(0));
        if let Some(status) = zot.0.try_wait().unwrap() {
            break status;
        }
        assert!(began.elapsed() < PATIENCE, "{limit}: it does not end");
        thread::sleep(Duration::from_millis(5));
    };
    let stderr = zot.stderr();
    assert_eq!(status.code(), Some(1), "{stderr}");
    assert!(stderr.contains(limit), "{limit}: {stderr}");
    assert!(peak < MOST_MEMORY, "{limit}: {peak} bytes");
}

#[test]
fn text_has_a_limit() {
    let filler = "x".repeat(4096);
    let call = json!({"type": "tool_use", "id": "c", "name": "read", "input": {}});
    let thinking = json!({"type": "thinking", "thinking": ""});
    for (first, again) in [
        (text(), json!({"type": "text_delta", "text": filler})),
        (
            thinking.clone(),
            json!({"type": "thinking_delta", "thinking": filler}),
        ),
        (
            thinking,
            json!({"type": "signature_delta", "signature": "s".repeat(400)}),
        ),
        (
            call,
            json!({"type": "input_json_delta", "partial_json": filler}),
        ),
    ] {
        ends_at("MAX_RESPONSE_BYTES", started(first), &delta(again));
    }
}

#[test]
fn calls_have_a_limit() {
    let call = block(json!({"type": "tool_use", "name": "read", "input": {}}));
    ends_at("MAX_RESPONSE_BLOCKS", started(text()), &call);
}

#[test]
fn empty_events_have_a_limit() {
    ends_at(
        "MAX_STREAM_EVENTS",
        started(text()),
        &event(&json!({"type": "ping"})),
    );
}

#[test]
fn lines_that_are_not_events_have_a_limit() {
    let comments = format!(": {}\n", "x".repeat(60_000));
    ends_at("MAX_STREAM_BYTES", started(text()), &comments);
}

#[test]
fn heads_have_a_limit() {
    let long = format!("x-more: {}\r\n", "x".repeat(2000));
    ends_at("BUFFER_BYTES", HEAD.to_owned(), &long);
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    ends_at("MAX_INTERIM_RESPONSES", String::new(), interim);
}

#[test]
fn text_before_a_limit_is_kept() {
    let words = json!({"type": "text_delta", "text": "x".repeat(4096)});
    let server = Endless::start(started(text()), &delta(words));
    let workdir = Workdir::new("work");
    let ended = server
        .command(&workdir, &["--json", "go", "-n"])
        .spawn()
        .wait(PATIENCE);
    let frames: Vec<serde_json::Value> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let printed = frames
        .iter()
        .find(|frame| frame["type"] == "assistant_message");
    let text = printed.unwrap()["content"][0]["text"].as_str().unwrap();
    assert!(text.len() > 15 << 20, "{}", text.len());
    let last = frames.last().unwrap();
    assert_eq!(
        (&last["type"], &last["code"]),
        (&json!("error"), &json!("stream"))
    );
}

#[test]
fn a_flood_does_not_delay_signals_and_aborts() {
    let letters = delta(json!({"type": "text_delta", "text": "x"}));
    for again in [letters, event(&json!({"type": "ping"})), ":\n".to_owned()] {
        let server = Endless::start(started(text()), &again);
        let workdir = Workdir::new("work");
        for (mode, signal, code) in [
            (["-p", "go", "-n"], Signal::INT, 130),
            (["--json", "go", "-n"], Signal::TERM, 143),
        ] {
            server.sent.store(0, Ordering::Relaxed);
            let zot = server.command(&workdir, &mode).spawn();
            server.wait_for_flood();
            zot.signal(signal);
            assert_eq!(zot.wait(ENDING).code, Some(code), "{mode:?}");
        }
        server.sent.store(0, Ordering::Relaxed);
        let mut zot = server.command(&workdir, &["rpc"]).spawn();
        zot.prompt("1", "go");
        server.wait_for_flood();
        let began = Instant::now();
        zot.send(json!({"id": "2", "type": "abort"}));
        zot.event("done");
        assert!(began.elapsed() < ENDING, "{:?}", began.elapsed());
        zot.close_stdin();
        assert_eq!(zot.wait(ENDING).code, Some(0));
    }
}
