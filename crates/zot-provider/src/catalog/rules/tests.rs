use zot_conversation::ReasoningEffort;

use super::{binds_thinking, can_think, efforts, is_claude_since_4_7, openai_wire, thinking};
use crate::catalog::{ModelInfo, OpenAiWire, Thinking};

fn efforts_of(id: &str) -> String {
    let names: Vec<&str> = efforts(id).iter().map(ReasoningEffort::as_str).collect();
    names.join(" ")
}

#[test]
fn openai_models_from_5_4_on_belong_on_responses() {
    for id in [
        "gpt-3.5-turbo",
        "gpt-4",
        "gpt-4-turbo-2024-04-09",
        "gpt-4o",
        "gpt-4o-2024-11-20",
        "chatgpt-4o-latest",
        "gpt-4.1-mini",
        "gpt-5",
        "gpt-5-2025-08-07",
        "gpt-5-mini",
        "gpt-5-chat-latest",
        "gpt-5.1",
        "gpt-5.3",
        "ft:gpt-4o-mini:me::abc",
        "o1",
        "o3-mini",
        "o4-mini-2025-04-16",
        "gpt-oss-120b",
        "openai/gpt-oss-20b",
        // Models of compatible servers.
        "llama3",
        "qwen3-coder",
        "olmo-2",
        "orca-mini",
        "mistral-large",
        "",
    ] {
        assert_eq!(openai_wire(id), OpenAiWire::Chat, "{id}");
    }
    for id in [
        "gpt-5.4",
        "gpt-5.4-mini",
        "gpt-5.4-2026-03-05",
        "gpt-5.5",
        "gpt-5.6-luna",
        "gpt-5.10",
        "gpt-6",
        "gpt-6.1-sol",
        "gpt-10-mini",
        "ft:gpt-6-luna:me::abc",
        "gpt-5-codex",
        "gpt-5.1-codex-max",
        "codex-mini-latest",
        "gpt-5-pro",
        "gpt-5-pro-2025-10-06",
        "o1-pro",
        "o3-pro",
        "o3-deep-research",
        "o5",
        "o6-mini",
        "computer-use-preview",
        "gpt-daybreak-blue-latest",
        "chat-latest",
    ] {
        assert_eq!(openai_wire(id), OpenAiWire::Responses, "{id}");
    }
}

#[test]
fn claude_thinks_adaptively_from_4_6_on() {
    for id in [
        "claude-instant-1.2",
        "claude-2.1",
        "claude-3-haiku-20240307",
        "claude-3-7-sonnet-20250219",
        "claude-3.7-sonnet",
        "claude-sonnet-4-20250514",
        "claude-opus-4",
        "claude-opus-4-0",
        "claude-opus-4-1-20250805",
        "claude-opus-4.1",
        "claude-haiku-4-5-20251001",
        "claude-sonnet-4-5@20250929",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "anthropic/claude-opus-4.5",
        // Other makers' models behind the same wire.
        "kimi-k2",
        "MiniMax-M2",
        "glm-4.6",
    ] {
        assert_eq!(thinking(id), Thinking::Budget, "{id}");
    }
    for id in [
        "claude-sonnet-4-6",
        "claude-opus-4-6-20260205",
        "claude-opus-4-7",
        "claude-opus-4-8",
        "anthropic/claude-opus-4.7",
        "us.anthropic.claude-opus-4-7-v1:0",
        "claude-haiku-4-9",
        "claude-sonnet-4-10",
        "claude-sonnet-5",
        "claude-opus-5-5",
        "claude-haiku-5-5-20261001",
        "claude-fable-5",
        "claude-fable-5-2",
        "claude-mythos-preview",
        "claude-sonnet-6",
        "claude-saga-12-1",
        "claude-next",
    ] {
        assert_eq!(thinking(id), Thinking::Adaptive, "{id}");
    }
}

#[test]
fn names_tell_which_efforts_a_model_accepts() {
    for (id, expected) in [
        ("gpt-4o", ""),
        ("gpt-4.1", ""),
        ("gpt-3.5-turbo", ""),
        ("gpt-5-chat-latest", ""),
        ("gpt-5", "minimal low medium high"),
        ("gpt-5-mini-2025-08-07", "minimal low medium high"),
        ("gpt-5-pro", "high"),
        ("gpt-5-codex", "low medium high"),
        ("gpt-5.1", "none low medium high"),
        ("gpt-5.1-codex-max", "low medium high xhigh"),
        ("gpt-5.2", "none low medium high xhigh"),
        ("gpt-5.2-pro", "medium high xhigh"),
        ("gpt-5.5-2026-04-23", "none low medium high xhigh"),
        ("gpt-5.6-luna", "low medium high xhigh max"),
        ("gpt-7", "low medium high xhigh max"),
        ("o1", "low medium high"),
        ("o1-mini", ""),
        ("o4-mini", "low medium high"),
        ("openai/gpt-oss-120b", "low medium high"),
        ("claude-sonnet-4-5", ""),
        ("claude-opus-4-6", "low medium high max"),
        ("claude-opus-4-7", "low medium high xhigh max"),
        ("claude-fable-7", "low medium high xhigh max"),
        ("gemini-2.5-pro", ""),
        ("gemini-3-flash-preview", "minimal low medium high"),
        ("gemini-3.1-pro-preview", "low medium high"),
        ("gemini-5-argon", "low medium high"),
        ("grok-3", ""),
        ("grok-3-mini", "low high"),
        ("grok-4.20-reasoning", ""),
        ("grok-4", ""),
        ("grok-4.8", "low medium high xhigh"),
        ("house-model", "low medium high"),
    ] {
        assert_eq!(efforts_of(id), expected, "{id}");
    }
}

#[test]
fn unknown_models_get_what_their_name_tells() {
    let model = ModelInfo::unknown("openai", "gpt-9-nova");
    assert_eq!(model.wire, Some(OpenAiWire::Responses));
    assert_eq!(
        ModelInfo::unknown("openrouter", "openai/gpt-9-nova").wire,
        None
    );
    let model = ModelInfo::unknown("anthropic", "claude-opus-9");
    assert_eq!(model.thinking, Thinking::Adaptive);
    assert!(model.efforts.contains(ReasoningEffort::Max));
}

#[test]
fn what_claude_refuses_follows_from_its_version() {
    for (id, thinks, refuses_sampling, binds) in [
        ("claude-3-5-haiku-20241022", false, false, false),
        ("claude-3-7-sonnet-20250219", true, false, false),
        ("claude-opus-4-20250514", true, false, false),
        ("claude-sonnet-4-6", true, false, false),
        ("claude-opus-4-7", true, true, false),
        ("claude-opus-5", true, true, false),
        ("claude-fable-5", true, true, false),
        ("claude-fable-5-1", true, true, true),
        ("anthropic.claude-mythos-5-1", true, true, true),
        ("claude-opus-5-5-20260922", true, true, true),
        ("anthropic/claude-haiku-5.5", true, true, true),
        ("claude-sonnet-6", true, true, true),
        ("claude-latest", true, true, true),
        ("kimi-k3", true, false, false),
    ] {
        assert_eq!(can_think(id), thinks, "{id}");
        assert_eq!(is_claude_since_4_7(id), refuses_sampling, "{id}");
        assert_eq!(binds_thinking(id), binds, "{id}");
    }
}
