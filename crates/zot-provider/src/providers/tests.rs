use std::fs;

use super::*;
use crate::openai::{CallIdForm, EffortField, OutputLimitField, ReasoningReplay, UsageReport};

const COMPATIBLE: OpenAiQuirks = OpenAiQuirks::COMPATIBLE;

fn load(json: &str) -> Providers {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("providers.json");
    fs::write(&path, json).unwrap();
    Providers::load(&path)
}

#[track_caller]
fn refused(json: &str, parts: &[&str]) {
    let table = load(json);
    let [problem] = table.problems() else {
        panic!("{:?}", table.problems());
    };
    let error = problem.to_string();
    for part in ["providers.json"].iter().chain(parts) {
        assert!(error.contains(part), "{part:?} is not in {error}");
    }
}

#[test]
fn the_built_in_table_is_whole() {
    let parsed = file::parse_builtin(BUILTIN_JSON).unwrap();
    assert_eq!(parsed.len(), BUILTIN_JSON.matches("\"wire\"").count());
    let names: Vec<&str> = providers()
        .iter()
        .map(|entry| entry.name.as_ref())
        .collect();
    assert_eq!(
        names,
        [
            "anthropic",
            "openai",
            "deepseek",
            "moonshotai",
            "kimi",
            "ollama",
            "openrouter",
            "groq",
            "xai",
            "mistral",
            "openai-responses",
            "gemini",
            "together",
            "fireworks",
            "cerebras",
            "lmstudio",
            "vllm",
            "llama.cpp",
            "kimi-for-coding",
            "moonshotai-cn",
            "huggingface",
            "zai",
            "xiaomi",
            "minimax",
            "minimax-cn",
            "vercel-ai-gateway",
            "opencode",
            "opencode-go",
        ]
    );
    for entry in providers() {
        assert!(matches!(entry.name, Cow::Borrowed(_)), "{}", entry.name);
        assert!(!entry.key_variables.is_empty() && !entry.default_model.is_empty());
    }
}

#[test]
fn the_built_in_quirks_are_what_these_servers_need() {
    let quirks = |name| match provider(name).unwrap().wire {
        Wire::OpenAiChat(quirks) => quirks,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(
        quirks("openai").output_limit,
        OutputLimitField::MaxCompletionTokens
    );
    assert_eq!(quirks("kimi").effort, EffortField::Absent);
    assert_eq!(quirks("kimi").reasoning_replay, ReasoningReplay::Always);
    assert_eq!(
        quirks("deepseek").reasoning_replay,
        ReasoningReplay::WithToolCalls
    );
    assert_eq!(quirks("mistral").usage_report, UsageReport::Always);
    assert_eq!(quirks("mistral").reasoning_replay, ReasoningReplay::AsParts);
    assert_eq!(quirks("groq"), COMPATIBLE);
    assert_eq!(provider("openai-responses").unwrap().catalog, "openai");
    assert_eq!(provider("ollama").unwrap().key, KeyRequirement::Optional);
    assert_eq!(provider("openai").unwrap().key, KeyRequirement::Needed);
    assert!(provider("nobody").is_none());
}

#[test]
fn a_user_entry_is_added_at_the_end() {
    let table = load(
        r#"{"providers":{"mine":{"wire":"openai","baseUrl":"http://box:8080/v1","defaultModel":"m",
            "quirks":{"effort":"absent"},"key":"optional","keyVariables":["MINE_KEY"]}}}"#,
    );
    let last = table.iter().last().unwrap();
    let expected = ProviderEntry {
        name: "mine".into(),
        aliases: Vec::new(),
        base_url: "http://box:8080/v1".into(),
        wire: Wire::OpenAiChat(OpenAiQuirks {
            effort: EffortField::Absent,
            ..COMPATIBLE
        }),
        wire_choice: WireChoice::Provider,
        key_variables: vec!["MINE_KEY".into()],
        key: KeyRequirement::Optional,
        default_model: "m".into(),
        catalog: "mine".into(),
        oauth: None,
    };
    assert_eq!(last, &expected);
    assert_eq!(table.iter().count(), providers().len() + 1);
}

#[test]
fn a_known_name_is_corrected_field_by_field() {
    let table = load(
        r#"{"providers":{"mistral":{"quirks":{"effort":"reasoning_effort"}},
            "openai":{"wire":"openai-responses","baseUrl":"https://proxy.example/v1"}}}"#,
    );
    let before = provider("mistral").unwrap();
    let quirks = OpenAiQuirks {
        usage_report: UsageReport::Always,
        call_ids: CallIdForm::NineAlphanumerics,
        reasoning_replay: ReasoningReplay::AsParts,
        ..COMPATIBLE
    };
    let expected = ProviderEntry {
        wire: Wire::OpenAiChat(quirks),
        ..before.clone()
    };
    assert_eq!(table.get("mistral"), Some(&expected));
    let openai = table.get("openai").unwrap();
    assert_eq!(openai.wire, Wire::OpenAiResponses);
    assert_eq!(openai.base_url, "https://proxy.example/v1");
    assert_eq!(openai.default_model, "gpt-6.1-sol");
    let names = |table: &Providers| -> Vec<String> {
        table.iter().map(|entry| entry.name.to_string()).collect()
    };
    assert_eq!(names(&table), names(&Providers::builtin()));
}

#[test]
fn no_file_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("providers.json");
    assert_eq!(Providers::load(&missing), Providers::builtin());
    assert_eq!(load(r#"{"providers":{}}"#), Providers::builtin());
}

#[test]
fn mistakes_are_named_with_what_is_known() {
    refused("{\n\"providers\": ]", &["line 2", "correct the file"]);
    refused(
        r#"{"providers":{"x":{"wire":"grpc"}}}"#,
        &[
            "\"x\"",
            "grpc",
            "`anthropic`",
            "`openai`",
            "`openai-responses`",
            "`gemini`",
        ],
    );
    refused(
        r#"{"providers":{"openai":{"quirks":{"odd":1}}}}"#,
        &["\"openai\"", "odd", "`outputLimit`", "`usageReport`"],
    );
    refused(
        r#"{"providers":{"openai":{"quirks":{"effort":"much"}}}}"#,
        &["much", "`reasoning_effort`", "`absent`"],
    );
    refused(
        r#"{"providers":{"openai":{"url":"x"}}}"#,
        &["url", "`baseUrl`"],
    );
    refused(
        r#"{"providers":{"x":{"wire":"openai","baseUrl":"http://x"}}}"#,
        &["\"x\"", "\"defaultModel\""],
    );
    refused(
        r#"{"providers":{"x":{"baseUrl":"http://x"}}}"#,
        &["\"wire\""],
    );
    refused(
        r#"{"providers":{"xai":{"baseUrl":"x.ai"}}}"#,
        &["xai", "https://"],
    );
    refused(
        r#"{"providers":{"anthropic":{"quirks":{"effort":"absent"}}}}"#,
        &["anthropic", "quirks"],
    );
    refused(
        r#"{"providers":{"offline":{"wire":"openai"}}}"#,
        &["offline", "another name"],
    );
}

#[test]
fn a_file_that_cannot_be_used_leaves_what_is_built_in() {
    let directory = tempfile::tempdir().unwrap();
    let huge = " ".repeat((1 << 20) + 1);
    for table in [
        Providers::load(directory.path()),
        load(&huge),
        load("[1]"),
        load("{"),
    ] {
        assert_eq!(table.problems().len(), 1);
        assert_eq!(table.iter().count(), providers().len());
        assert!(table.problem_of("openai").is_none());
        assert!(table.problem_of("mine").is_some());
    }
}

#[test]
fn one_bad_entry_leaves_the_others_in_force() {
    for bad in [
        r#""bad":{"wire":"grpc"}"#,
        r#""bad":{"wire":"openai","baseUrl":"box","defaultModel":"m"}"#,
        r#""bad":7"#,
        r#""openai":{"baseUrl":5}"#,
    ] {
        let good = r#""good":{"wire":"openai","baseUrl":"http://box","defaultModel":"m"}"#;
        let table = load(&format!(r#"{{"providers":{{{bad},{good}}}}}"#));
        assert_eq!(table.problems().len(), 1, "{bad}");
        assert_eq!(table.get("good").unwrap().base_url, "http://box");
        assert!(table.problem_of("good").is_none());
        let name = bad.split('"').nth(1).unwrap();
        assert!(table.problem_of(name).is_some(), "{bad}");
    }
}

#[test]
fn providers_have_other_names() {
    for (alias, name) in [
        ("google", "gemini"),
        ("google-ai", "gemini"),
        ("moonshot", "moonshotai"),
        ("openai-codex", "openai"),
        ("codex", "openai"),
        ("anthropic-messages", "anthropic"),
        ("kimi-code", "kimi"),
        ("deepseek-ai", "deepseek"),
        ("hf", "huggingface"),
        ("llamacpp", "llama.cpp"),
        ("vercel", "vercel-ai-gateway"),
        ("OpenAI", "openai"),
        (" Google ", "gemini"),
    ] {
        assert_eq!(provider(alias).unwrap().name, name, "{alias}");
    }
    let mut names = Vec::new();
    for entry in providers() {
        names.push(&entry.name);
        names.extend(&entry.aliases);
    }
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "a name is there twice");
    // A name of the user's own comes before an alias.
    let table = load(
        r#"{"providers":{"google":{"wire":"openai","baseUrl":"http://mine","defaultModel":"m",
            "aliases":["goo"]}}}"#,
    );
    assert_eq!(table.get("google").unwrap().base_url, "http://mine");
    assert_eq!(table.get("goo").unwrap().name, "google");
}

#[test]
fn wires_have_the_names_of_the_original() {
    let chat = Some(Wire::OpenAiChat(COMPATIBLE));
    for (name, wire) in [
        ("openai", chat),
        ("openai-completions", chat),
        ("openai-chat", chat),
        ("chat", chat),
        ("responses", Some(Wire::OpenAiResponses)),
        ("openai-responses", Some(Wire::OpenAiResponses)),
        ("anthropic-messages", Some(Wire::Anthropic)),
        ("messages", Some(Wire::Anthropic)),
        (" Anthropic ", Some(Wire::Anthropic)),
        ("google", Some(Wire::Gemini)),
        ("google-generative-ai", Some(Wire::Gemini)),
        ("grpc", None),
        ("", None),
    ] {
        assert_eq!(Wire::named(name), wire, "{name:?}");
    }
    let table = load(
        r#"{"providers":{"x":{"api":"anthropic-messages","baseUrl":"http://x","defaultModel":"m"}}}"#,
    );
    assert_eq!(table.get("x").unwrap().wire, Wire::Anthropic);
}

#[test]
fn models_json_describes_providers_too() {
    let user = |name: &str| UserProvider {
        name: name.to_owned(),
        base_url: Some("http://box".to_owned()),
        is_for_all: true,
        wire: None,
        keyless: false,
        first_model: Some("m".to_owned()),
    };
    let mut table = Providers::builtin();
    table.add_user_providers(&[
        UserProvider {
            wire: Some(Wire::Anthropic),
            ..user("my-company")
        },
        UserProvider {
            base_url: None,
            ..user("nowhere")
        },
        user("mistral"),
        UserProvider {
            keyless: true,
            ..user("groq")
        },
        UserProvider {
            is_for_all: false,
            ..user("xai")
        },
    ]);
    let company = table.get("my-company").unwrap();
    assert_eq!(company.wire, Wire::Anthropic);
    assert_eq!(company.key, KeyRequirement::Optional);
    assert_eq!(company.key_variables, ["MY_COMPANY_API_KEY"]);
    assert_eq!(company.default_model, "m");
    assert!(table.get("nowhere").is_none());
    let mistral = table.get("mistral").unwrap();
    assert_eq!(mistral.base_url, "http://box");
    assert_eq!(mistral.wire, provider("mistral").unwrap().wire);
    assert_eq!(mistral.key, KeyRequirement::Optional);
    assert_eq!(table.get("groq").unwrap().key, KeyRequirement::Unused);
    assert_eq!(table.get("xai"), provider("xai"));
}

#[test]
fn every_default_model_is_one_the_catalog_knows() {
    let catalog = crate::catalog::Catalog::builtin();
    for entry in super::providers() {
        if catalog.covers(&entry.catalog) {
            let model = catalog.find(&entry.catalog, &entry.default_model);
            assert!(model.is_some(), "{}: {}", entry.name, entry.default_model);
        }
    }
}

#[test]
fn a_login_is_described_by_its_user() {
    let json = |oauth: &str| {
        format!(
            r#"{{"providers":{{"mine":{{"wire":"openai","baseUrl":"https://a/v1","defaultModel":"m","oauth":{oauth}}}}}}}"#
        )
    };
    let table = load(&json(
        r#"{"clientId":"me","authorizeUrl":"https://a/authorize","tokenUrl":"http://127.0.0.1:9/token",
            "scopes":["models"],"parameters":{"audience":"x"}}"#,
    ));
    let oauth = table.get("mine").unwrap().oauth.clone().unwrap();
    assert_eq!(oauth.redirect_path, "/callback");
    assert_eq!(oauth.parameters.len(), 1);
    for (oauth, problem) in [
        (
            r#"{"clientId":"me","tokenUrl":"https://a"}"#,
            "authorizeUrl",
        ),
        (
            r#"{"clientId":"","tokenUrl":"https://a","deviceUrl":"https://a"}"#,
            "clientId",
        ),
        (
            r#"{"clientId":"me","tokenUrl":"http://a","deviceUrl":"https://a"}"#,
            "not https",
        ),
        (
            r#"{"clientId":"me","tokenUrl":"http://127.0.0.1.evil","deviceUrl":"https://a"}"#,
            "not https",
        ),
        (
            r#"{"clientId":"me","tokenUrl":"https://a","deviceUrl":"https://a","x":1}"#,
            "unknown field",
        ),
    ] {
        refused(&json(oauth), &[problem]);
    }
    assert!(
        providers().iter().all(|entry| entry.oauth.is_none()),
        "we ship none"
    );
}

#[test]
fn secret_variables_are_those_of_every_provider_and_of_zino() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("providers.json");
    let own = r#"{"providers":{"mine":{"baseUrl":"https://a","wire":"openai","defaultModel":"m","keyVariables":["MINE_KEY"]}}}"#;
    std::fs::write(&file, own).unwrap();
    let names = Providers::load(&file).secret_variables();
    for name in ["OPENAI_API_KEY", "HF_TOKEN", "MINE_KEY", "LLM_API_KEY"] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    assert!(names.is_sorted_by(|one, other| one < other), "{names:?}");
}
