//! Reasoning efforts on OpenAI's wires: only for models that accept one, and only accepted values,
//! against a server that refuses what OpenAI refuses.

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, Reply, Workdir, ZotCommand};

use crate::support::binary;

fn ask(server: &ModelServer, provider: &str, model: &str, arguments: &[&str]) -> Finished {
    let workdir = Workdir::new("work");
    ZotCommand::new(binary(), &workdir)
        .arguments([
            "-p",
            "--no-session",
            "--api-key",
            "x",
            "--provider",
            provider,
        ])
        .arguments(["--model", model, "--base-url", &server.origin()])
        .arguments(arguments)
        .argument("say:1")
        .run("")
}

fn sent(server: &ModelServer) -> Value {
    let body = server.requests().pop().unwrap().body;
    match body.get("reasoning_effort") {
        Some(effort) => effort.clone(),
        None => body["reasoning"]["effort"].clone(),
    }
}

#[test]
fn the_nearest_supported_effort_is_sent() {
    let server = ModelServer::strict();
    for (model, effort, expected, is_reported) in [
        ("gpt-5", "minimal", json!("minimal"), false),
        ("gpt-5", "max", json!("high"), true),
        ("gpt-5.1", "minimal", json!("low"), true),
        ("gpt-5.1", "off", json!("none"), false),
        ("gpt-5.2", "XHIGH", json!("xhigh"), false),
        ("gpt-5.4", "none", json!("none"), false),
        ("gpt-5.4", "max", json!("xhigh"), true),
        ("gpt-5-pro", "low", json!("high"), true),
        ("gpt-6.1-sol", "max", json!("max"), false),
        ("gpt-9-surprise", "max", json!("max"), false),
        ("o3", "minimal", json!("low"), true),
        ("gpt-4o", "high", Value::Null, true),
        ("gpt-4o", "none", Value::Null, false),
        ("gpt-4.1-mini", "low", Value::Null, true),
    ] {
        let run = ask(&server, "openai", model, &["--reasoning", effort]);
        assert_eq!(run.code, Some(0), "{model} {effort}: {}", run.stderr);
        assert_eq!(sent(&server), expected, "{model} {effort}");
        let reported = run.stderr.contains("reasoning effort");
        assert_eq!(reported, is_reported, "{model} {effort}: {}", run.stderr);
    }
    let run = ask(&server, "openai", "gpt-5", &["--reasoning", "extreme"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("xhigh"), "{}", run.stderr);
}

#[test]
fn a_refused_effort_is_not_sent_again() {
    let refusal = json!({"error": {"message": "`reasoning_effort` must be one of `none` or `default`",
        "type": "invalid_request_error"}});
    let server = ModelServer::with_script([
        Reply::status(400, refusal.to_string()),
        Reply::directive("say:1"),
        Reply::directive("say:1"),
    ]);
    let workdir = Workdir::new("work");
    let mut zot = ZotCommand::new(binary(), &workdir)
        .arguments([
            "rpc",
            "--no-session",
            "--provider",
            "groq",
            "--api-key",
            "x",
        ])
        .arguments(["--model", "qwen/qwen3-32b", "--base-url", &server.origin()])
        .spawn();
    let set = zot.call(json!({"id": "r", "type": "set_reasoning", "effort": "xhigh"}));
    assert_eq!(set["data"]["effort"], "xhigh", "{set}");
    let off = zot.call(json!({"id": "r", "type": "set_reasoning", "effort": "off"}));
    assert_eq!(off["data"]["effort"], "none", "{off}");
    zot.call(json!({"id": "r", "type": "set_reasoning", "effort": "high"}));
    zot.turn("1", "one");
    zot.turn("2", "two");
    let efforts: Vec<Value> = server
        .requests()
        .iter()
        .map(|request| request.body["reasoning_effort"].clone())
        .collect();
    assert_eq!(efforts, [json!("high"), Value::Null, Value::Null]);
    let ended = zot.finish();
    // Clients of the original expect no events that it does not send.
    assert!(!ended.stdout.contains("ext_notify"), "{}", ended.stdout);
}

#[test]
fn openrouter_has_its_own_field() {
    let server = ModelServer::start();
    let run = ask(
        &server,
        "openrouter",
        "openai/gpt-5.2",
        &["--reasoning", "xhigh"],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let body = server.requests().pop().unwrap().body;
    assert_eq!(body["reasoning"], json!({"effort": "xhigh"}));
    assert!(body.get("reasoning_effort").is_none());
}
