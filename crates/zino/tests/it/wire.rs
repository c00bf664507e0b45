//! Requests on the sockets of the real binary, and the files it leaves.

use std::fs;
use std::io::Write as _;
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::process::peak_resident_bytes;
use testkit::{ModelServer, Wire};
use zino::kind::ServiceKind::{
    self, AgentLoop, Context, Daemon, Executor, Memory, Router, SystemPrompt,
};

use crate::installation::{
    BINARY, Installation, Process, eventually, frame, frames, next_frame, text, with_length,
};

const UNREACHABLE: &str = "http://127.0.0.1:1/v1";

fn mode(installation: &Installation, name: &str) -> u32 {
    let metadata = fs::metadata(installation.path(name)).unwrap();
    metadata.permissions().mode() & 0o7777
}

fn error(frames: &[Value]) -> &str {
    assert_eq!(frames.len(), 1, "{frames:?}");
    assert_eq!(frames[0]["type"], "error", "{frames:?}");
    frames[0]["message"].as_str().unwrap()
}

#[test]
fn every_service_reports_invalid_frames() {
    let installation = Installation::new(UNREACHABLE, "wire.max_frame_bytes = 1000\n");
    let _process = installation.up();
    let long = vec![b' '; 1001];
    let cases: [(&str, Vec<u8>, &str); 8] = [
        (
            "over the limit",
            with_length(&long),
            "a frame of 1001 bytes is too long: the limit is 1000",
        ),
        (
            "only with_length",
            vec![0xff; 4],
            "a frame of 4294967295 bytes is too long: the limit is 1000",
        ),
        ("no body", vec![0; 4], "the request is no JSON object: "),
        (
            "broken JSON",
            with_length(b"{nope"),
            "the request is no JSON object: ",
        ),
        (
            "not an object",
            with_length(b"[1]"),
            "the request is no JSON object: ",
        ),
        (
            "not UTF-8",
            with_length(b"{\"type\":\"\xff\"}"),
            "the request is no JSON object: ",
        ),
        (
            "more than JSON",
            with_length(b"{} {}"),
            "the request is no JSON object: ",
        ),
        (
            "too deep",
            with_length("[".repeat(900).as_bytes()),
            "the request is no JSON object: ",
        ),
    ];
    for kind in ServiceKind::ALL {
        for (name, bytes, expected) in &cases {
            let response = installation.exchange(kind, bytes);
            let found = error(&response);
            assert!(
                found.starts_with(expected),
                "{} {name}: {found}",
                kind.name()
            );
        }
        // At the limit is not over it.
        let mut longest = br#"{"type":"ping"}"#.to_vec();
        longest.resize(1000, b' ');
        let pong = installation.exchange(kind, &with_length(&longest));
        assert_eq!(pong, [json!({ "type": "pong" })]);
    }
}

/// A client that cannot read while it writes still gets the response.
#[test]
fn a_frame_far_over_the_limit_gets_an_error() {
    let installation = Installation::new(UNREACHABLE, "wire.max_frame_bytes = 1000\n");
    let _process = installation.start(SystemPrompt);
    let response = installation.exchange(SystemPrompt, &with_length(&vec![b' '; 3_000_000]));
    assert_eq!(
        error(&response),
        "a frame of 3000000 bytes is too long: the limit is 1000"
    );
}

#[test]
fn an_unknown_type_is_rejected() {
    let installation = Installation::new(UNREACHABLE, "");
    let _process = installation.up();
    for kind in ServiceKind::ALL.into_iter().filter(|kind| *kind != Daemon) {
        let cases = [
            (json!({ "type": "frobnicate" }), "frobnicate"),
            (json!({}), "None"),
            (json!({ "type": null }), "None"),
            (json!({ "type": 5 }), "5"),
            (json!({ "type": true }), "True"),
        ];
        for (request, name) in cases {
            let response = installation.ask(kind, &request);
            assert_eq!(error(&response), format!("Unknown message type: {name}"));
        }
    }
}

/// Numbers as booleans, and lone surrogates, are accepted as in the original.
#[test]
fn values_python_accepts_are_accepted() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let _process = installation.up();
    let messages = r#"[{"role":"user","content":"say:1"}]"#;
    for (kind, request) in [
        (Daemon, r#"{"message":"say:1","stream":#}"#.to_owned()),
        (
            Router,
            format!(r#"{{"type":"infer","messages":{messages},"stream":#}}"#),
        ),
        (
            AgentLoop,
            format!(r#"{{"type":"run","messages":{messages},"stream":#}}"#),
        ),
    ] {
        for (number, last) in [("1", "done"), ("0", "re"), ("0.0", "re"), ("null", "re")] {
            let response =
                installation.exchange(kind, &with_length(request.replace('#', number).as_bytes()));
            let found = response.last().unwrap()["type"].as_str().unwrap();
            assert!(found.starts_with(last), "{kind:?} {number}: {response:?}");
        }
    }
    let store = br#"{"type":"append_history","channel_id":"s","messages":[{"role":"user","content":"a\ud800b"}]}"#;
    let response = installation.exchange(Memory, &with_length(store));
    assert_eq!(response, [json!({ "type": "ok" })]);
    let response =
        installation.ask_one(Memory, &json!({ "type": "get_history", "channel_id": "s" }));
    assert_eq!(response["messages"][0]["content"], "a\u{fffd}b");
}

/// Requests, and their fields that do not accept every value.
fn requests() -> Vec<(ServiceKind, Value, &'static [&'static str])> {
    vec![
        (
            Daemon,
            json!({ "message": "hi", "channel_id": "c", "stream": true }),
            &["message"],
        ),
        (
            Router,
            json!({ "type": "infer", "messages": [], "temperature": 1, "top_p": 1, "stream": true }),
            &["messages", "temperature", "top_p", "stream"],
        ),
        (
            AgentLoop,
            json!({ "type": "run", "messages": [], "max_iterations": 1, "stream": true }),
            &["messages", "max_iterations", "stream"],
        ),
        (
            SystemPrompt,
            json!({ "type": "set_soft_memory", "content": "" }),
            &["content"],
        ),
        (
            Executor,
            json!({ "type": "execute", "executor": "bash", "code": "" }),
            &["executor", "code"],
        ),
        (
            Executor,
            json!({ "type": "validate", "executor": "bash", "code": "" }),
            &["executor", "code"],
        ),
        (
            Context,
            json!({ "type": "build", "user_message": "", "channel_id": "" }),
            &["user_message", "channel_id"],
        ),
        (
            Memory,
            json!({ "type": "get_history", "channel_id": "c", "limit": 1 }),
            &["channel_id", "limit"],
        ),
        (
            Memory,
            json!({ "type": "append_history", "channel_id": "c", "messages": [] }),
            &["channel_id", "messages"],
        ),
        (
            Memory,
            json!({ "type": "clear_history", "channel_id": "c" }),
            &["channel_id"],
        ),
        (
            Memory,
            json!({ "type": "search_hard", "query": "", "top_k": 1 }),
            &["query", "top_k"],
        ),
        (
            Memory,
            json!({ "type": "store_hard", "messages": [], "tag": "" }),
            &["messages", "tag"],
        ),
        (Memory, json!({ "type": "delete_hard", "id": 1 }), &["id"]),
        (
            Memory,
            json!({ "type": "set_soft", "content": "" }),
            &["content"],
        ),
        (
            Memory,
            json!({ "type": "append_history", "channel_id": "c", "messages": [{ "role": "user", "content": 5 }] }),
            &[],
        ),
        (
            Memory,
            json!({ "type": "store_hard", "messages": [{ "role": 5, "content": "x" }] }),
            &[],
        ),
    ]
}

/// Whether a value of another type is accepted because Python would; see `crate::original`.
fn is_accepted(kind: ServiceKind, field: &str, value: &Value) -> bool {
    let is_number = value.is_boolean() || value.is_number();
    match field {
        "stream" => true,
        "temperature" | "top_p" | "max_iterations" | "limit" | "top_k" | "id" => is_number,
        "channel_id" if matches!(kind, Daemon | Context) => true,
        "executor" => is_number || value.is_string(),
        "tag" => value.is_number() || value.is_string(),
        "messages" => kind == AgentLoop && value.is_array(),
        _ => value.is_string(),
    }
}

#[test]
fn fields_of_the_wrong_type_are_rejected() {
    let installation = Installation::new(UNREACHABLE, "");
    let _process = installation.up();
    let wrong = [
        json!({ "a": 1 }),
        json!([{}, [], 5]),
        json!(true),
        json!("x"),
        json!(1.5),
    ];
    for (kind, request, fields) in requests() {
        for field in fields {
            for value in wrong
                .iter()
                .filter(|value| !is_accepted(kind, field, value))
            {
                let mut request = request.clone();
                request[field] = value.clone();
                let response = installation.ask(kind, &request);
                let found = error(&response);
                assert!(found.contains(field), "{} {request}: {found}", kind.name());
            }
        }
        if fields.is_empty() {
            let response = installation.ask(kind, &request);
            assert!(error(&response).contains("messages[0]"), "{response:?}");
        }
    }
    // Nothing was stored, and every service still responds.
    let history =
        installation.ask_one(Memory, &json!({ "type": "get_history", "channel_id": "c" }));
    assert_eq!(history["messages"], json!([]));
    assert!(installation.run(&["status"]).status.success());
}

#[test]
fn one_request_a_connection() {
    let installation = Installation::new(UNREACHABLE, "");
    let _process = installation.start(SystemPrompt);
    let ping = frame(&json!({ "type": "ping" }));
    let pong = [json!({ "type": "pong" })];
    assert_eq!(installation.exchange(SystemPrompt, &ping.repeat(2)), pong);
    assert_eq!(
        installation.exchange(SystemPrompt, &ping.repeat(50_000)),
        pong
    );
    // A byte at a time.
    let mut slow = installation.connect(SystemPrompt);
    for byte in &ping {
        slow.write_all(&[*byte]).unwrap();
    }
    assert_eq!(frames(slow), pong);
    // A client that has closed its sending half still gets the response.
    let mut half = installation.connect(SystemPrompt);
    half.write_all(&ping).unwrap();
    half.shutdown(Shutdown::Write).unwrap();
    assert_eq!(frames(half), pong);
}

#[test]
fn an_incomplete_request() {
    let installation = Installation::new(UNREACHABLE, "");
    let process = installation.start(SystemPrompt);
    for (sent, expected) in [
        (&b""[..], None),
        (b"\0\0", Some("the request ended too early")),
        (b"\0\0\0\x05{", Some("the request ended too early")),
    ] {
        let mut stream = installation.connect(SystemPrompt);
        stream.write_all(sent).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let found = frames(stream);
        match expected {
            Some(message) => assert_eq!(error(&found), message),
            None => assert_eq!(found, Vec::<Value>::new()),
        }
    }
    // Others are served while one stalls.
    let mut stalled = installation.connect(SystemPrompt);
    stalled.write_all(b"\0\0\0\x0f{").unwrap();
    let pong = installation.ask_one(SystemPrompt, &json!({ "type": "ping" }));
    assert_eq!(pong["type"], "pong");
    drop(stalled);
    assert!(!process.log().contains("panic"), "{}", process.log());
}

/// Memory is not reserved ahead of what has arrived.
#[test]
#[cfg(target_os = "linux")]
fn announced_lengths_reserve_no_memory() {
    let installation = Installation::new(UNREACHABLE, "wire.max_frame_bytes = 4294967295\n");
    let process = installation.start(SystemPrompt);
    installation.ask_one(SystemPrompt, &json!({ "type": "get" }));
    let before = peak_resident_bytes(process.id()).unwrap();
    let announce = || {
        let mut stream = installation.connect(SystemPrompt);
        stream.write_all(&[0xff; 4]).unwrap();
        stream.write_all(&[b' '; 1000]).unwrap();
        stream
    };
    let streams: Vec<UnixStream> = (0..256).map(|_| announce()).collect();
    let pong = installation.ask_one(SystemPrompt, &json!({ "type": "ping" }));
    assert_eq!(pong["type"], "pong");
    let grown = peak_resident_bytes(process.id()).unwrap() - before;
    // A read buffer for each, and what else a connection needs.
    assert!(
        grown < 256 * 64 * 1024,
        "{grown} bytes for {} connections",
        streams.len()
    );
}

#[test]
fn sockets_are_accessible_to_owner_and_group_only() {
    let installation = Installation::new(UNREACHABLE, "");
    for mask in ["000", "022", "077"] {
        let script = format!("umask {mask}; exec \"$0\" up");
        let mut command = installation.program(Path::new("/bin/sh"), &["-c", &script]);
        command.arg(BINARY);
        let mut process = installation.spawn(command, "up");
        for kind in ServiceKind::ALL {
            eventually("it listens", || {
                UnixStream::connect(installation.socket(kind)).is_ok()
            });
            let name = format!("run/{}.sock", kind.name());
            eventually("its mode is set", || mode(&installation, &name) == 0o660);
        }
        assert_eq!(mode(&installation, "run"), 0o750, "umask {mask}");
        process.signal(Signal::TERM);
        assert!(process.wait().success());
        // Empty, or this fails.
        fs::remove_dir(installation.path("run")).unwrap();
    }
}

#[test]
fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
    let installation = Installation::new(UNREACHABLE, "");
    fs::create_dir(installation.path("run")).unwrap();
    drop(UnixListener::bind(installation.socket(SystemPrompt)).unwrap());
    let live = installation.spawn(installation.command(&["sys"]), "sys");
    eventually("the stale socket is replaced", || {
        UnixStream::connect(installation.socket(SystemPrompt)).is_ok()
    });
    for arguments in [&["sys"][..], &["up"]] {
        let second = installation.run(arguments);
        assert_eq!(second.status.code(), Some(1));
        let message = text(&second.stderr);
        assert!(
            message.contains("run/sys.sock is already served"),
            "{message}"
        );
    }
    // The processes that failed left no socket and did not remove the live one.
    let left = fs::read_dir(installation.path("run")).unwrap().count();
    assert_eq!(left, 1);
    let pong = installation.ask_one(SystemPrompt, &json!({ "type": "ping" }));
    assert_eq!(pong["type"], "pong", "{}", live.log());
}

/// When many processes start where one was killed, exactly one serves.
#[test]
fn of_many_processes_that_start_one_serves() {
    let installation = Installation::new(UNREACHABLE, "");
    for _ in 0..5 {
        fs::create_dir_all(installation.path("run")).unwrap();
        drop(UnixListener::bind(installation.socket(SystemPrompt)).unwrap());
        let begin = || installation.spawn(installation.command(&["sys"]), "many");
        let mut processes: Vec<Process> = (0..6).map(|_| begin()).collect();
        eventually("the others have ended", || {
            let running = processes.iter();
            running
                .filter(|one| testkit::process::is_running(one.id()))
                .count()
                <= 1
        });
        let pong = installation.ask_one(SystemPrompt, &json!({ "type": "ping" }));
        assert_eq!(pong["type"], "pong");
        let serving = processes.iter();
        let serving: Vec<usize> = serving
            .enumerate()
            .filter(|(_, one)| testkit::process::is_running(one.id()))
            .map(|(index, _)| index)
            .collect();
        assert_eq!(serving.len(), 1);
        let mut last = processes.remove(serving[0]);
        last.signal(Signal::TERM);
        assert!(last.wait().success());
        assert!(processes.iter_mut().all(|one| one.wait().code() == Some(1)));
    }
}

#[test]
fn a_file_at_the_path_of_the_socket_is_not_touched() {
    let installation = Installation::new(UNREACHABLE, "");
    fs::create_dir(installation.path("run")).unwrap();
    fs::write(installation.socket(SystemPrompt), "precious").unwrap();
    let output = installation.run(&["sys"]);
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(
        message.contains("run/sys.sock exists and is not a socket"),
        "{message}"
    );
    let kept = fs::read_to_string(installation.socket(SystemPrompt)).unwrap();
    assert_eq!(kept, "precious");
}

#[test]
fn running_requests_finish_when_the_service_is_asked_to_stop() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let mut process = installation.up();
    let code = "echo begun; touch running; sleep 0.5; echo finished";
    let run = json!({ "type": "execute", "executor": "bash", "code": code });
    let running = installation.begin(Executor, &run);
    eventually("the program runs", || installation.path("running").exists());
    process.signal(Signal::TERM);
    eventually("the sockets are gone", || {
        !installation.socket(Executor).exists()
    });
    assert!(UnixStream::connect(installation.socket(Executor)).is_err());
    let response = frames(running);
    assert_eq!(response[0]["stdout"], "begun\nfinished\n");
    assert!(process.wait().success());
}

/// A client that has sent nothing is not waited for.
#[test]
fn an_idle_connection_does_not_delay_the_end() {
    let installation = Installation::new(UNREACHABLE, "[wire]\ndrain_timeout = 60\n");
    let mut process = installation.start(SystemPrompt);
    let idle = installation.connect(SystemPrompt);
    // Accepted in order, so the idle one is by now.
    installation.ask_one(SystemPrompt, &json!({ "type": "ping" }));
    let asked = Instant::now();
    process.signal(Signal::TERM);
    assert!(process.wait().success());
    assert!(
        asked.elapsed() < Duration::from_secs(20),
        "{:?}",
        asked.elapsed()
    );
    assert_eq!(frames(idle), Vec::<Value>::new());
}

/// A request that does not finish in time ends with the service.
#[tokio::test]
async fn an_endless_request_does_not_keep_the_service_alive() {
    let mut stack = crate::stack::Stack::new(UNREACHABLE, "");
    stack.config.exc.timeout = 60.0;
    let stack = stack.with_executor();
    let mark = stack.path("running");
    let code = format!("echo $$ >{0}.new; mv {0}.new {0}; sleep 60", mark.display());
    let run = json!({ "type": "execute", "executor": "bash", "code": code });
    let _running = stack
        .begin::<zot_wire::zino::executor::Request>(Executor, run)
        .await;
    crate::stack::until("the program runs", || mark.exists()).await;
    let program = fs::read_to_string(&mark).unwrap().trim().parse().unwrap();
    assert!(testkit::process::is_running(program));
    let asked = Instant::now();
    stack.end().await;
    assert!(
        asked.elapsed() < Duration::from_secs(10),
        "{:?}",
        asked.elapsed()
    );
    crate::stack::until("the program is gone", || {
        !testkit::process::is_running(program)
    })
    .await;
}

#[test]
fn a_hangup_signal_reloads_everything() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let process = installation.up();
    fs::write(
        installation.path("SYSTEM.md"),
        "new %%TOOL_LIST%% %%SKILL_LINES%%",
    )
    .unwrap();
    fs::write(
        installation.path("tools/sh.json"),
        r#"{"meta": {"executor": "sh"}}"#,
    )
    .unwrap();
    let skill = json!({
        "meta": { "executor": "sh" },
        "fabricator": [{ "role": "user", "content": "a new example" }],
    });
    fs::write(installation.path("skills/sh.json"), skill.to_string()).unwrap();
    process.signal(Signal::HUP);
    let get = json!({ "type": "get" });
    eventually("the prompt is new", || {
        let prompt = installation.ask_one(SystemPrompt, &get);
        prompt["content"]
            .as_str()
            .unwrap()
            .starts_with("new   - \"execute_bash\"")
    });
    let prompt = installation.ask_one(SystemPrompt, &get);
    assert!(
        prompt["content"].as_str().unwrap().contains("execute_sh"),
        "{prompt}"
    );
    eventually("the others have reloaded", || {
        process.log().matches("reloaded").count() == 7
    });
    let context = installation.ask_one(Context, &json!({ "type": "build", "user_message": "x" }));
    assert!(context.to_string().contains("a new example"), "{context}");
    let capabilities = installation.ask_one(Executor, &json!({ "type": "capabilities" }));
    assert_eq!(capabilities["executors"]["sh"]["command"], "sh");
    let call = json!({ "name": "execute_sh", "arguments": { "code": "echo from sh" } });
    let message = format!("raw:<tool_call>{call}</tool_call>");
    let response = installation.ask(Daemon, &json!({ "message": message, "stream": true }));
    assert!(
        response[0]["delta"].as_str().unwrap().contains("from sh"),
        "{response:?}"
    );
    // A file that cannot be read leaves the previous state.
    fs::remove_file(installation.path("SYSTEM.md")).unwrap();
    process.signal(Signal::HUP);
    eventually("the failure is reported", || {
        process.log().contains("not reloaded")
    });
    assert_eq!(installation.ask_one(SystemPrompt, &get), prompt);
}

/// A killed process leaves sockets behind; the next one starts anyway.
#[test]
fn killed_and_started_again() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let ask = json!({ "message": "say:2", "channel_id": "kept" });
    let mut process = installation.up();
    assert_eq!(installation.ask_one(Daemon, &ask)["content"], "alpha beta ");
    process.signal(Signal::KILL);
    process.wait();
    let left = fs::symlink_metadata(installation.socket(Daemon)).unwrap();
    assert!(left.file_type().is_socket());
    let _again = installation.up();
    assert_eq!(installation.ask_one(Daemon, &ask)["content"], "alpha beta ");
    let history = json!({ "type": "get_history", "channel_id": "kept" });
    let history = installation.ask_one(Memory, &history);
    assert_eq!(history["messages"].as_array().unwrap().len(), 4);
}

#[test]
fn a_stream_is_forwarded_as_it_arrives() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let _processes = installation.start_all_but(&[]);
    let ask = json!({ "message": "hangmid", "stream": true });
    let mut stream = installation.begin(Daemon, &ask);
    let first = next_frame(&mut stream).unwrap();
    assert_eq!(first["type"], "chunk");
    assert_eq!(model.responses_in_progress(), 1);
}

/// A peer that stalls finally gets an error. The paused clock advances while all tasks are idle.
#[tokio::test(start_paused = true)]
async fn a_stalled_request_gets_an_error() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let stack = crate::stack::Stack::new(UNREACHABLE, "").with_router();
    let socket = stack.config.socket(Router);
    let mut stream = tokio::net::UnixStream::connect(socket).await.unwrap();
    stream.write_all(b"\0\0\0\x10{").await.unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).await.unwrap();
    let response: Value = serde_json::from_slice(&received[4..]).unwrap();
    assert_eq!(response["message"], "the request did not arrive in time");
    drop(stream);
    stack.end().await;
}
