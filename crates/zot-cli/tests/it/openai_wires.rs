//! The provider `openai` uses the right wire for each model, against a server that refuses
//! what OpenAI refuses.

use std::fs;
use std::path::Path;

use serde_json::json;
use testkit::{ModelServer, RecordedRequest, Reply, Wire, Workdir, Zot, ZotCommand};

use crate::support::binary;

fn openai(workdir: &Workdir, mode: &str, base_url: &str) -> ZotCommand {
    ZotCommand::new(binary(), workdir)
        .argument(mode)
        .arguments(["--provider", "openai", "--api-key", "x", "--base-url"])
        .argument(base_url)
}

fn wires(server: &ModelServer) -> Vec<Wire> {
    let requests = server.requests().into_iter();
    requests.map(|request| request.wire).collect()
}

fn last(server: &ModelServer) -> RecordedRequest {
    server.requests().pop().unwrap()
}

fn set_model(zot: &mut Zot, model: &str) {
    let set = zot.call(json!({"id": "m", "type": "set_model", "model": model}));
    assert_eq!(set["success"], true, "{set}");
}

#[test]
fn the_model_chooses_the_wire() {
    let (workdir, server) = (Workdir::new("work"), ModelServer::strict());
    for (model, wire) in [
        ("gpt-4o", Wire::OpenAi),
        ("gpt-5", Wire::OpenAi),
        ("gpt-5.3", Wire::OpenAi),
        ("gpt-5.4", Wire::OpenAiResponses),
        ("gpt-5.4-mini-2026-03-17", Wire::OpenAiResponses),
        ("gpt-5.6-sol", Wire::OpenAiResponses),
        ("gpt-5-codex", Wire::OpenAiResponses),
        ("gpt-5-pro", Wire::OpenAiResponses),
        ("gpt-6.1-sol", Wire::OpenAiResponses),
        ("gpt-7-surprise", Wire::OpenAiResponses),
        ("house-model", Wire::OpenAi),
    ] {
        let run = openai(&workdir, "-p", &server.origin())
            .arguments(["--no-session", "--model", model, "say:2"])
            .run("");
        assert_eq!(run.code, Some(0), "{model}: {}", run.stderr);
        assert_eq!(last(&server).wire, wire, "{model}");
        assert!(!last(&server).tool_names().is_empty());
    }
}

#[test]
fn the_users_choice_of_wire_wins() {
    let (workdir, server) = (Workdir::new("work"), ModelServer::start());
    let asked = |model: &str, further: &[&str]| {
        let run = openai(&workdir, "-p", &server.origin())
            .arguments(["--no-session", "--model", model])
            .arguments(further)
            .argument("say:1")
            .run("");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(run.stderr, "");
        last(&server).wire
    };
    assert_eq!(asked("gpt-5.4", &["--wire", "openai"]), Wire::OpenAi);
    let forced = asked("gpt-4o", &["--wire", "openai-responses"]);
    assert_eq!(forced, Wire::OpenAiResponses);
    fs::create_dir_all(workdir.zot_home()).unwrap();
    let config = workdir.zot_home().join("config.json");
    fs::write(&config, r#"{"wire": "openai"}"#).unwrap();
    assert_eq!(asked("gpt-5.4", &[]), Wire::OpenAi);
    let forced = asked("gpt-5.4", &["--wire", "openai-responses"]);
    assert_eq!(forced, Wire::OpenAiResponses);
    fs::remove_file(&config).unwrap();

    let bad = openai(&workdir, "-p", &server.origin())
        .arguments(["--wire", "anthropic", "say:1"])
        .run("");
    assert_eq!(bad.code, Some(2));
    assert!(bad.stderr.contains("openai-responses"), "{}", bad.stderr);
    let other = ZotCommand::new(binary(), &workdir)
        .arguments(["-p", "--no-session", "--provider", "anthropic"])
        .arguments(["--wire", "openai", "--base-url", &server.origin(), "say:1"])
        .run("");
    assert_eq!(other.code, Some(0));
    assert!(other.stderr.contains("--wire"), "{}", other.stderr);
}

/// If only the address of a server is known, it is asked for chat completions.
#[test]
fn without_a_model_another_server_is_asked_for_chat_completions_first() {
    let (workdir, server) = (Workdir::new("work"), ModelServer::strict());
    let run = openai(&workdir, "-p", &server.origin())
        .arguments(["--no-session", "--no-tools", "say:1"])
        .run("");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(wires(&server), [Wire::OpenAi]);
    // With tools this server refuses the default model there, and names the other wire.
    let run = openai(&workdir, "-p", &server.origin())
        .arguments(["--no-session", "say:1"])
        .run("");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(wires(&server)[1..], [Wire::OpenAi, Wire::OpenAiResponses]);
}

#[test]
fn a_server_without_responses_is_asked_for_chat_completions() {
    let workdir = Workdir::new("work");
    for (status, body) in [
        (404, "404 page not found"),
        (404, r#"{"detail":"Not Found"}"#),
        (405, r#"{"detail":"Method Not Allowed"}"#),
    ] {
        let server = ModelServer::with_script([
            Reply::status(status, body),
            Reply::directive("say:1"),
            Reply::directive("say:1"),
        ]);
        let mut zot = openai(&workdir, "rpc", &server.origin())
            .arguments(["--no-session", "--model", "gpt-5.4"])
            .spawn();
        zot.turn("1", "one");
        zot.turn("2", "two");
        assert_eq!(zot.finish().stderr, "");
        // The wire is not tried again.
        assert_eq!(
            wires(&server),
            [Wire::OpenAiResponses, Wire::OpenAi, Wire::OpenAi]
        );
    }
    // A missing model is not tried on the other wire.
    let missing =
        r#"{"error":{"message":"The model `gpt-5.4` does not exist","code":"model_not_found"}}"#;
    let server = ModelServer::with_script([Reply::status(404, missing)]);
    let run = openai(&workdir, "-p", &server.origin())
        .arguments(["--no-session", "--model", "gpt-5.4", "one"])
        .run("");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("does not exist"), "{}", run.stderr);
    assert_eq!(wires(&server), [Wire::OpenAiResponses]);
}

#[test]
fn an_address_with_its_operation_is_used_unchanged() {
    let workdir = Workdir::new("work");
    for (operation, wire) in [
        ("/v1/chat/completions", Wire::OpenAi),
        ("/v1/responses", Wire::OpenAiResponses),
    ] {
        let server = ModelServer::start();
        let run = openai(&workdir, "-p", &format!("{}{operation}", server.origin()))
            .arguments(["--no-session", "--model", "gpt-5.4", "say:1"])
            .run("");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(last(&server).wire, wire);
        assert_eq!(last(&server).path, operation);
    }
}

/// A conversation with calls, results and reasoning that moves between the wires, in both
/// directions, in one process and across processes.
#[test]
fn a_conversation_moves_between_the_wires() {
    let (workdir, server) = (Workdir::new("work"), ModelServer::strict());
    fs::write(workdir.path().join("a.txt"), "hello\n").unwrap();
    let session = workdir.path().join("s.jsonl");
    let start = |model: &[&str]| {
        openai(&workdir, "rpc", &server.origin())
            .arguments(model)
            .argument("--session")
            .argument(&session)
            .spawn()
    };
    let call = r#"think:hm:tool:read:{"path":"a.txt"}"#;
    let mut zot = start(&["--model", "gpt-5"]);
    zot.turn("1", call);
    assert_eq!(last(&server).wire, Wire::OpenAi);
    set_model(&mut zot, "gpt-6.1-sol");
    zot.turn("2", call);
    let request = last(&server);
    assert_eq!(request.wire, Wire::OpenAiResponses);
    let outputs = request.messages().iter();
    let outputs = outputs.filter(|item| item["type"] == "function_call_output");
    assert_eq!(outputs.count(), 2, "{}", request.body);
    set_model(&mut zot, "gpt-4o");
    zot.turn("3", call);
    let request = last(&server);
    assert_eq!(request.wire, Wire::OpenAi);
    assert!(!request.body.to_string().contains("encrypted"));
    assert_eq!(zot.finish().stderr, "");
    let answered = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        assert!(!text.contains("http 400"), "{text}");
    };
    answered(&session);

    // Resumed with either.
    for (model, wire) in [
        ("gpt-5.6", Wire::OpenAiResponses),
        ("gpt-4.1", Wire::OpenAi),
    ] {
        let mut zot = start(&["--model", model]);
        zot.turn("1", "say:1");
        assert_eq!(zot.finish().stderr, "");
        assert_eq!(last(&server).wire, wire);
        answered(&session);
    }
    // A resumed session keeps its model and therefore the wire.
    let mut zot = start(&[]);
    set_model(&mut zot, "gpt-5.5");
    drop(zot.finish());
    let mut zot = ZotCommand::new(binary(), &workdir)
        .arguments(["rpc", "--api-key", "x", "--base-url", &server.origin()])
        .argument("--session")
        .argument(&session)
        .spawn();
    zot.turn("1", "say:1");
    zot.finish();
    assert_eq!(last(&server).body["model"], "gpt-5.5");
    assert_eq!(last(&server).wire, Wire::OpenAiResponses);
}

#[test]
fn another_model_may_have_another_address_and_wire() {
    let (workdir, first, second) = (
        Workdir::new("work"),
        ModelServer::start(),
        ModelServer::start(),
    );
    fs::create_dir_all(workdir.zot_home()).unwrap();
    let models = json!({"providers": {"company": {"baseUrl": first.origin(), "models": [
        {"id": "near"},
        {"id": "far", "baseUrl": second.origin()},
        {"id": "far-new", "baseUrl": second.origin(), "wire": "openai-responses"},
    ]}}});
    fs::write(workdir.zot_home().join("models.json"), models.to_string()).unwrap();
    let mut zot = ZotCommand::new(binary(), &workdir)
        .arguments(["rpc", "--no-session", "--provider", "company"])
        .spawn();
    zot.turn("1", "say:1");
    assert_eq!(wires(&first), [Wire::OpenAi]);
    set_model(&mut zot, "far");
    zot.turn("2", "say:1");
    set_model(&mut zot, "far-new");
    zot.turn("3", "say:1");
    assert_eq!(wires(&second), [Wire::OpenAi, Wire::OpenAiResponses]);
    set_model(&mut zot, "near");
    zot.turn("4", "say:1");
    assert_eq!(wires(&first), [Wire::OpenAi, Wire::OpenAi]);
    let ended = zot.finish();
    assert_eq!(ended.stderr, "");
}

/// The wire of a provider in `models.json` applies to all its models.
#[test]
fn a_wire_for_all_models_of_openai() {
    let (workdir, server) = (Workdir::new("work"), ModelServer::start());
    fs::create_dir_all(workdir.zot_home()).unwrap();
    for (api, model, wire) in [
        ("openai-completions", "gpt-5.4", Wire::OpenAi),
        ("openai-responses", "gpt-4o", Wire::OpenAiResponses),
    ] {
        let models = json!({"providers": {"openai": {"api": api, "baseUrl": server.origin()}}});
        fs::write(workdir.zot_home().join("models.json"), models.to_string()).unwrap();
        let run = ZotCommand::new(binary(), &workdir)
            .arguments([
                "-p",
                "--no-session",
                "--provider",
                "openai",
                "--model",
                model,
            ])
            .argument("say:1")
            .run("");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(last(&server).wire, wire, "{api}");
    }
}

#[test]
fn fallbacks_have_their_own_wires() {
    let (workdir, server) = (Workdir::new("work"), ModelServer::strict());
    fs::create_dir_all(workdir.zot_home()).unwrap();
    let models = json!({"providers": {"openai": {"baseUrl": server.origin()}}});
    fs::write(workdir.zot_home().join("models.json"), models.to_string()).unwrap();
    let run = ZotCommand::new(binary(), &workdir)
        .arguments(["-p", "--no-session", "--provider", "ollama", "--model", "m"])
        .arguments(["--base-url", "http://127.0.0.1:9/v1"])
        .arguments(["--fallback", "openai/gpt-6-sol", "say:1"])
        .run("");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(wires(&server), [Wire::OpenAiResponses]);
}

#[test]
fn a_recording_continues_across_wires() {
    let (workdir, server) = (Workdir::new("work"), ModelServer::strict());
    let cassette = workdir.path().join("c.jsonl");
    let mut zot = openai(&workdir, "rpc", &server.origin())
        .arguments(["--no-session", "--model", "gpt-4o", "--record"])
        .argument(&cassette)
        .spawn();
    zot.turn("1", "say:2");
    set_model(&mut zot, "gpt-6.1-sol");
    zot.turn("2", "say:3");
    zot.finish();
    assert_eq!(wires(&server), [Wire::OpenAi, Wire::OpenAiResponses]);
    let mut zot = ZotCommand::new(binary(), &workdir)
        .arguments(["rpc", "--no-session", "--provider", "replay", "--cassette"])
        .argument(&cassette)
        .spawn();
    zot.turn("1", "say:2");
    set_model(&mut zot, "gpt-6.1-sol");
    zot.turn("2", "say:3");
    let ended = zot.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}
