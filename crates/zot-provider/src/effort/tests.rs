use super::*;
use crate::catalog::Catalog;

fn asked(model: &str, wanted: &str) -> Option<ReasoningEffort> {
    let rules = EffortRules::new(Catalog::builtin().accepted_thinking("openai"));
    rules.nearest(model, wanted.parse().ok())
}

#[test]
fn models_get_the_nearest_effort_they_know() {
    for (model, wanted, sent) in [
        ("gpt-5", "minimal", Some(ReasoningEffort::Minimal)),
        ("gpt-5", "none", Some(ReasoningEffort::Minimal)),
        ("gpt-5", "xhigh", Some(ReasoningEffort::High)),
        ("gpt-5.1", "minimal", Some(ReasoningEffort::Low)),
        ("gpt-5.1", "off", Some(ReasoningEffort::None)),
        ("gpt-5.2", "xhigh", Some(ReasoningEffort::Xhigh)),
        ("gpt-5.2", "max", Some(ReasoningEffort::Xhigh)),
        ("gpt-5-pro", "low", Some(ReasoningEffort::High)),
        ("gpt-5.1-codex", "xhigh", Some(ReasoningEffort::High)),
        ("gpt-9-surprise", "max", Some(ReasoningEffort::Max)),
        ("o3", "minimal", Some(ReasoningEffort::Low)),
        ("gpt-4o", "high", None),
        ("gpt-4.1", "none", None),
        ("gpt-5-chat-latest", "high", None),
    ] {
        assert_eq!(asked(model, wanted), sent, "{model} {wanted}");
        let wanted: ReasoningEffort = wanted.parse().unwrap();
        let is_unasked = sent.is_none() && wanted == ReasoningEffort::None;
        let as_wanted = sent == Some(wanted) || is_unasked;
        let catalog = Catalog::builtin();
        let unknown = ModelInfo::unknown("openai", model);
        let info = catalog.find("openai", model).unwrap_or(&unknown);
        let note = effort_note(info, wanted);
        assert_eq!(note.is_none(), as_wanted, "{model}: {note:?}");
    }
    assert_eq!(EffortRules::default().nearest("gpt-5", None), None);
}

#[test]
fn an_effort_that_was_refused_is_not_sent_again() {
    let rules = EffortRules::default();
    let first = rules.nearest("house-model", Some(ReasoningEffort::High));
    let refusal = |text: &str| ModelError::new(ModelErrorKind::Invalid, text);
    for about_else in [
        "openai: http 400: max_tokens is too large",
        "openai: http 400: tools with reasoning_effort are not supported. Use /v1/responses",
    ] {
        assert!(!rules.learn("house-model", first, &refusal(about_else)));
    }
    let unsupported = refusal("openai: http 400: 'reasoning_effort' does not support 'high'");
    assert!(rules.learn("house-model", first, &unsupported));
    let second = rules.nearest("house-model", Some(ReasoningEffort::High));
    assert_eq!(second, None);
    // Refused without one, the refusal stands.
    assert!(!rules.learn("house-model", second, &unsupported));
}
