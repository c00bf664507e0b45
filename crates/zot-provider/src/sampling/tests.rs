use super::*;

#[test]
fn models_that_always_reason_are_known() {
    for model in [
        "o1",
        "o3-mini",
        "openai/o4-mini",
        "gpt-5",
        "gpt-5.1-codex",
        "openai/gpt-5-nano",
    ] {
        assert!(always_reasons(model), "{model}");
    }
    for model in [
        "gpt-4o",
        "gpt-5-chat-latest",
        "olmo-2",
        "openai/gpt-oss-120b",
        "opus",
        "fake-model",
    ] {
        assert!(!always_reasons(model), "{model}");
    }
}
