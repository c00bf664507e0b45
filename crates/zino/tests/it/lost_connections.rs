//! Services on the network that die, stop, or never were what they seem.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, test_kill_process};
use serde_json::json;
use zino::kind::ServiceKind::{Context, Executor, Memory};
use zino::peer::{AddressFailure, CallError, LinkError, Peer, Unreachable};
use zot_wire::zino::executor::{self, Code};
use zot_wire::zino::memory::{Request, Response};
use zot_wire::zino::{Message, Response as _};

use crate::authority::{Authority, TLS, Validity};
use crate::installation::{Installation, Process, eventually, frame};
use crate::network::{caller, peer, ports, up};
use crate::stack::TEST_TIMEOUT;

const NO_MODEL: &str = "http://127.0.0.1:1/v1";

struct Served {
    installation: Installation,
    process: Process,
    port: u16,
}

/// An installation that serves one service on the network.
fn served(authority: &Authority, name: &str, scheme: &str, more: &str) -> Served {
    let more = format!("{TLS}{more}listen.{name} = \"{scheme}://127.0.0.1:0\"\n");
    let installation = Installation::new(NO_MODEL, &more);
    authority.equip(&installation, &[name, "daemon", "agr"]);
    let process = up(&installation, &["--only", name], 1);
    let port = ports(&process)[0];
    Served {
        installation,
        process,
        port,
    }
}

async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(TEST_TIMEOUT, work).await.unwrap()
}

async fn soft_memory(peer: &Peer<Request>) -> Result<Response, CallError> {
    soon(peer.ask(Request::GetSoft)).await
}

fn set_soft() -> Request {
    Request::SetSoft {
        content: "x".to_owned(),
    }
}

fn bash(code: String) -> executor::Request {
    executor::Request::Execute(Code {
        executor: "bash".to_owned(),
        code,
        ..Code::default()
    })
}

#[tokio::test]
async fn after_a_kill_the_next_call_succeeds_at_the_other_address() {
    let authority = Authority::new();
    let mut one = served(&authority, "mem", "tls", "");
    let two = served(&authority, "mem", "tls", "");
    let peer = caller(&two.installation, Memory, "tls", &[one.port, two.port]);
    // Both addresses have a kept connection now.
    for _ in 0..4 {
        soft_memory(&peer).await.unwrap();
    }
    one.process.signal(Signal::KILL);
    one.process.wait();
    for _ in 0..4 {
        soft_memory(&peer).await.unwrap();
    }
    // Not even a request that must not be repeated fails: it was never sent to the dead address.
    for _ in 0..4 {
        let response = soon(peer.ask(set_soft())).await.unwrap();
        assert!(response.as_failure().is_none(), "{response:?}");
    }
}

#[tokio::test]
async fn a_service_that_stopped_is_noticed() {
    let authority = Authority::new();
    let one = served(&authority, "mem", "tls", "");
    let two = served(&authority, "mem", "tls", "");
    let peer = caller(&two.installation, Memory, "tls", &[one.port, two.port]);
    for _ in 0..2 {
        soft_memory(&peer).await.unwrap();
    }
    one.process.signal(Signal::STOP);
    // A request that may be repeated is sent to the other one.
    for _ in 0..4 {
        soft_memory(&peer).await.unwrap();
    }
    // A single address that is silent is an error, with and without a kept connection.
    let only = caller(&two.installation, Memory, "tls", &[one.port]);
    let error = soft_memory(&only).await.unwrap_err();
    assert!(matches!(error, CallError::Unreachable(_)), "{error}");
    one.process.signal(Signal::CONT);
    soft_memory(&only).await.unwrap();
    one.process.signal(Signal::STOP);
    let error = soon(only.ask(set_soft())).await.unwrap_err();
    let CallError::OutcomeUnknown(LinkError::Address(lost)) = &error else {
        panic!("{error}");
    };
    assert!(matches!(lost.failure, AddressFailure::Silent(_)), "{error}");
    assert!(
        error
            .to_string()
            .ends_with("whether the request was handled is unknown"),
        "{error}"
    );
}

#[tokio::test]
async fn a_caller_that_hangs_up_over_tls_ends_its_program() {
    let authority = Authority::new();
    let served = served(&authority, "exc", "tls", "");
    let peer = caller(&served.installation, Executor, "tls", &[served.port]);
    let file = served.installation.path("pid");
    let code = format!(
        "echo $$ > {0}.new; mv {0}.new {0}; sleep 60",
        file.display()
    );
    {
        let call = peer.call(bash(code));
        let started = async {
            while !file.exists() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::select! {
            _ = call => panic!("the program ended"),
            () = soon(started) => {}
        }
    }
    let pid: i32 = fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    let pid = Pid::from_raw(pid).unwrap();
    eventually("the program ends", || test_kill_process(pid).is_err());
    eventually("it is logged", || {
        served.process.log().contains("type=execute") && served.process.log().contains("hung up")
    });
}

/// Longer than a caller waits without a beat.
#[tokio::test]
async fn beats_fill_a_long_silence() {
    let authority = Authority::new();
    let served = served(&authority, "exc", "tls", "");
    let peer = caller(&served.installation, Executor, "tls", &[served.port]);
    let response = soon(peer.ask(bash("sleep 3; echo done".to_owned()))).await;
    let executor::Response::Result(result) = response.unwrap() else {
        panic!("no result");
    };
    assert_eq!(result.stdout, "done\n");
}

/// The system cannot tell a reader that pauses from one that has vanished; the service must.
#[test]
fn a_reader_that_pauses_gets_all_of_a_long_response() {
    let served = served(&Authority::new(), "mem", "tcp", "");
    let long = "x".repeat(24 << 20);
    let append = json!({
        "type": "append_history",
        "channel_id": "c",
        "messages": [{ "role": "user", "content": long }],
    });
    served.installation.ask_one(Memory, &append);
    let mut stream = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let request = json!({ "type": "get_history", "channel_id": "c" });
    stream.write_all(&frame(&request)).unwrap();
    // Longer than data may remain unacknowledged.
    thread::sleep(Duration::from_secs(5));
    let mut end = Vec::new();
    let mut received = 0;
    let mut buffer = vec![0; 1 << 20];
    while !end.ends_with(&[0; 4]) {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "closed after {received} bytes");
        received += count;
        end = buffer[count.saturating_sub(4)..count].to_vec();
    }
    assert!(received > long.len(), "{received}");
}

/// A caller on a slow line must not take the service for dead while it sends.
#[test]
fn beats_show_that_a_long_request_is_arriving() {
    let served = served(&Authority::new(), "mem", "tcp", "");
    let mut stream = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let request = frame(&json!({ "type": "get_soft" }));
    let (first, rest) = request.split_at(6);
    stream.write_all(first).unwrap();
    let mut beat = frame(&json!({ "type": "beat" }));
    let expected = beat.clone();
    for _ in 0..2 {
        stream.read_exact(&mut beat).unwrap();
        assert_eq!(beat, expected);
    }
    stream.write_all(rest).unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    assert!(u32::from_be_bytes(length) > 0);
}

#[tokio::test]
async fn a_request_that_is_too_long_is_refused() {
    let authority = Authority::new();
    let served = served(&authority, "mem", "tls", "wire.max_frame_bytes = 1000\n");
    let peer = caller(&served.installation, Memory, "tls", &[served.port]);
    let request = Request::AppendHistory {
        channel_id: "c".to_owned(),
        messages: vec![Message::new("user", "x".repeat(8 << 20))],
        call: None,
        hold: None,
    };
    let response = soon(peer.ask(request)).await.unwrap();
    let failure = response.as_failure().unwrap().message.clone().unwrap();
    assert!(
        failure.ends_with("is too long: the limit is 1000"),
        "{failure}"
    );
    // The next request has a connection of its own.
    soft_memory(&peer).await.unwrap();
}

#[tokio::test]
async fn silent_and_slow_handshakes_do_not_keep_others_out() {
    let authority = Authority::new();
    let served = served(&authority, "mem", "tls", "");
    let silent: Vec<TcpStream> = (0..100)
        .map(|_| TcpStream::connect(("127.0.0.1", served.port)).unwrap())
        .collect();
    // The beginning of a TLS record that never ends.
    for stream in &silent[..50] {
        let mut stream: &TcpStream = stream;
        stream.write_all(&[0x16, 3, 1, 2, 0, 1]).unwrap();
    }
    let peer = caller(&served.installation, Memory, "tls", &[served.port]);
    soft_memory(&peer).await.unwrap();
    for mut stream in silent {
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        match stream.read(&mut [0]) {
            Ok(0) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            other => panic!("not closed: {other:?}"),
        }
    }
    eventually("each is logged", || {
        let log = served.process.log();
        log.matches("no handshake within 3 s").count() == 100
    });
}

#[tokio::test]
async fn what_is_not_tls_is_named_on_both_sides() {
    let authority = Authority::new();
    let served = served(&authority, "mem", "tls", "");
    let mut stream = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    stream
        .write_all(&frame(&json!({ "type": "ping" })))
        .unwrap();
    let _ = stream.read_to_end(&mut Vec::new());
    eventually("it is logged", || {
        served.process.log().contains(": it does not speak TLS")
    });
    let garbage = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = garbage.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = garbage.accept().unwrap();
        let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let peer = caller(&served.installation, Memory, "tls", &[port]);
    let error = soft_memory(&peer).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("tls://127.0.0.1:{port}: it does not speak TLS")
    );
    let CallError::Unreachable(Unreachable::Addresses(failures)) = error else {
        panic!("{error}");
    };
    assert_eq!(failures.len(), 1);
    server.join().unwrap();
}

#[tokio::test]
async fn certificates_are_read_again_on_sighup() {
    let authority = Authority::new();
    let served = served(&authority, "mem", "tls", "");
    let other = Installation::new(NO_MODEL, TLS);
    let stranger = Authority::new();
    stranger.equip(&other, &["daemon"]);
    let known = caller(&served.installation, Memory, "tls", &[served.port]);
    let unknown = caller(&other, Memory, "tls", &[served.port]);
    soft_memory(&known).await.unwrap();
    assert!(soft_memory(&unknown).await.is_err());
    let reload = |expected: &str| {
        let count = || served.process.log().matches(expected).count();
        let before = count();
        served.process.signal(Signal::HUP);
        eventually(expected, || count() > before);
    };
    // Bad files change nothing.
    fs::write(served.installation.path("certs/own.pem"), "nothing").unwrap();
    reload("zino.tls: not reloaded: certs/own.pem has no certificate in PEM form");
    soft_memory(&known).await.unwrap();
    // Whom the new authority does not know has no connection any more.
    stranger.equip(&served.installation, &["mem"]);
    reload("INFO zino.tls: reloaded");
    soft_memory(&unknown).await.unwrap();
    assert!(soft_memory(&known).await.is_err());
}

#[test]
fn a_caller_reads_its_certificate_again_on_sighup() {
    let authority = Authority::new();
    let served = served(&authority, "mem", "tls", "");
    let append = json!({
        "type": "append_history",
        "channel_id": "c",
        "messages": [{ "role": "user", "content": "remembered" }],
    });
    served.installation.ask_one(Memory, &append);
    let more = format!("{TLS}{}", peer("mem", "tls", &[served.port]));
    let near = Installation::new(NO_MODEL, &more);
    authority.equip_as(&near, &["ctx"], Validity::Expired);
    let process = near.start(Context);
    let build = json!({ "type": "build", "channel_id": "c", "user_message": "hello" });
    let context = || near.ask_one(Context, &build).to_string();
    assert!(!context().contains("remembered"));
    let log = process.log();
    assert!(
        log.contains("our certificate expired on 2021-01-01"),
        "{log}"
    );
    assert!(
        log.contains("refused our certificate: it has expired"),
        "{log}"
    );
    authority.equip(&near, &["ctx"]);
    process.signal(Signal::HUP);
    eventually("it is reloaded", || {
        process.log().contains("zino.tls: reloaded")
    });
    assert!(context().contains("remembered"), "{}", process.log());
}
