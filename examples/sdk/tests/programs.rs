//! Runs every example as its README says, over real pipes and sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};

fn run(program: &str, arguments: &[&str], input: &str) -> Output {
    let home = tempfile::tempdir().unwrap();
    let mut child = Command::new(program)
        .args(arguments)
        .env("ZOT_HOME", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Those that read nothing may be gone already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn minimal_answers() {
    let output = run(env!("CARGO_BIN_EXE_minimal"), &["run: echo four"], "");
    assert!(said(&output).contains("four"), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("[bash {"),
        "{output:?}"
    );
}

#[test]
fn custom_tools_are_called_and_there_are_no_others() {
    let program = env!("CARGO_BIN_EXE_custom_tool");
    let output = run(
        program,
        &[r#"call distance {"from": "Bonn", "to": "Berlin"}"#],
        "",
    );
    assert!(said(&output).contains("478 km"), "{output:?}");
    let output = run(program, &[r#"call distance {"from": "Bonn"}"#], "");
    assert!(said(&output).contains("missing field `to`"), "{output:?}");
    let output = run(program, &[r#"call add_note {"text": "milk"}"#], "");
    assert!(
        said(&output).contains("there are 1 notes now"),
        "{output:?}"
    );
    let output = run(program, &["run: echo no"], "");
    assert!(said(&output).contains("not available here"), "{output:?}");
}

#[test]
fn approval_asks_and_the_policy_has_the_last_word() {
    let program = env!("CARGO_BIN_EXE_approval");
    let output = run(program, &["run: echo allowed"], "y\n");
    assert!(said(&output).contains("exit code 0"), "{output:?}");
    let output = run(program, &["run: echo refused"], "n\n");
    assert!(said(&output).contains("the user said no"), "{output:?}");
    let output = run(program, &["run: sudo ls"], "y\n");
    assert!(said(&output).contains("never runs sudo"), "{output:?}");
}

#[test]
fn many_agents_answer() {
    let output = run(env!("CARGO_BIN_EXE_many_agents"), &["50"], "");
    assert!(
        said(&output).starts_with("50 agents answered"),
        "{output:?}"
    );
    assert!(
        said(&output).ends_with("100 messages are kept\n"),
        "{output:?}"
    );
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_web_page_reads_the_events_of_the_pipe() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("note.txt"), "seventeen\n").unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_web_page"))
        .env("ZOT_HOME", home.path())
        .current_dir(home.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut address)
        .unwrap();
    let _server = Server(child);
    let address = address
        .trim()
        .trim_start_matches("http://")
        .trim_end_matches('/');
    let get = |path: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(get("/").contains("<title>An agent in a page</title>"));
    let events = get("/ask?q=read%20note.txt");
    assert!(
        events.contains("data: {\"type\":\"turn_start\",\"step\":1}\n\n"),
        "{events}"
    );
    assert!(events.contains("seventeen"), "{events}");
    assert!(
        events.ends_with("data: {\"type\":\"done\"}\n\n"),
        "{events}"
    );
}
