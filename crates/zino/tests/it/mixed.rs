//! Stacks in which one service, or the caller, is not ours.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{ModelServer, Wire};
use zino::kind::ServiceKind::{
    self, AgentLoop, Context, Daemon, Executor, Memory, Router, SystemPrompt,
};

use crate::installation::{Installation, Process, frames, text};
use crate::stack::TEST_TIMEOUT;

/// Starts all our services but one, and a stand-in for that one, which comes first.
fn with_stand_in(installation: &Installation, kind: ServiceKind) -> Vec<Process> {
    let mut processes = vec![installation.stand_in(kind)];
    processes.extend(installation.start_all_but(&[kind]));
    processes
}

fn requests_to(stand_in: &Process) -> Vec<Value> {
    let log = stand_in.log();
    let lines = log.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn message(text: &str, stream: bool) -> Value {
    json!({ "message": text, "channel_id": "c", "stream": stream })
}

fn history(installation: &Installation) -> Value {
    let request = json!({ "type": "get_history", "channel_id": "c" });
    installation.ask_one(Memory, &request)["messages"].clone()
}

#[test]
fn with_a_foreign_router() {
    let installation = Installation::new("http://127.0.0.1:1/v1", "");
    let _processes = with_stand_in(&installation, Router);
    let response = installation.ask(Daemon, &message("hello", false));
    assert_eq!(
        response,
        [json!({ "type": "response", "content": "You said ✓ hello" })]
    );
    let response = installation.ask(Daemon, &message("use a tool", true));
    let deltas = response.iter().filter_map(|frame| frame["delta"].as_str());
    assert_eq!(
        deltas.collect::<String>(),
        "Look: \n<tool_response>\n42\n\n</tool_response>\nIt says 42"
    );
    let last = json!({ "type": "done", "full_text": "It says 42", "iterations": 2 });
    assert_eq!(response.last(), Some(&last));
}

#[test]
fn with_a_foreign_loop() {
    let installation = Installation::new("http://127.0.0.1:1/v1", "");
    let processes = with_stand_in(&installation, AgentLoop);
    let expected = json!({ "type": "response", "content": "agr read 6 messages" });
    assert_eq!(
        installation.ask(Daemon, &message("hello", false)),
        [expected]
    );
    let response = installation.ask(Daemon, &message("hello", true));
    let expected = [
        json!({ "type": "chunk", "delta": "agr read 8 messages" }),
        json!({ "type": "done", "full_text": "agr read 8 messages", "iterations": 1 }),
    ];
    assert_eq!(response, expected);
    let stored = history(&installation);
    // Its errors are forwarded once, and an unfinished response is not stored.
    let response = installation.ask(Daemon, &message("fail", true));
    assert_eq!(
        response,
        [json!({ "type": "error", "message": "agr is unwell" })]
    );
    let response = installation.ask(Daemon, &message("break off", true));
    assert_eq!(response.len(), 2, "{response:?}");
    assert_eq!(response[0]["delta"], "half");
    assert_eq!(response[1]["type"], "error");
    assert_eq!(history(&installation), stored);
    // It receives every field that the original sends.
    let request = &requests_to(&processes[0])[0];
    assert_eq!(request["type"], "run");
    assert_eq!(request["temperature"], 0.7);
    assert_eq!(request["top_p"], 1.0);
    assert_eq!(request["max_iterations"], 5);
    assert_eq!(request["stream"], false);
    assert_eq!(request["messages"][0]["role"], "system");
}

/// If the loop counted as missing, the router would respond, and no tool would run.
#[test]
fn a_full_queue_is_not_a_missing_service() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let _processes = installation.start_all_but(&[AgentLoop]);
    let _stand_in = installation.waiting_stand_in(AgentLoop, "go");
    let client = installation.begin(Daemon, &message("say:1", false));
    let short = Some(Duration::from_millis(200));
    client.set_read_timeout(short).unwrap();
    let nothing_yet = (&client).read(&mut [0]).unwrap_err();
    assert_eq!(nothing_yet.kind(), ErrorKind::WouldBlock);
    client.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    fs::write(installation.path("go"), "").unwrap();
    let expected = json!({ "type": "response", "content": "agr read 6 messages" });
    assert_eq!(frames(client), [expected]);
    assert_eq!(model.requests().len(), 0);
}

#[test]
fn with_a_foreign_memory() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let processes = with_stand_in(&installation, Memory);
    installation.ask_one(Daemon, &message("say:2", false));
    installation.ask_one(Daemon, &message("say:1", false));
    let sent = model.requests().pop().unwrap().body["messages"].clone();
    let sent = sent.as_array().unwrap();
    let expected = [
        json!({ "role": "user", "content": "remembered: say:1" }),
        json!({ "role": "user", "content": "say:2" }),
        json!({ "role": "assistant", "content": "alpha beta " }),
        json!({ "role": "user", "content": "say:1" }),
    ];
    assert_eq!(sent[sent.len() - 4..], expected);
    let mut requests = requests_to(&processes[0]);
    // The two lookups are concurrent, in any order.
    for turn in requests.chunks_mut(3) {
        turn[..2].sort_by_key(|request| request["type"].to_string());
    }
    let kinds = requests
        .iter()
        .map(|request| request["type"].as_str().unwrap());
    let turn = ["get_history", "search_hard", "append_history"];
    assert_eq!(kinds.collect::<Vec<_>>(), [turn, turn].concat());
    assert_eq!(requests[0]["limit"], 50);
    assert_eq!(requests[1]["top_k"], 3);
}

#[test]
fn with_another_foreign_service() {
    let model = ModelServer::start();
    let call = json!({ "name": "execute_bash", "arguments": { "code": "echo hi" } });
    let tool = format!("raw:<tool_call>{call}</tool_call>");
    for kind in [SystemPrompt, Context, Executor] {
        model.reset();
        let installation = Installation::new(&model.url(Wire::OpenAi), "");
        let _processes = with_stand_in(&installation, kind);
        let response = installation.ask(Daemon, &message(&tool, false));
        assert_eq!(
            response,
            [json!({ "type": "response", "content": "final answer" })]
        );
        let sent = Value::Array(
            model
                .requests()
                .into_iter()
                .map(|request| request.body["messages"].clone())
                .collect(),
        );
        let message = match kind {
            SystemPrompt => "You are a stand-in's.",
            Context => "from a stand-in",
            _ => "not really run",
        };
        assert!(sent.to_string().contains(message), "{kind:?}: {sent}");
    }
}

/// Our services work for a daemon or client that is not ours.
#[test]
fn with_foreign_callers() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let _process = installation.up();
    let call = |kind: ServiceKind, request: Value| -> Vec<Value> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/stand_in.py");
        let mut command = installation.program(Path::new("python3"), &[]);
        command
            .arg(script)
            .arg("call")
            .arg(installation.socket(kind));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(request.to_string().as_bytes()).unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let lines = text(&output.stdout).lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let prompt = call(SystemPrompt, json!({ "type": "get" }));
    let context = call(
        Context,
        json!({ "type": "build", "channel_id": "é", "user_message": "x" }),
    );
    assert_eq!(context[0]["messages"].as_array().unwrap().len(), 4);
    let run = json!({
        "type": "run",
        "messages": [
            { "role": "system", "content": prompt[0]["content"] },
            { "role": "user", "content": "say:2" },
        ],
        "temperature": 0.7, "top_p": 1.0, "max_iterations": 5, "stream": true,
    });
    let response = call(AgentLoop, run);
    let last = json!({ "type": "done", "full_text": "alpha beta ", "iterations": 1 });
    assert_eq!(response.last(), Some(&last));
    let append = json!({
        "type": "append_history", "channel_id": "é",
        "messages": [{ "role": "user", "content": "grüße 🦀" }],
    });
    assert_eq!(call(Memory, append), [json!({ "type": "ok" })]);
    let history = call(Memory, json!({ "type": "get_history", "channel_id": "é" }));
    assert_eq!(history[0]["messages"][0]["content"], "grüße 🦀");
    let response = call(Daemon, json!({ "message": "say:1" }));
    assert_eq!(
        response,
        [json!({ "type": "response", "content": "alpha " })]
    );
    let response = call(
        Executor,
        json!({ "type": "execute", "executor": "bash", "code": "echo ✓" }),
    );
    assert_eq!(response[0]["stdout"], "✓\n");
}
