use std::fs;

use super::{LiveModel, ModelCache, models};
use crate::OpenAiQuirks;
use crate::catalog::{Catalog, Deprecation};
use crate::providers::Wire;

fn model(id: &str, name: &str, context_window: u64, max_output: u64) -> LiveModel {
    LiveModel {
        id: id.to_owned(),
        name: name.to_owned(),
        context_window,
        max_output,
        deprecation: None,
    }
}

fn ending(model: LiveModel, ends: &str, replacement: Option<&str>) -> LiveModel {
    LiveModel {
        deprecation: Some(Deprecation {
            ends: ends.parse().unwrap(),
            replacement: replacement.map(|id| id.to_owned().into()),
        }),
        ..model
    }
}

#[test]
fn facts_are_found_under_the_names_that_servers_give_them() {
    let chat = Wire::OpenAiChat(OpenAiQuirks::COMPATIBLE);
    for (entry, expected) in [
        // Groq.
        (
            r#"{"id":"m","context_window":131072,"max_completion_tokens":65536}"#,
            model("m", "m", 131_072, 65_536),
        ),
        // OpenRouter.
        (
            r#"{"id":"m","name":"M","context_length":1000,"expiration_date":"2026-12-31",
               "top_provider":{"context_length":900,"max_completion_tokens":64,"is_moderated":false}}"#,
            ending(model("m", "M", 1000, 64), "2026-12-31", None),
        ),
        // Mistral.
        (
            r#"{"id":"m","name":"M","max_context_length":32768,"deprecation":"2026-11-30T12:00:00Z",
               "deprecation_replacement_model":"n","capabilities":{}}"#,
            ending(model("m", "M", 32_768, 0), "2026-11-30", Some("n")),
        ),
        // Anthropic.
        (
            r#"{"id":"m","display_name":"M","max_input_tokens":200000,"max_tokens":64000}"#,
            model("m", "M", 200_000, 64_000),
        ),
        // vLLM.
        (
            r#"{"id":"m","max_model_len":4096}"#,
            model("m", "m", 4096, 0),
        ),
        // Two names at once, and facts that make no sense.
        (
            r#"{"id":"m","name":null,"context_length":5,"context_window":7,"max_tokens":"many","deprecation":"soon"}"#,
            model("m", "m", 7, 0),
        ),
        (
            r#"{"id":"m","context_length":-1,"max_tokens":0,"deprecation":null,"top_provider":null}"#,
            model("m", "m", 0, 0),
        ),
    ] {
        let list = format!(r#"{{"data":[{entry}]}}"#);
        assert_eq!(
            models(chat, list.as_bytes()).unwrap(),
            [expected],
            "{entry}"
        );
    }
}

#[test]
fn a_catalog_takes_from_a_list_what_it_lacks() {
    let mut catalog = Catalog::builtin();
    let before = catalog
        .find("mistral", "mistral-large-latest")
        .unwrap()
        .clone();
    catalog.add_live(
        "mistral",
        &[
            ending(
                model("mistral-large-latest", "Other", 1, 1),
                "2027-01-31",
                Some("n"),
            ),
            ending(model("mistral-new", "New", 1000, 100), "2027-02-28", None),
        ],
    );
    let known = catalog.find("mistral", "mistral-large-latest").unwrap();
    assert_eq!(known.context_window, before.context_window);
    assert_eq!(known.name, before.name);
    assert_eq!(
        known.deprecation.as_ref().unwrap().ends.to_string(),
        "2027-01-31"
    );
    let new = catalog.find("mistral", "mistral-new").unwrap();
    assert_eq!((new.context_window, new.max_output), (1000, 100));
    assert_eq!(
        new.deprecation.as_ref().unwrap().ends.to_string(),
        "2027-02-28"
    );
}

#[test]
fn lists_are_read_as_servers_write_them() {
    let openai = br#"{"object":"list","data":[{"id":"gpt-9","object":"model","owned_by":"x"},
        {"id":"a/b","name":"A B","context_length":1000,"pricing":{}},{"id":"with blank"},{"id":""}]}"#;
    let chat = Wire::OpenAiChat(OpenAiQuirks::COMPATIBLE);
    assert_eq!(
        models(chat, openai).unwrap(),
        [model("gpt-9", "gpt-9", 0, 0), model("a/b", "A B", 1000, 0)]
    );
    let anthropic = br#"{"data":[{"type":"model","id":"claude-9","display_name":"Claude 9"}],"has_more":false}"#;
    assert_eq!(
        models(Wire::Anthropic, anthropic).unwrap(),
        [model("claude-9", "Claude 9", 0, 0)]
    );
    let gemini = br#"{"models":[{"name":"models/gemini-9","inputTokenLimit":5,"outputTokenLimit":2,
        "supportedGenerationMethods":["generateContent"]},
        {"name":"models/embedding","supportedGenerationMethods":["embedContent"]}]}"#;
    assert_eq!(
        models(Wire::Gemini, gemini).unwrap(),
        [model("gemini-9", "gemini-9", 5, 2)]
    );
    assert!(models(chat, b"<html>").is_none());
    assert!(models(chat, b"{}").is_none());
}

#[test]
fn what_is_remembered_comes_back_for_that_address_only() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("home/models-cache.json");
    assert!(ModelCache::load(&path).get("a", "http://x").is_none());
    let list = vec![
        model("m", "M", 7, 8),
        ending(model("n", "N", 0, 0), "2026-11-30", Some("m")),
    ];
    ModelCache::remember(&path, "a", "http://x", list.clone()).unwrap();
    ModelCache::remember(&path, "b", "http://y", Vec::new()).unwrap();
    let cache = ModelCache::load(&path);
    let remembered = cache.get("a", "http://x").unwrap();
    assert_eq!(remembered.models, list);
    assert!(remembered.is_current());
    assert!(cache.get("a", "http://other").is_none());
    assert!(cache.get("b", "http://y").is_some());
}

#[test]
fn an_old_or_foreign_file_does_no_harm() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("models-cache.json");
    for foreign in [
        "",
        "[]",
        r#"{"providers":{"a":{"x":1}}}"#,
        "{\"models\":[]}",
    ] {
        fs::write(&path, foreign).unwrap();
        assert!(ModelCache::load(&path).get("a", "http://x").is_none());
    }
    let old = r#"{"providers":{"a":{"fetched_at":1000,"base_url":"u","models":[{"id":"m","name":"m"}]}}}"#;
    fs::write(&path, old).unwrap();
    let cache = ModelCache::load(&path);
    assert!(!cache.get("a", "u").unwrap().is_current());
    let future = old.replace("1000", "99999999999");
    fs::write(&path, future).unwrap();
    assert!(!ModelCache::load(&path).get("a", "u").unwrap().is_current());
}
