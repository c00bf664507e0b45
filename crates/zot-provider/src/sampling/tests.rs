use crate::catalog::rules::refuses_sampling;

#[test]
fn models_that_always_reason_are_known() {
    for model in [
        "o1",
        "o3-mini",
        "openai/o4-mini",
        "gpt-5",
        "gpt-5.1-codex",
        "openai/gpt-5-nano",
        "gpt-5.9-surprise",
        "gpt-6.1-sol",
        "gpt-12",
        "o9",
        "ft:gpt-6-luna:me::1",
    ] {
        assert!(refuses_sampling(model), "{model}");
    }
    for model in [
        "gpt-4o",
        "gpt-5-chat-latest",
        "olmo-2",
        "openai/gpt-oss-120b",
        "opus",
        "fake-model",
    ] {
        assert!(!refuses_sampling(model), "{model}");
    }
}
