use std::fs;

use super::{LiveModel, ModelCache, models};
use crate::OpenAiQuirks;
use crate::providers::Wire;

fn model(id: &str, name: &str, context_window: u64, max_output: u64) -> LiveModel {
    LiveModel {
        id: id.to_owned(),
        name: name.to_owned(),
        context_window,
        max_output,
    }
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
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("home/models-cache.json");
    assert!(ModelCache::load(&path).get("a", "http://x").is_none());
    let list = vec![model("m", "M", 7, 8)];
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
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("models-cache.json");
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
