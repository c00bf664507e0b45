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
            // It is not reported.
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

/// How many blocks of thinking a request replays.
fn replayed(request: &RecordedRequest) -> usize {
    let content = |message: &Value| message["content"].as_array().cloned().unwrap_or_default();
    let blocks = request.messages().iter().flat_map(content);
    blocks.filter(|block| block["type"] == "thinking").count()
}

/// Two turns with thinking, and a third prompt.
async fn conversation(client: &AnthropicClient, model: &str) -> Vec<Arc<Message>> {
    let mut messages = Vec::new();
    for prompt in ["think:one:say:1", "think:two:say:1"] {
        messages.push(user(prompt));
        let events = collect(client.stream(asked(model, &messages))).await;
        messages.push(assembled(&events.complete()));
    }
    messages.push(user("say:1"));
    messages
}

const BINDING: &str = "claude-fable-5-2";

#[tokio::test]
async fn thinking_is_replayed_behind_the_prefix_it_was_made_with() {
    let server = ModelServer::strict();
    let messages = conversation(&anthropic(&server), BINDING).await;
    // The same client and another one, as after a restart.
    for client in [anthropic(&server), anthropic(&server)] {
        server.reset();
        collect(client.stream(asked(BINDING, &messages)))
            .await
            .complete();
        collect(client.stream(asked(BINDING, &messages)))
            .await
            .complete();
        let requests = server.requests();
        assert_eq!(requests.iter().map(replayed).collect::<Vec<_>>(), [2, 2]);
    }
}

#[tokio::test]
async fn thinking_is_not_replayed_behind_another_prefix() {
    let server = ModelServer::strict();
    let client = anthropic(&server);
    let messages = conversation(&client, BINDING).await;
    let tools = subjects().next().unwrap().tools;
    let compacted = [user("a summary"), Arc::clone(&messages[3]), user("say:1")];
    let edited: Vec<_> = [user("edited")]
        .into_iter()
        .chain(messages[1..].iter().cloned())
        .collect();
    let plain = asked(BINDING, &messages);
    for (what, request) in [
        (
            "system",
            ModelRequest {
                system: "be good today",
                ..plain
            },
        ),
        (
            "tools",
            ModelRequest {
                tools: &tools,
                ..plain
            },
        ),
        (
            "model",
            ModelRequest {
                model: "claude-opus-5-5",
                ..plain
            },
        ),
        (
            "old model",
            ModelRequest {
                model: "claude-sonnet-4-5",
                ..plain
            },
        ),
        (
            "compaction",
            ModelRequest {
                messages: &compacted,
                ..plain
            },
        ),
        (
            "edit",
            ModelRequest {
                messages: &edited,
                ..plain
            },
        ),
    ] {
        server.reset();
        collect(client.stream(request)).await.complete();
        let requests = server.requests();
        // Decided beforehand: nothing had to be refused first.
        assert_eq!(
            requests.iter().map(replayed).collect::<Vec<_>>(),
            [0],
            "{what}"
        );
    }
    // Another effort, or none, is the same conversation.
    server.reset();
    collect(client.stream(ModelRequest {
        reasoning: None,
        ..plain
    }))
    .await
    .complete();
    assert_eq!(replayed(&server.requests()[0]), 2);
}

#[tokio::test]
async fn thinking_continues_behind_a_prefix_from_which_some_was_dropped() {
    let server = ModelServer::strict();
    let client = anthropic(&server);
    let mut messages = conversation(&client, BINDING).await;
    messages.pop();
    messages.push(user("think:three:say:1"));
    fn changed(messages: &[Arc<Message>]) -> ModelRequest<'_> {
        ModelRequest {
            system: "another day",
            ..asked(BINDING, messages)
        }
    }
    let events = collect(client.stream(changed(&messages))).await.complete();
    messages.push(assembled(&events));
    messages.push(user("say:1"));
    server.reset();
    collect(client.stream(changed(&messages))).await.complete();
    let requests = server.requests();
    assert_eq!(requests.iter().map(replayed).collect::<Vec<_>>(), [1]);
}

#[tokio::test]
async fn thinking_of_older_sessions_goes_only_to_models_that_do_not_bind_it() {
    let server = ModelServer::strict();
    let client = anthropic(&server);
    for (model, expected) in [
        ("claude-sonnet-4-5", 2),
        ("claude-opus-4-8", 2),
        ("claude-sonnet-5", 2),
        ("claude-fable-5", 2),
        ("claude-fable-5-1", 0),
        ("claude-haiku-5-5", 0),
        ("claude-sonnet-6", 0),
    ] {
        let messages = conversation(&client, model).await;
        let unmarked = messages.iter().map(|message| {
            let mut message = (**message).clone();
            for block in &mut message.content {
                if let ContentBlock::Reasoning(reasoning) = block {
                    reasoning.prefix = None;
                }
            }
            Arc::new(message)
        });
        let unmarked: Vec<_> = unmarked.collect();
        server.reset();
        collect(client.stream(asked(model, &unmarked)))
            .await
            .complete();
        let requests = server.requests();
        assert_eq!(
            requests.iter().map(replayed).collect::<Vec<_>>(),
            [expected],
            "{model}"
        );
    }
}

#[tokio::test]
async fn a_refusal_of_replayed_thinking_leads_to_one_request_without_it() {
    let refusal = r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."}}"#;
    let server = ModelServer::with_script([
        testkit::Reply::directive("think:one:say:1"),
        testkit::Reply::directive("think:two:say:1"),
        testkit::Reply::status(400, refusal),
        testkit::Reply::directive("think:three:say:1"),
        testkit::Reply::directive("say:1"),
        // Twice in one request is the end of it.
        testkit::Reply::status(400, refusal),
        testkit::Reply::status(400, refusal),
    ]);
    let client = anthropic(&server);
    let mut messages = conversation(&client, BINDING).await;
    server.reset();
    let events = collect(client.stream(asked(BINDING, &messages)))
        .await
        .complete();
    messages.push(assembled(&events));
    messages.push(user("more"));
    collect(client.stream(asked(BINDING, &messages)))
        .await
        .complete();
    // Refused, sent without; then remembered, and only the newest goes back.
    let requests = server.requests();
    assert_eq!(requests.iter().map(replayed).collect::<Vec<_>>(), [2, 0, 1]);
    let error = collect(client.stream(asked(BINDING, &messages)))
        .await
        .failed();
    assert_eq!(error.kind, ModelErrorKind::Invalid);
    assert!(
        error
            .to_string()
            .contains("bound to a different conversation"),
        "{error}"
    );
    assert_eq!(server.requests().len(), 5);
}
