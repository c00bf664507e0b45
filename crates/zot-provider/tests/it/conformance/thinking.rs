//! Thinking on the Anthropic wire, against a server that refuses what the service refuses.

use serde_json::Value;
use zot_conversation::{ModelErrorKind, ReasoningEffort};
use zot_provider::AnthropicClient;

use super::*;

fn anthropic(server: &ModelServer) -> AnthropicClient {
    let endpoint = Endpoint {
        provider: "anthropic".to_owned(),
        base_url: server.url(testkit::Wire::Anthropic),
        api_key: Some(KEY.into()),
    };
    AnthropicClient::new(HttpClient::new(), endpoint)
}

fn asked<'a>(model: &'a str, messages: &'a [Arc<Message>]) -> ModelRequest<'a> {
    ModelRequest {
        model,
        system: "be good",
        messages,
        tools: &[],
        reasoning: Some(ReasoningEffort::High),
        max_output: 64_000,
        sampling: Sampling::default(),
    }
}

fn kinds_sent(server: &ModelServer) -> Vec<String> {
    let requests = server.requests();
    let kind = |request: &RecordedRequest| match &request.body["thinking"]["type"] {
        Value::String(kind) => kind.clone(),
        _ => "none".to_owned(),
    };
    requests.iter().map(kind).collect()
}

#[tokio::test]
async fn every_model_is_asked_in_the_form_it_takes() {
    let server = ModelServer::strict();
    let client = anthropic(&server);
    for (model, kind) in [
        ("claude-opus-4-1", "enabled"),
        ("claude-sonnet-4-5", "enabled"),
        ("claude-sonnet-4-6", "adaptive"),
        ("claude-opus-4-7", "adaptive"),
        ("claude-opus-4-8", "adaptive"),
        ("claude-sonnet-5", "adaptive"),
        ("claude-opus-5-5", "adaptive"),
        ("claude-haiku-5-5", "adaptive"),
        ("claude-fable-5-2", "adaptive"),
        ("claude-sonnet-6", "adaptive"),
    ] {
        server.reset();
        for reasoning in [Some(ReasoningEffort::Minimal), None] {
            let messages = [user("say:1")];
            let mut request = asked(model, &messages);
            request.reasoning = reasoning;
            request.sampling.temperature = Some(1.0);
            collect(client.stream(request)).await.complete();
        }
        assert_eq!(kinds_sent(&server), [kind, "none"], "{model}");
    }
}

#[tokio::test]
async fn the_other_form_is_tried_once_and_remembered_for_that_model() {
    let server = ModelServer::strict();
    let client = anthropic(&server);
    for (model, kinds) in [
        ("house-only-adaptive", ["enabled", "adaptive", "adaptive"]),
        ("claude-only-budget", ["adaptive", "enabled", "enabled"]),
    ] {
        server.reset();
        for _ in 0..2 {
            let messages = [user("say:1")];
            let events = collect(client.stream(asked(model, &messages))).await;
            let events = events.complete();
            // Nobody is told about it.
            assert!(
                !events
                    .iter()
                    .any(|event| matches!(event, ModelEvent::Retrying { .. }))
            );
        }
        assert_eq!(kinds_sent(&server), kinds, "{model}");
    }
    // What one model wants says nothing about another.
    server.reset();
    let messages = [user("say:1")];
    collect(client.stream(asked("claude-sonnet-4-5", &messages)))
        .await
        .complete();
    assert_eq!(kinds_sent(&server), ["enabled"]);
}

#[tokio::test]
async fn a_refusal_of_both_forms_is_reported_and_not_remembered() {
    let server = ModelServer::start();
    let client = anthropic(&server);
    let messages = [user("err:400:thinking.type is wrong")];
    for _ in 0..2 {
        let error = collect(client.stream(asked("claude-opus-5", &messages)))
            .await
            .failed();
        assert_eq!(error.kind, ModelErrorKind::Invalid);
    }
    let expected = ["adaptive", "enabled", "adaptive", "enabled"];
    assert_eq!(kinds_sent(&server), expected);
}
