use serde_json::{Value, json};

use super::*;
use crate::catalog::{AcceptedThinking, Catalog};

fn request(model: &str) -> ModelRequest<'_> {
    ModelRequest {
        model,
        system: "",
        messages: &[],
        tools: &[],
        reasoning: Some(ReasoningEffort::High),
        max_output: 64_000,
        sampling: Sampling::default(),
    }
}

fn thinking_form(accepted: &AcceptedThinking, model: &str, learned: Option<Form>) -> ThinkingForm {
    let accepted = accepted.of(model);
    ThinkingForm::new(accepted.thinking, accepted.efforts, learned)
}

fn options(request: &ModelRequest<'_>) -> Value {
    let thinking_form = thinking_form(&AcceptedThinking::default(), request.model, None);
    let options = ThinkingOptions::new(request, thinking_form, || true);
    serde_json::to_value(options).unwrap()
}

#[test]
fn old_models_get_a_budget_and_new_ones_an_effort() {
    for model in [
        "claude-3-7-sonnet-20250219",
        "claude-opus-4-20250514",
        "claude-opus-4-5",
        "claude-haiku-4-5-20251001",
        "kimi-k2-thinking",
    ] {
        let expected = json!({"thinking": {"type": "enabled", "budget_tokens": 32_768}});
        assert_eq!(options(&request(model)), expected, "{model}");
    }
    for model in [
        "claude-opus-4-7",
        "claude-opus-4-8",
        "claude-sonnet-5",
        "claude-haiku-5-5",
        "claude-fable-5-2",
        "claude-opus-7",
        "anthropic.claude-fable-5-1",
    ] {
        let expected = json!({
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": "high"},
        });
        assert_eq!(options(&request(model)), expected, "{model}");
    }
    // Its thinking comes with text without being asked for it.
    let expected = json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}});
    assert_eq!(options(&request("claude-sonnet-4-6")), expected);
}

#[test]
fn efforts_a_model_does_not_know_become_the_nearest_it_knows() {
    let mut asked = request("claude-opus-5-5");
    asked.reasoning = Some(ReasoningEffort::Minimal);
    assert_eq!(options(&asked)["output_config"]["effort"], "low");
}

#[test]
fn thinking_is_sent_only_on_request() {
    for model in ["claude-opus-4-5", "claude-opus-4-8", "claude-fable-5-2"] {
        let mut asked = request(model);
        asked.reasoning = None;
        assert_eq!(options(&asked), json!({}), "{model}");
    }
    assert_eq!(options(&request("claude-3-opus-20240229")), json!({}));
}

#[test]
fn the_catalog_wins_over_the_name() {
    let mut catalog = Catalog::builtin();
    let mut own = crate::catalog::ModelInfo::unknown("anthropic", "house-model");
    own.thinking = Thinking::Adaptive;
    own.efforts = Efforts::of(&[ReasoningEffort::Medium]);
    catalog.put(own);
    let accepted = catalog.accepted_thinking("anthropic");
    let asked = request("house-model");
    let options =
        ThinkingOptions::new(&asked, thinking_form(&accepted, asked.model, None), || true);
    let expected = json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}});
    assert_eq!(serde_json::to_value(options).unwrap(), expected);
    // Under another provider it is another model.
    let other = thinking_form(&catalog.accepted_thinking("other"), "house-model", None);
    assert_eq!(other.form, Form::Budget);
}

#[test]
fn a_model_of_the_older_kind_that_wants_an_effort_gets_a_common_one() {
    let accepted = AcceptedThinking::default();
    let asked = request("claude-opus-4-5");
    let thinking_form = thinking_form(&accepted, asked.model, Some(Form::Adaptive));
    let options = ThinkingOptions::new(&asked, thinking_form, || true);
    let expected = json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}});
    assert_eq!(serde_json::to_value(options).unwrap(), expected);
}

#[test]
fn refusals_name_the_form_to_try_next() {
    let refused = r#""thinking.type.enabled" is not supported for this model. Use
        "thinking.type.adaptive" and "output_config.effort" to control thinking behavior."#;
    assert_eq!(Form::Budget.instead(refused), Some(Form::Adaptive));
    for refused in [
        "adaptive thinking is not supported on this model",
        "thinking: Input tag 'adaptive' found using 'type' does not match 'enabled' or 'disabled'",
        "This model does not support the effort parameter.",
        "output_config: Extra inputs are not permitted",
    ] {
        assert_eq!(
            Form::Adaptive.instead(refused),
            Some(Form::Budget),
            "{refused}"
        );
    }
    for refused in [
        "thinking.adaptive.display: Extra inputs are not permitted",
        "output_config.effort: unsupported effort level \"max\"",
    ] {
        let instead = Form::Adaptive.instead(refused);
        assert_eq!(instead, Some(Form::BareAdaptive), "{refused}");
    }
    for refused in [
        "`max_tokens` must be greater than `thinking.budget_tokens`",
        "messages.1.content.0: Expected `thinking`, but found `text`",
        "image exceeds 5 MB",
    ] {
        assert_eq!(Form::Budget.instead(refused), None, "{refused}");
        assert_eq!(Form::Adaptive.instead(refused), None, "{refused}");
    }
}

#[test]
fn budgets_stay_below_the_output_limit() {
    for effort in ReasoningEffort::ALL.into_iter().skip(1) {
        for limit in [1, 1024, 1025, 2000, 5000, 8192, 64_000] {
            let budget = budget(effort, limit);
            assert_eq!(budget.is_some(), limit > 1024, "{effort:?} {limit}");
            assert!(budget.is_none_or(|budget| (1024..limit).contains(&budget)));
        }
    }
    assert_eq!(budget(ReasoningEffort::High, 64_000), Some(32_768));
    assert_eq!(budget(ReasoningEffort::None, 64_000), None);
}

#[test]
fn sampling_goes_only_to_models_that_take_it() {
    let mut asked = request("claude-sonnet-4-5");
    asked.reasoning = None;
    asked.sampling = Sampling {
        temperature: Some(0.5),
        top_p: Some(0.9),
    };
    assert_eq!(options(&asked), json!({"temperature": 0.5}));
    asked.sampling.temperature = None;
    assert_eq!(options(&asked), json!({"top_p": 0.9}));
    asked.model = "claude-opus-4-6";
    assert_eq!(options(&asked), json!({"top_p": 0.9}));
    for model in [
        "claude-opus-4-7",
        "claude-sonnet-5",
        "claude-fable-5-2",
        "claude-haiku-6",
    ] {
        asked.model = model;
        assert_eq!(options(&asked), json!({}), "{model}");
    }
    asked.model = "claude-sonnet-4-5";
    asked.reasoning = Some(ReasoningEffort::Low);
    assert!(options(&asked).get("top_p").is_none());
}
