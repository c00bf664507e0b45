//! Models that providers list themselves.

use std::fs;

use serde_json::{Value, json};
use testkit::{Workdir, ZotCommand, poll_until};

use crate::support::binary;
use crate::support::website::Website;

/// Returns a provider with one model that no catalog has; it refuses everything else.
fn provider() -> Website {
    Website::start(|asked| match asked.target.as_str() {
        "/v1/models" => (
            200,
            r#"{"data":[{"id":"gpt-99-live","context_length":5000},{"id":"gpt-4o"}]}"#.to_owned(),
        ),
        _ => (400, r#"{"error":{"message":"no"}}"#.to_owned()),
    })
}

fn place(provider: &Website) -> Workdir {
    let workdir = Workdir::new("work");
    fs::create_dir_all(workdir.zot_home()).unwrap();
    let providers = json!({"providers": {"openai": {"baseUrl": format!("{}/v1", provider.url())}}});
    fs::write(
        workdir.zot_home().join("providers.json"),
        providers.to_string(),
    )
    .unwrap();
    workdir
}

fn zot(workdir: &Workdir, arguments: &[&str]) -> ZotCommand {
    ZotCommand::new(binary(), workdir)
        .arguments(arguments)
        .env("OPENAI_API_KEY", "sk-0123456789abcdef")
}

fn lists(provider: &Website) -> usize {
    let asked = provider.asked();
    asked
        .iter()
        .filter(|asked| asked.target == "/v1/models")
        .count()
}

#[test]
fn a_model_listed_by_the_provider_can_be_used_afterwards() {
    let provider = provider();
    let workdir = place(&provider);
    let state = |model: &str| {
        let run = zot(&workdir, &["rpc", "--provider", "openai", "--model", model])
            .run("{\"type\":\"get_state\"}\n");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.stderr
    };
    let near = "did you mean gpt-99-live";
    assert!(!state("gpt-99-lvie").contains(near), "not known yet");
    assert_eq!(lists(&provider), 0, "nothing is asked at the start");
    let listed = zot(
        &workdir,
        &["--list-models", "--refresh", "--provider", "openai"],
    )
    .run("");
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    assert!(listed.stdout.contains("gpt-99-live"), "{}", listed.stdout);
    assert_eq!(
        listed.stdout.matches(" gpt-4o ").count(),
        1,
        "known ones are not repeated"
    );
    let authorization = &provider.asked()[0].headers["authorization"];
    assert_eq!(authorization, "Bearer sk-0123456789abcdef");

    let unnamed = zot(&workdir, &["rpc", "--model", "gpt-99-live"])
        .env("ANTHROPIC_API_KEY", "sk-ant")
        .run("{\"type\":\"get_state\"}\n");
    let frame: Value = serde_json::from_str(unnamed.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(
        frame["data"]["provider"], "openai",
        "although no provider was named"
    );
    assert!(!state("gpt-99-live").contains("did you mean"));
    assert!(state("gpt-99-lvie").contains(near));
    assert_eq!(lists(&provider), 1);
    let mut rpc = zot(&workdir, &["rpc", "--provider", "openai"]).spawn();
    let models = rpc.call(json!({"id": "1", "type": "get_models"}));
    let models = models["data"]["models"].as_array().unwrap();
    let live = models
        .iter()
        .find(|model| model["id"] == "gpt-99-live")
        .unwrap();
    assert_eq!(live["context_window"], 5000);
    let changed = rpc.call(json!({"id": "2", "type": "set_model", "model": "gpt-99-live"}));
    assert_eq!(changed["success"], true, "{changed}");
}

#[test]
fn only_long_runs_ask_for_models_in_the_background() {
    let provider = provider();
    let workdir = place(&provider);
    let cache = workdir.zot_home().join("models-cache.json");
    for flag in ["-p", "--json"] {
        zot(
            &workdir,
            &[flag, "--no-session", "--provider", "openai", "hi"],
        )
        .run("");
    }
    assert_eq!(lists(&provider), 0);
    let off = zot(&workdir, &["rpc", "--provider", "openai"]).env("ZOT_LIVE_MODELS", "false");
    let mut rpc = off.spawn();
    rpc.turn("1", "hi");
    rpc.finish();
    assert_eq!(lists(&provider), 0, "switched off");
    let mut rpc = zot(&workdir, &["rpc", "--provider", "openai"]).spawn();
    rpc.call(json!({"id": "0", "type": "get_state"}));
    assert_eq!(lists(&provider), 0, "not before there was work");
    rpc.turn("1", "hi");
    poll_until("the models are written down", || cache.exists());
    let changed = rpc.call(json!({"id": "2", "type": "set_model", "model": "gpt-99-live"}));
    assert_eq!(changed["success"], true, "{changed}");
    rpc.turn("3", "hi");
    rpc.finish();
    assert_eq!(lists(&provider), 1);

    // A list that is six hours old is requested again.
    let text = fs::read_to_string(&cache).unwrap();
    let mut record: Value = serde_json::from_str(&text).unwrap();
    let fetched = &mut record["providers"]["openai"]["fetched_at"];
    *fetched = json!(fetched.as_u64().unwrap() - 6 * 3600 - 1);
    fs::write(&cache, record.to_string()).unwrap();
    let mut rpc = zot(&workdir, &["rpc", "--provider", "openai"]).spawn();
    rpc.turn("1", "hi");
    poll_until("they are asked for again", || lists(&provider) == 2);
}

#[test]
fn providers_that_do_not_respond_are_named() {
    let provider = Website::start(|_| (401, "{}".to_owned()));
    let workdir = place(&provider);
    let listed = zot(&workdir, &["--list-models", "--refresh"]).run("");
    assert_eq!(listed.code, Some(0));
    assert!(
        listed.stderr.contains("openai could not be asked"),
        "{}",
        listed.stderr
    );
    assert!(!listed.stderr.contains("0123456789"), "{}", listed.stderr);
    assert!(listed.stdout.contains("gpt-4o"));
}
