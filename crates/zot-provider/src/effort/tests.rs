use super::*;
use crate::catalog::Catalog;

fn asked(model: &str, wanted: &str) -> AskedEffort {
    let rules = EffortRules::new(Catalog::builtin().accepted_thinking("openai"));
    rules.asked(model, ReasoningEffort::named(wanted))
}

#[test]
fn models_get_the_nearest_effort_they_know() {
    for (model, wanted, sent) in [
        ("gpt-5", "minimal", Some(Effort::Minimal)),
        ("gpt-5", "none", Some(Effort::Minimal)),
        ("gpt-5", "xhigh", Some(Effort::High)),
        ("gpt-5.1", "minimal", Some(Effort::Low)),
        ("gpt-5.1", "off", Some(Effort::None)),
        ("gpt-5.2", "xhigh", Some(Effort::Xhigh)),
        ("gpt-5.2", "max", Some(Effort::Xhigh)),
        ("gpt-5-pro", "low", Some(Effort::High)),
        ("gpt-5.1-codex", "xhigh", Some(Effort::High)),
        ("gpt-9-surprise", "max", Some(Effort::Max)),
        ("o3", "minimal", Some(Effort::Low)),
        ("gpt-4o", "high", None),
        ("gpt-4.1", "none", None),
        ("gpt-5-chat-latest", "high", None),
    ] {
        let asked = asked(model, wanted);
        assert_eq!(asked.effort, sent, "{model} {wanted}");
        let wanted = ReasoningEffort::named(wanted).map(Effort::from);
        let is_unasked = sent.is_none() && wanted == Some(Effort::None);
        let as_wanted = sent == wanted || is_unasked;
        assert_eq!(asked.notice.is_none(), as_wanted, "{model}: {asked:?}");
    }
    let unasked = EffortRules::default().asked("gpt-5", None);
    assert_eq!(unasked, AskedEffort::default());
}

#[test]
fn an_effort_that_was_refused_is_not_sent_again() {
    let rules = EffortRules::default();
    let first = rules.asked("house-model", Some(ReasoningEffort::High));
    let refusal = |text: &str| ModelError::new(ModelErrorKind::Invalid, text);
    for about_else in [
        "openai: http 400: max_tokens is too large",
        "openai: http 400: tools with reasoning_effort are not supported. Use /v1/responses",
    ] {
        assert!(!rules.learn("house-model", &first, &refusal(about_else)));
    }
    let unsupported = refusal("openai: http 400: 'reasoning_effort' does not support 'high'");
    assert!(rules.learn("house-model", &first, &unsupported));
    let second = rules.asked("house-model", Some(ReasoningEffort::High));
    assert_eq!(second.effort, None);
    assert!(second.notice.is_some());
    // Refused without one, the refusal stands.
    assert!(!rules.learn("house-model", &second, &unsupported));
}
