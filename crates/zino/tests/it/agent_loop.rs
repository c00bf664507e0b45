//! `agr`, with `rtr` and `exc` behind it.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use testkit::{ModelServer, Wire};
use zino::agent_loop::AgentLoopService;
use zino::kind::ServiceKind::{AgentLoop, Executor, Router};
use zino::service::Service as _;
use zot_wire::zino::agent_loop;

use crate::stack::{Stack, log, until};
use crate::transcript;

fn run(directive: &str, stream: bool) -> Value {
    json!({
        "type": "run",
        "messages": [{ "role": "user", "content": directive }],
        "temperature": 0.5,
        "top_p": 0.9,
        "stream": stream,
    })
}

fn whole(model: &ModelServer, more: &str) -> Stack {
    Stack::new(&model.url(Wire::OpenAi), more)
        .with_router()
        .with_executor()
        .with_agent_loop()
}

/// The augmented text of the second request to the model.
fn continuation(model: &ModelServer) -> String {
    let requests = model.requests();
    let messages = requests.last().unwrap().body["messages"]
        .as_array()
        .unwrap();
    let last = messages.last().unwrap();
    assert_eq!(last["role"], "assistant");
    last["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn captured() {
    let model = ModelServer::start();
    let stack = whole(&model, "");
    transcript::replay(&stack, AgentLoop, &transcript::records(AgentLoop)).await;
    stack.end().await;
}

/// Streamed or not, the model reads the same texts.
#[tokio::test]
async fn the_model_reads_the_results_of_its_blocks() {
    let model = ModelServer::start();
    let stack = whole(&model, "");
    let call = |code: &str| {
        let call = json!({ "name": "execute_bash", "arguments": { "code": code } });
        format!("x <tool_call>\n{call}\n</tool_call> y")
    };
    let cases = [
        (call("echo hi"), "tool", "hi\n"),
        (call("true"), "tool", "(no output)"),
        (
            call("echo out; echo err >&2; exit 3"),
            "tool",
            "out\n\n[stderr]\nerr\n\n[exit code: 3]",
        ),
        (call("  "), "tool", "Error: Empty code block."),
        (
            "x <tool_call>{\"name\": \"execute_ruby\"}</tool_call> y".to_owned(),
            "tool",
            "Error: Unknown tool function 'execute_ruby'",
        ),
        (
            "x <task>{\"skill\": \"ruby\"}</task> y".to_owned(),
            "task",
            "Error: Unknown skill 'ruby'",
        ),
        (
            "x <task>{\"skill\": \"bash\"}</task> y".to_owned(),
            "task",
            "Error: Empty task request.",
        ),
        (
            "x <task>{\"skill\": \"bash\", \"request\": \"code:echo skilled\"}</task> y".to_owned(),
            "task",
            "skilled\n",
        ),
        (
            "x <task>{\"skill\": \"bash\", \"request\": \"err:401:no\"}</task> y".to_owned(),
            "task",
            "Skill pipeline error: rtr error: Error code: 401 - no",
        ),
    ];
    for (text, kind, result) in cases {
        let (before, after) = text.split_at(text.len() - " y".len());
        let response = format!("\n<{kind}_response>\n{result}\n</{kind}_response>\n");
        let expected = format!("{before}{response}{after}");
        for stream in [false, true] {
            stack
                .ask(AgentLoop, run(&format!("raw:{text}"), stream))
                .await;
            assert_eq!(continuation(&model), expected, "streaming: {stream}");
        }
    }
    stack.end().await;
}

#[tokio::test]
async fn a_skill_is_two_conversations() {
    let model = ModelServer::start();
    let stack = whole(&model, "");
    let task = r#"raw:<task>{"skill": "bash", "request": "code:echo skilled"}</task>"#;
    stack.ask(AgentLoop, run(task, false)).await;
    let requests = model.requests();
    assert_eq!(requests.len(), 4);
    let interpreter = json!([
        { "role": "system", "content": "Write bash for the request." },
        { "role": "user", "content": "code:echo skilled" },
    ]);
    assert_eq!(requests[1].body["messages"], interpreter);
    let fabricator = json!([
        { "role": "system", "content": "Make the code executable." },
        { "role": "user", "content": "Say hello [KCR] echo hello" },
        { "role": "assistant", "content": "#!/bin/bash\necho hello" },
        { "role": "user", "content": "code:echo skilled [KCR] echo skilled" },
    ]);
    assert_eq!(requests[2].body["messages"], fabricator);
    stack.end().await;
}

#[tokio::test]
async fn errors_are_reported_once() {
    let model = ModelServer::start();
    let stack = whole(&model, "");
    for stream in [false, true] {
        let frames = stack.ask(AgentLoop, run("err:401:no", stream)).await;
        let source = if stream {
            "rtr stream error"
        } else {
            "rtr error"
        };
        let message = format!("Agentic runtime error: {source}: Error code: 401 - no");
        assert_eq!(frames, [json!({ "type": "error", "message": message })]);
    }
    stack.end().await;

    let unreachable = Stack::new("http://127.0.0.1:1/v1", "").with_agent_loop();
    let frames = unreachable.ask(AgentLoop, run("say:1", false)).await;
    let message = "Agentic runtime error: [Errno 2] No such file or directory";
    assert_eq!(frames, [json!({ "type": "error", "message": message })]);
    unreachable.end().await;

    let no_executor = Stack::new(&model.url(Wire::OpenAi), "")
        .with_router()
        .with_agent_loop();
    let call = r#"raw:<tool_call>{"name":"execute_bash","arguments":{"code":"true"}}</tool_call>"#;
    let frames = no_executor.ask(AgentLoop, run(call, false)).await;
    assert_eq!(frames, [json!({ "type": "error", "message": message })]);
    no_executor.end().await;
}

#[tokio::test]
async fn a_router_that_cannot_stream_is_read_whole() {
    let model = ModelServer::start();
    let stack = whole(&model, "rtr.streaming = false\n");
    let frames = stack.ask(AgentLoop, run("say:2", true)).await;
    let expected = [
        json!({ "type": "chunk", "delta": "alpha beta " }),
        json!({ "type": "done", "full_text": "alpha beta ", "iterations": 1 }),
    ];
    assert_eq!(frames, expected);
    stack.end().await;
}

/// Without a key and without a network.
#[tokio::test]
async fn the_offline_model_really_runs_a_tool() {
    let mut stack = Stack::new("", "api.provider = \"offline\"\n");
    let work = stack.path("work");
    fs::create_dir(&work).unwrap();
    fs::write(work.join("found.txt"), "one\ntwo\n").unwrap();
    stack.config.exc.working_dir = Some(work);
    let stack = stack.with_router().with_executor().with_agent_loop();
    let messages = json!([
        { "role": "system", "content": "Tools:\n  - \"execute_bash\": bash executor" },
        { "role": "user", "content": "list the files and count the lines in found.txt" },
    ]);
    let request = json!({ "type": "run", "messages": messages });
    let response = stack.ask(AgentLoop, request).await.remove(0);
    assert_eq!(response["iterations"], 2, "{response}");
    let content = response["content"].as_str().unwrap();
    assert!(content.contains("found.txt"), "{content}");
    assert!(content.contains("2 lines"), "{content}");
    assert!(!content.contains("<tool_call>"), "{content}");
    stack.end().await;
}

#[tokio::test]
async fn a_caller_that_hangs_up_ends_its_programs_and_model_requests() {
    let model = ModelServer::start();
    let stack = whole(&model, "");
    let mark = stack.path("mark");
    let code = format!(
        "echo $$ > {0}.new; mv {0}.new {0}; sleep 60",
        mark.display()
    );
    let call = json!({ "name": "execute_bash", "arguments": { "code": code } });
    let request = run(&format!("raw:<tool_call>{call}</tool_call>"), true);
    let call = stack.begin::<agent_loop::Request>(AgentLoop, request).await;
    until("the program runs", || mark.exists()).await;
    let program = fs::read_to_string(&mark).unwrap();
    drop(call);
    let entry = format!("/proc/{}", program.trim());
    until("the program is gone", || fs::metadata(&entry).is_err()).await;

    let call = stack
        .begin::<agent_loop::Request>(AgentLoop, run("hangmid", true))
        .await;
    until("the model receives the request", || {
        model.responses_in_progress() == 1
    })
    .await;
    drop(call);
    until("the model's request is cancelled", || {
        model.responses_in_progress() == 0
    })
    .await;
    stack.end().await;
}

#[tokio::test]
async fn a_reload_finds_new_tools_and_skills() {
    let model = ModelServer::start();
    let mut stack = Stack::new(&model.url(Wire::OpenAi), "").with_router();
    let tools = stack.path("tools");
    let skills = stack.path("skills");
    fs::create_dir(&tools).unwrap();
    fs::create_dir(&skills).unwrap();
    stack.config.tools.dir = Some(tools.clone());
    stack.config.skills.dir = Some(skills.clone());
    let service = Arc::new(AgentLoopService::new(
        stack.config.clone(),
        log(AgentLoop),
        stack.peer(Router),
        stack.peer(Executor),
    ));
    stack.serve(Arc::clone(&service) as Arc<_>);
    let text = r#"raw:<tool_call>{"name":"execute_sh"}</tool_call><task>{"skill":"s"}</task>"#;
    stack.ask(AgentLoop, run(text, false)).await;
    assert!(continuation(&model).contains("Unknown tool function 'execute_sh'"));
    assert!(continuation(&model).contains("Unknown skill 's'"));
    fs::write(tools.join("sh.json"), "{}").unwrap();
    fs::write(skills.join("s.json"), "{}").unwrap();
    service.reload().unwrap();
    stack.ask(AgentLoop, run(text, false)).await;
    assert!(continuation(&model).contains("Error: Empty code block."));
    assert!(continuation(&model).contains("Error: Empty task request."));
    stack.end().await;
}
