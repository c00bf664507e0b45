//! The examples as separate processes, over real pipes.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use zot_ext::{Value, json};

/// More than the slowest machine needs.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long zot waits for an extension to end.
const SHUTDOWN_TIME: Duration = Duration::from_secs(2);

/// `cargo test` builds the examples and puts them beside the directory of the tests.
fn example(name: &str) -> Command {
    let test = std::env::current_exe().expect("has a path");
    let profile = test
        .ancestors()
        .nth(2)
        .expect("is in target/<profile>/deps");
    let path: PathBuf = profile.join("examples").join(name);
    assert!(
        path.exists(),
        "run `cargo build -p zot-ext --examples` first: {path:?}"
    );
    Command::new(path)
}

struct Process {
    child: Child,
    input: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
}

impl Process {
    fn start(name: &str) -> Self {
        let mut child = example(name)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let output = BufReader::new(child.stdout.take().expect("is piped"));
        let (sender, lines) = mpsc::sync_channel(100);
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take();
        Self {
            child,
            input,
            lines,
        }
    }

    fn send(&mut self, frame: &Value) {
        let input = self.input.as_mut().expect("is open");
        writeln!(input, "{frame}").expect("is read");
    }

    fn next(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("says something");
        serde_json::from_str(&line).expect("says JSON and nothing else")
    }

    fn next_of(&self, kind: &str) -> Value {
        loop {
            let frame = self.next();
            if frame["type"] == kind {
                return frame;
            }
        }
    }

    fn wait(&mut self) -> (ExitStatus, Duration) {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("is our child") {
                return (status, started.elapsed());
            }
            assert!(started.elapsed() < PATIENCE, "does not end");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn log(&mut self) -> String {
        let mut log = String::new();
        let errors = self.child.stderr.as_mut().expect("is piped");
        errors.read_to_string(&mut log).expect("is text");
        log
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn hello_says_hello_and_goodbye() {
    let mut hello = Process::start("hello");
    let expected = [
        json!({"type": "hello", "name": "hello", "version": "1.0.0", "capabilities": ["commands"]}),
        json!({"type": "register_command", "name": "hello", "description": "say hi"}),
        json!({"type": "ready"}),
    ];
    assert_eq!([hello.next(), hello.next(), hello.next()], expected);
    hello.send(&json!({"type": "hello_ack", "protocol_version": 1}));
    hello.send(&json!({"type": "command_invoked", "id": "7", "name": "hello", "args": ""}));
    assert_eq!(
        hello.next(),
        json!({
            "type": "command_response", "id": "7", "action": "prompt",
            "prompt": "Greet me in one short sentence.",
        })
    );
    hello.send(&json!({"type": "shutdown"}));
    assert_eq!(hello.next(), json!({"type": "shutdown_ack"}));
    let (status, time) = hello.wait();
    assert!(status.success(), "{status}");
    assert!(time < SHUTDOWN_TIME, "{time:?}");
    assert!(hello.lines.recv().is_err(), "nothing follows");
    assert_eq!(hello.log(), "");
}

#[test]
fn weather_tells_the_weather() {
    let mut weather = Process::start("weather");
    let tool = weather.next_of("register_tool");
    assert_eq!(
        tool["schema"]["properties"]["city"]["description"],
        "Which city"
    );
    weather.send(
        &json!({"type": "tool_call", "id": "1", "name": "weather", "args": {"city": "Bonn"}}),
    );
    assert_eq!(
        weather.next_of("tool_result")["content"][0]["text"],
        "Bonn: sunny"
    );
    weather.send(&json!({"type": "tool_call", "id": "2", "name": "weather", "args": {"city": []}}));
    let wrong = weather.next();
    assert_eq!(wrong["is_error"], true);
    assert!(
        wrong["content"][0]["text"]
            .as_str()
            .expect("a text")
            .contains("city"),
        "{wrong}"
    );
    // zot died.
    weather.input = None;
    let (status, _) = weather.wait();
    assert!(status.success(), "{status}");
}

#[test]
fn what_is_printed_goes_to_the_log() {
    let mut noisy = Process::start("noisy");
    noisy.next_of("ready");
    noisy.send(&json!({"type": "command_invoked", "id": "1", "name": "print", "args": "this"}));
    assert_eq!(noisy.next()["display"], "this");
    noisy.send(&json!({"type": "command_invoked", "id": "2", "name": "child"}));
    // Without precautions the child would consume it.
    noisy.send(&json!({"type": "command_invoked", "id": "3", "name": "print", "args": "that"}));
    assert_eq!(noisy.next()["display"], "exit status: 0");
    assert_eq!(noisy.next()["display"], "that");
    noisy.send(&json!({"type": "shutdown"}));
    assert_eq!(noisy.next()["type"], "shutdown_ack");
    noisy.wait();
    assert_eq!(noisy.log(), "printed this\nfrom the child\nprinted that\n");
}

#[test]
fn a_stuck_thread_does_not_keep_the_process() {
    let mut noisy = Process::start("noisy");
    noisy.send(&json!({"type": "tool_call", "id": "1", "name": "stuck", "args": {}}));
    // The answer shows that the call before it has been started.
    noisy.send(&json!({"type": "command_invoked", "id": "2", "name": "print"}));
    noisy.next_of("command_response");
    noisy.send(&json!({"type": "shutdown"}));
    assert_eq!(noisy.next()["type"], "shutdown_ack");
    let (status, time) = noisy.wait();
    assert!(status.success(), "{status}");
    assert!(time < SHUTDOWN_TIME, "{time:?}");
}

#[test]
fn a_host_that_closed_the_output_ends_it() {
    let mut child = example("noisy")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    drop(child.stdout.take());
    let input = child.stdin.take();
    let mut process = Process {
        child,
        input,
        lines: mpsc::sync_channel(1).1,
    };
    // It notices when it writes, and may have written its introduction before.
    let frame = json!({"type": "command_invoked", "id": "1", "name": "print"});
    if let Some(input) = &mut process.input {
        let _ = writeln!(input, "{frame}");
    }
    let (status, _) = process.wait();
    assert!(status.success(), "{status}");
}

#[test]
fn files_and_sockets_are_streams_as_well() {
    let request = format!(
        "{}\n",
        json!({"type": "command_invoked", "id": "1", "name": "hello"})
    );
    let mut input = tempfile::tempfile().expect("can be made");
    input.write_all(request.as_bytes()).expect("is written");
    input.rewind().expect("is a file");
    let mut output: File = tempfile::tempfile().expect("can be made");
    let child = example("hello")
        .stdin(input)
        .stdout(output.try_clone().expect("can be shared"))
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let mut process = Process {
        child,
        input: None,
        lines: mpsc::sync_channel(1).1,
    };
    assert!(process.wait().0.success());
    let mut written = String::new();
    output.rewind().expect("is a file");
    output.read_to_string(&mut written).expect("is text");
    assert!(written.contains("Greet me"), "{written}");

    // As node connects its children.
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().expect("can be made");
    let theirs = std::os::fd::OwnedFd::from(theirs);
    let child = example("hello")
        .stdin(theirs.try_clone().expect("can be shared"))
        .stdout(theirs)
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let mut process = Process {
        child,
        input: None,
        lines: mpsc::sync_channel(1).1,
    };
    (&ours).write_all(request.as_bytes()).expect("is read");
    ours.set_read_timeout(Some(PATIENCE)).expect("is a socket");
    let mut lines = BufReader::new(&ours).lines();
    let greeting = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("Greet me")));
    assert!(greeting.is_some());
    ours.shutdown(std::net::Shutdown::Write).expect("is open");
    assert!(process.wait().0.success());
}

#[test]
fn a_mistake_is_reported_and_fails() {
    let output = example("noisy")
        .arg("--mistake")
        .stdin(Stdio::null())
        .output()
        .expect("starts");
    assert_eq!(output.status.code(), Some(1));
    let log = String::from_utf8(output.stderr).expect("is text");
    assert!(log.contains("cannot start: hold_text needs"), "{log}");
    assert!(output.stdout.is_empty());
}
