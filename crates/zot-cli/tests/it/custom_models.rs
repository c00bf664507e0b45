//! `models.json`, `providers.json` and unknown models, as users of the original have them.

use std::fs;

use testkit::{Finished, ModelServer, Wire, Workdir, ZotCommand};

use crate::support::binary;

fn home_with(file: &str, content: &str) -> Workdir {
    let workdir = Workdir::new("work");
    let home = workdir.home().join("zot");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join(file), content).unwrap();
    workdir
}

fn zot(workdir: &Workdir, arguments: &[&str]) -> Finished {
    ZotCommand::new(binary(), workdir)
        .arguments(["-p", "--no-session"])
        .arguments(arguments)
        .argument("say:1")
        .run("")
}

#[test]
fn a_custom_server_needs_no_key() {
    let server = ModelServer::below("/v1");
    let origin = server.origin();
    for (entry, provider, wire) in [
        (
            format!(r#""openai":{{"models":[{{"id":"m","baseUrl":"{origin}"}}]}}"#),
            "openai",
            Wire::OpenAi,
        ),
        (
            format!(r#""openai-codex":{{"models":[{{"id":"m","baseUrl":"{origin}/v1/"}}]}}"#),
            "openai",
            Wire::OpenAi,
        ),
        (
            format!(r#""anthropic-messages":{{"baseUrl":"{origin}","models":[{{"id":"m"}}]}}"#),
            "anthropic",
            Wire::Anthropic,
        ),
        (
            format!(r#""company":{{"baseUrl":"{origin}/v1","models":[{{"id":"m"}}]}}"#),
            "company",
            Wire::OpenAi,
        ),
        (
            format!(
                r#""company":{{"api":"anthropic-messages","models":[{{"id":"m","baseUrl":"{origin}"}}]}}"#
            ),
            "company",
            Wire::Anthropic,
        ),
        (
            format!(
                r#""company":{{"api":"responses","baseUrl":"{origin}","models":[{{"id":"m"}}]}}"#
            ),
            "company",
            Wire::OpenAiResponses,
        ),
    ] {
        let workdir = home_with("models.json", &format!(r#"{{"providers":{{{entry}}}}}"#));
        // By provider, and only by model.
        for arguments in [
            &["--provider", provider, "--model", "m"][..],
            &["--model", "m"],
        ] {
            let run = zot(&workdir, arguments);
            assert_eq!(run.code, Some(0), "{entry} {arguments:?}: {}", run.stderr);
            assert_eq!(run.stderr, "", "{entry}");
            let request = server.requests().pop().unwrap();
            assert_eq!(request.wire, wire, "{entry}");
            assert_eq!(request.body["model"], "m");
            for header in ["authorization", "x-api-key"] {
                assert!(!request.headers.contains_key(header), "{entry}");
            }
        }
    }
}

#[test]
fn a_provider_in_models_json_has_its_own_key_and_default() {
    let server = ModelServer::below("/v1");
    let content = |auth: &str| {
        let origin = server.origin();
        format!(
            r#"{{"providers":{{"my-company":{{"baseUrl":"{origin}"{auth},"models":[{{"id":"first"}},{{"id":"m"}}]}}}}}}"#
        )
    };
    for (auth, sent) in [
        ("", Some("Bearer company-key")),
        (r#","auth":"none""#, None),
    ] {
        let workdir = home_with("models.json", &content(auth));
        let run = ZotCommand::new(binary(), &workdir)
            .arguments(["-p", "--no-session", "--provider", "my-company", "say:1"])
            .env("MY_COMPANY_API_KEY", "company-key")
            .run("");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let request = server.requests().pop().unwrap();
        assert_eq!(request.body["model"], "first");
        let key = request.headers.get("authorization").map(String::as_str);
        assert_eq!(key, sent, "{auth}");
    }
}

#[test]
fn a_bad_models_json_causes_a_warning_and_its_good_entries_apply() {
    let server = ModelServer::below("/v1");
    let good = format!(r#"{{"id":"good","baseUrl":"{}"}}"#, server.origin());
    for (content, part) in [
        (
            format!(r#"{{"providers":{{"openai":{{"models":[{{"id":7}},{good}]}}}}}}"#),
            "\"id\"",
        ),
        (
            format!(r#"{{"providers":{{"broken":[],"openai":{{"models":[{good}]}}}}}}"#),
            "broken",
        ),
    ] {
        let workdir = home_with("models.json", &content);
        let run = zot(&workdir, &["--model", "good"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(run.stderr.contains("models.json"), "{}", run.stderr);
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
    for content in ["not json", "[]", "", r#"{"providers":7}"#] {
        let workdir = home_with("models.json", content);
        let run = zot(&workdir, &["--provider", "offline"]);
        assert_eq!(run.code, Some(0), "{content}: {}", run.stderr);
        assert!(
            run.stderr.contains("models.json"),
            "{content}: {}",
            run.stderr
        );
        let listed = ZotCommand::new(binary(), &workdir)
            .argument("--list-models")
            .run("");
        assert_eq!(listed.code, Some(0), "{content}");
        assert!(listed.stdout.contains("claude-opus-4-1"), "{content}");
    }
}

#[test]
fn a_bad_entry_in_providers_json_matters_only_if_used() {
    let content = r#"{"providers":{"bad":{"wire":"grpc"},"openai":{"baseUrl":5}}}"#;
    let workdir = home_with("providers.json", content);
    let run = zot(&workdir, &["--provider", "offline"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for part in ["providers.json", "grpc", "\"openai\""] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    for (provider, part) in [("bad", "grpc"), ("openai", "baseUrl")] {
        let run = zot(&workdir, &["--provider", provider, "--api-key", "x"]);
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(
            run.stderr.contains(part) || run.stderr.contains("string"),
            "{provider}: {}",
            run.stderr
        );
    }
}

#[test]
fn an_unknown_model_is_used_with_a_warning() {
    let server = ModelServer::below("/v1");
    // The address of each provider, without --base-url.
    let entries: Vec<String> = ["anthropic", "openai", "openai-responses", "groq"]
        .iter()
        .map(|name| format!(r#""{name}":{{"baseUrl":"{}/v1"}}"#, server.origin()))
        .collect();
    let content = format!(r#"{{"providers":{{{}}}}}"#, entries.join(","));
    for (provider, model, nearest) in [
        ("anthropic", "claude-sonet-4-5", Some("claude-sonnet-4-5")),
        ("openai", "gpt4o", Some("gpt-4o")),
        ("openai-responses", "gpt-99-surprise", None),
        ("groq", "qwen/qwen9", None),
        // Names with a slash belong to no particular provider.
        ("groq", "anthropic/claude-sonnet-4.5", None),
    ] {
        let workdir = home_with("providers.json", &content);
        let run = zot(
            &workdir,
            &["--provider", provider, "--api-key", "x", "--model", model],
        );
        assert_eq!(run.code, Some(0), "{provider}: {}", run.stderr);
        assert!(run.stderr.contains(model), "{provider}: {}", run.stderr);
        assert!(run.stderr.contains("not in the catalog"), "{}", run.stderr);
        if let Some(nearest) = nearest {
            assert!(run.stderr.contains(nearest), "{}", run.stderr);
        }
        assert_eq!(server.requests().pop().unwrap().body["model"], model);
    }
}

#[test]
fn another_providers_model_is_an_error_on_the_command_line_and_a_warning_in_config_json() {
    let server = ModelServer::below("/v1");
    let workdir = home_with(
        "config.json",
        r#"{"provider":"openai","model":"claude-sonnet-4-5"}"#,
    );
    let run = zot(
        &workdir,
        &[
            "--provider",
            "openai",
            "--model",
            "claude-opus-4-1",
            "--api-key",
            "x",
        ],
    );
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains("--provider anthropic"),
        "{}",
        run.stderr
    );
    let origin = server.origin();
    let run = zot(&workdir, &["--base-url", &origin, "--api-key", "x"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("claude-sonnet-4-5"), "{}", run.stderr);
    let request = server.requests().pop().unwrap();
    assert_eq!(request.wire, Wire::OpenAi);
    assert_eq!(request.body["model"], "gpt-6.1-sol");
}

#[test]
fn an_unknown_provider_is_still_an_error() {
    let run = zot(&Workdir::new("work"), &["--provider", "opnai"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("openai"), "{}", run.stderr);
}

/// The output of `zot doctor --network` for names of the original.
#[test]
fn names_of_the_original_keep_their_meaning() {
    let workdir = Workdir::new("work");
    for (arguments, url) in [
        (
            &["--provider", "kimi"][..],
            "https://api.kimi.com/coding/v1/chat/completions",
        ),
        (
            &["--model", "kimi-for-coding"],
            "https://api.kimi.com/coding/v1/chat/completions",
        ),
        (
            &["--provider", "kimi-for-coding"],
            "https://api.kimi.com/coding/v1/chat/completions",
        ),
        (
            &["--provider", "moonshot"],
            "https://api.moonshot.ai/v1/chat/completions",
        ),
        (
            &["--provider", "kimi", "--model", "kimi-k3"],
            "https://api.moonshot.ai/v1/chat/completions",
        ),
        (
            &["--provider", "google"],
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro",
        ),
        (
            &["--provider", "Zai"],
            "https://api.z.ai/api/coding/paas/v4/chat/completions",
        ),
        (
            &["--provider", "minimax"],
            "https://api.minimax.io/anthropic/v1/messages",
        ),
        (
            &["--model", "claude-opus-4-1"],
            "https://api.anthropic.com/v1/messages",
        ),
    ] {
        let run = ZotCommand::new(binary(), &workdir)
            .arguments(["doctor", "--network", "--api-key", "x"])
            .arguments(arguments)
            .run("");
        assert!(run.stdout.contains(url), "{arguments:?}: {}", run.stdout);
    }
}

#[test]
fn keys_are_found_under_the_names_of_the_original() {
    let workdir = home_with(
        "auth.json",
        r#"{"google":{"type":"api_key","api_key":"google-canary"}}"#,
    );
    let file = workdir.home().join("zot/auth.json");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(&file, mode).unwrap();
    let server = ModelServer::below("/v1beta");
    let origin = server.origin();
    let run = zot(&workdir, &["--provider", "gemini", "--base-url", &origin]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let request = server.requests().pop().unwrap();
    assert_eq!(request.headers["x-goog-api-key"], "google-canary");
}
