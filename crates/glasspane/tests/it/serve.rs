use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::{fixture, glasspane, stderr};

/// A server with its own socket; killed if a test fails.
struct Served {
    process: Child,
    directory: TempDir,
    /// `127.0.0.1:4711`.
    address: String,
    token: String,
}

impl Served {
    fn start(arguments: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", arguments)
    }

    fn start_at(address: &str, arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        // In a private directory that the server creates.
        let socket = directory.path().join("own/agents.sock");
        let mut process = glasspane(&["serve", "--listen", address, "--socket"])
            .arg(&socket)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let (address, token) = line
            .trim_end()
            .strip_prefix("http://")
            .and_then(|rest| rest.split_once("/?token="))
            .unwrap();
        Self {
            address: address.to_owned(),
            token: token.to_owned(),
            process,
            directory,
        }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let token = &self.token;
        write!(
            stream,
            "GET {path}?token={token} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.address
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    fn wait_for(&self, words: &str) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let response = self.get("/snapshot");
            if response.contains(words) {
                return;
            }
            assert!(Instant::now() < deadline, "never {words}: {response}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends the server and returns its standard error.
    fn end(mut self) -> String {
        let id = Pid::from_child(&self.process);
        kill_process(id, Signal::TERM).unwrap();
        assert!(self.process.wait().unwrap().success());
        let mut words = String::new();
        let mut errors = self.process.stderr.take().unwrap();
        errors.read_to_string(&mut words).unwrap();
        words
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn agents_attach_by_file_command_and_socket() {
    let file = fixture("pi-json.jsonl");
    let served = Served::start(&[
        "--file",
        &file,
        "--run",
        "started=echo '{\"type\":\"turn_start\",\"step\":1}'; sleep 60",
    ]);
    served.wait_for("\"label\":\"pi-json.jsonl\"");
    served.wait_for("\"label\":\"started\"");
    let mut agent = UnixStream::connect(served.directory.path().join("own/agents.sock")).unwrap();
    agent
        .write_all(b"{\"glasspane\":\"attach\",\"label\":\"attached\"}\n")
        .unwrap();
    served.wait_for("\"label\":\"attached\"");
    let words = served.end();
    assert!(words.contains("agents attach to "), "{words}");
    assert!(!words.contains("warning"), "{words}");
}

#[test]
fn top_shows_running_tools_and_approvals_of_a_server() {
    let served = Served::start(&[]);
    let socket = served.directory.path().join("own/agents.sock");
    let send = |label: &str, lines: &[&str]| {
        let mut agent = UnixStream::connect(&socket).unwrap();
        let hello = format!(r#"{{"glasspane":"attach","label":"{label}","source":"zot"}}"#);
        let text = [&[hello.as_str()], lines].concat().join("\n") + "\n";
        agent.write_all(text.as_bytes()).unwrap();
        agent
    };
    let content = "x".repeat(100_000);
    let _working = send(
        "working",
        &[
            r#"{"type":"turn_start","step":1}"#,
            r#"{"type":"tool_use_start","id":"c1","name":"write"}"#,
            &format!(
                r#"{{"type":"tool_call","id":"c1","name":"write","args":{{"content":"{content}","path":"notes.txt"}}}}"#
            ),
        ],
    );
    let _waiting = send(
        "waiting",
        &[
            r#"{"type":"turn_start","step":1}"#,
            r#"{"type":"tool_use_start","id":"c1","name":"bash"}"#,
            r#"{"type":"tool_confirm","id":"c1","name":"bash","args":{"command":"rm -r build"}}"#,
        ],
    );
    served.wait_for("\"summary\":\"rm -r build\"");
    served.wait_for("\"summary\":\"notes.txt  content=xxx");
    let output = glasspane(&["top", "--connect"])
        .arg(&socket)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    // Waiting agents come first.
    assert!(lines[2].starts_with("waiting "), "{text}");
    assert!(lines[2].ends_with("bash: rm -r build"), "{text}");
    assert!(lines[3].contains("running write") && lines[3].contains("notes.txt  content=xxx"));
}

#[test]
fn a_command_that_cannot_be_started_is_reported_and_the_page_stays() {
    let mut served = Served::start(&["--", "/no/such/program"]);
    let mut line = String::new();
    let mut errors = BufReader::new(served.process.stderr.take().unwrap());
    while !line.contains("cannot start program") {
        line.clear();
        assert!(errors.read_line(&mut line).unwrap() > 0);
    }
    assert!(served.get("/").starts_with("HTTP/1.1 200 OK"));
}

#[test]
fn a_public_address_yields_a_warning() {
    let served = Served::start_at("0.0.0.0:0", &[]);
    let words = served.end();
    assert!(
        words.contains("warning: 0.0.0.0:0 can be reached from other machines"),
        "{words}"
    );
}

#[test]
fn errors_at_startup_are_reported() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = glasspane(&["serve", "--listen", &address])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--listen"), "{}", stderr(&output));

    let output = glasspane(&["serve", "--replay", "/no/such/log"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));

    let directory = tempfile::tempdir().unwrap();
    let token = directory.path().join("token");
    fs::write(&token, "known to all").unwrap();
    let output = glasspane(&["serve", "--token-file"])
        .arg(&token)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("chmod 600"), "{}", stderr(&output));
}
