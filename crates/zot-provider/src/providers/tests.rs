use std::fs;

use super::*;
use crate::openai::{EffortField, OutputLimitField, ReasoningReplay, UsageReport};

const COMPATIBLE: OpenAiQuirks = OpenAiQuirks::COMPATIBLE;

fn load(json: &str) -> Result<Providers, ProvidersError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("providers.json");
    fs::write(&path, json).unwrap();
    Providers::load(&path)
}

#[track_caller]
fn refused(json: &str, parts: &[&str]) {
    let error = load(json).unwrap_err().to_string();
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
    )
    .unwrap();
    let last = table.iter().last().unwrap();
    let expected = ProviderEntry {
        name: "mine".into(),
        base_url: "http://box:8080/v1".into(),
        wire: Wire::OpenAiChat(OpenAiQuirks {
            effort: EffortField::Absent,
            ..COMPATIBLE
        }),
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
    )
    .unwrap();
    let before = provider("mistral").unwrap();
    let quirks = OpenAiQuirks {
        usage_report: UsageReport::Always,
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
    assert_eq!(openai.default_model, "gpt-5");
    let names = |table: &Providers| -> Vec<String> {
        table.iter().map(|entry| entry.name.to_string()).collect()
    };
    assert_eq!(names(&table), names(&Providers::builtin()));
}

#[test]
fn no_file_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("providers.json");
    assert_eq!(Providers::load(&missing).unwrap(), Providers::builtin());
    assert_eq!(load(r#"{"providers":{}}"#).unwrap(), Providers::builtin());
}

#[test]
fn mistakes_are_named_with_what_is_known() {
    refused("{\n\"providers\": ]", &["line 2", "correct the file"]);
    refused(
        "{\"providers\":{\"x\":\n{\"wire\":\"grpc\"}}}",
        &[
            "line 2",
            "grpc",
            "`anthropic`",
            "`openai`",
            "`openai-responses`",
            "`gemini`",
        ],
    );
    refused(
        "{\"providers\":{\"openai\":{\"quirks\":\n{\"odd\":1}}}}",
        &["line 2", "odd", "`outputLimit`", "`usageReport`"],
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
fn an_unreadable_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let error = Providers::load(folder.path()).unwrap_err();
    assert!(matches!(error, ProvidersError::Unreadable { .. }));
    let huge = " ".repeat((1 << 20) + 1);
    assert!(matches!(
        load(&huge),
        Err(ProvidersError::Unreadable { .. })
    ));
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
    ))
    .unwrap();
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
