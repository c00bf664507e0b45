//! Talks to the extension as zot does.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{json, Value};

struct Talk {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    registered: Vec<Value>,
}

impl Talk {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_{{package}}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut talk = Talk { child, input, output, registered: Vec::new() };
        while talk.registered.last().map_or(true, |frame| frame["type"] != "ready") {
            let frame = talk.receive();
            talk.registered.push(frame);
        }
        talk
    }

    fn receive(&mut self) -> Value {
        let line = self.output.next().expect("the extension has ended").unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn send(&mut self, frame: Value) {
        writeln!(self.input, "{frame}").unwrap();
    }

    fn ask(&mut self, frame: Value) -> Value {
        self.send(frame);
        self.receive()
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn says_hello_first() {
    let talk = Talk::start();
    assert_eq!(talk.registered[0]["type"], "hello");
    assert_eq!(talk.registered[0]["name"], "{{name}}");
}

#[test]
fn answers_the_command() {
    let mut talk = Talk::start();
    talk.send(json!({"type": "of_a_later_version"}));
    let answer = talk.ask(json!({"type": "command_invoked", "id": "1", "name": "{{word}}", "args": "Ada"}));
    assert_eq!(answer["id"], "1");
    assert_eq!(answer["display"], "Hello, Ada!");
}

#[test]
fn answers_the_tool() {
    let mut talk = Talk::start();
    let call = |args| json!({"type": "tool_call", "id": "2", "name": "{{word}}_greet", "args": args});
    let answer = talk.ask(call(json!({"name": "Ada"})));
    assert_eq!(answer["content"], json!([{"type": "text", "text": "Hello, Ada!"}]));
    assert_eq!(talk.ask(call(json!({})))["is_error"], true);
}

#[test]
fn ends_when_told_to() {
    let mut talk = Talk::start();
    assert_eq!(talk.ask(json!({"type": "shutdown"})), json!({"type": "shutdown_ack"}));
    assert!(talk.child.wait().unwrap().success());
}
