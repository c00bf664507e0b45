//! `rtr`.

use std::net::TcpListener;

use serde_json::{Value, json};
use testkit::{ModelServer, Reply, Wire};
use zino::kind::ServiceKind::Router;
use zino::router::RouterService;
use zot_wire::zino::router;

use crate::stack::{Stack, log, until};
use crate::transcript;

fn infer(directive: &str, stream: bool) -> Value {
    json!({
        "type": "infer",
        "messages": [{ "role": "user", "content": directive }],
        "temperature": 0.5,
        "top_p": 0.9,
        "stream": stream,
    })
}

#[tokio::test]
async fn captured() {
    let model = ModelServer::start();
    let stack = Stack::new(&model.url(Wire::OpenAi), "").with_router();
    transcript::replay(&stack, Router, &transcript::records(Router)).await;
    stack.end().await;
}

#[tokio::test]
async fn the_request_to_the_model() {
    let model = ModelServer::start();
    let stack = Stack::new(&model.url(Wire::OpenAi), "").with_router();
    let messages = json!([
        { "role": "system", "content": "be good" },
        { "role": "user", "content": "say:1" },
        { "role": "system", "content": "later" },
        { "role": "assistant", "content": "so far" },
    ]);
    let request = json!({ "type": "infer", "messages": messages, "temperature": 0.5, "top_p": 1 });
    stack.ask(Router, request).await;
    let sent = model.requests().remove(0);
    assert_eq!(sent.headers["authorization"], "Bearer x");
    assert_eq!(sent.body["temperature"], 0.5);
    assert_eq!(sent.body["top_p"], 1.0);
    assert_eq!(sent.body.get("max_tokens"), None);
    let expected = json!([
        { "role": "system", "content": "be good" },
        { "role": "user", "content": "say:1" },
        { "role": "user", "content": "[system message]\nlater" },
        { "role": "assistant", "content": "so far" },
    ]);
    assert_eq!(sent.body["messages"], expected);
    stack.end().await;
}

#[tokio::test]
async fn invalid_requests_are_rejected() {
    let model = ModelServer::start();
    let stack = Stack::new(&model.url(Wire::OpenAi), "").with_router();
    let cases = [
        (json!({ "messages": {} }), "messages must be an array"),
        (json!({ "messages": [3] }), "messages[0]: must be an object"),
        (
            json!({ "temperature": "hot" }),
            "temperature must be a number",
        ),
        (json!({ "top_p": [1] }), "top_p must be a number"),
    ];
    for (mut request, expected) in cases {
        request["type"] = json!("infer");
        let response = stack.ask(Router, request).await;
        assert_eq!(response, [json!({ "type": "error", "message": expected })]);
    }
    assert_eq!(model.requests().len(), 0);
    stack.end().await;
}

#[tokio::test]
async fn every_wire_of_zot_can_be_used() {
    let model = ModelServer::start();
    for (provider, wire) in [
        ("anthropic", Wire::Anthropic),
        ("gemini", Wire::Gemini),
        ("openai-responses", Wire::OpenAiResponses),
        ("ollama", Wire::OpenAi),
    ] {
        let more = format!("api.provider = \"{provider}\"\n");
        let stack = Stack::new(&model.url(wire), &more).with_router();
        let response = stack.ask(Router, infer("say:2", false)).await;
        let expected = json!({ "type": "response", "content": "alpha beta " });
        assert_eq!(response, [expected], "{provider}");
        stack.end().await;
    }
    let stack = Stack::new("", "api.provider = \"offline\"\n").with_router();
    let response = stack.ask(Router, infer("hello", false)).await;
    assert_eq!(response[0]["type"], "response", "{response:?}");
    stack.end().await;
}

/// As in the original, no version is added to `base_url`.
#[tokio::test]
async fn the_base_url_is_used_unchanged() {
    for root in ["", "/v1", "/gateway", "/openai/deployments/x"] {
        let model = ModelServer::below(root);
        let base_url = format!("{}{root}/", model.origin());
        for provider in ["", "api.provider = \"groq\"\n"] {
            let stack = Stack::new(&base_url, provider).with_router();
            let response = stack.ask(Router, infer("say:1", false)).await;
            assert_eq!(response[0]["type"], "response", "{root}: {response:?}");
            stack.end().await;
        }
    }
}

#[tokio::test]
async fn without_streaming_everything_is_collected() {
    let model = ModelServer::start();
    let stack = Stack::new(&model.url(Wire::OpenAi), "rtr.streaming = false\n").with_router();
    let expected = json!({ "type": "response", "content": "alpha " });
    assert_eq!(stack.ask(Router, infer("say:1", true)).await, [expected]);
    let capabilities = stack.ask(Router, json!({ "type": "capabilities" })).await;
    assert_eq!(capabilities[0]["streaming"], false);
    stack.end().await;
}

#[tokio::test]
async fn the_next_server_is_used_when_one_is_down_or_fails() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let unreachable = format!("http://{}/v1", closed.local_addr().unwrap());
    drop(closed);
    let failing = ModelServer::with_script(vec![Reply::directive("err:500:broken"); 3]);
    let working = ModelServer::start();
    let more = format!(
        "[[api.fallback]]\nbase_url = \"{}\"\n[[api.fallback]]\nbase_url = \"{}\"\nmodel = \"other\"\n",
        failing.url(Wire::OpenAi),
        working.url(Wire::OpenAi),
    );
    let stack = Stack::new(&unreachable, &more).with_router();
    let frames = stack.ask(Router, infer("say:1", true)).await;
    let expected = [
        json!({ "type": "chunk", "delta": "" }),
        json!({ "type": "chunk", "delta": "alpha " }),
        json!({ "type": "done", "full_text": "alpha " }),
    ];
    assert_eq!(frames, expected);
    assert_eq!(failing.requests().len(), 3);
    let last = working.requests().remove(0);
    assert_eq!(last.body["model"], "other");
    // The first server's key is not sent to another.
    assert_eq!(last.headers.get("authorization"), None);
    stack.end().await;
}

#[tokio::test]
async fn the_next_server_is_used_when_one_stays_busy() {
    let busy = ModelServer::with_script(vec![Reply::directive("err:429:busy"); 3]);
    let working = ModelServer::start();
    let more = format!(
        "[[api.fallback]]\nbase_url = \"{}\"\n",
        working.url(Wire::OpenAi)
    );
    let stack = Stack::new(&busy.url(Wire::OpenAi), &more).with_router();
    let response = stack.ask(Router, infer("say:1", false)).await;
    assert_eq!(
        response,
        [json!({ "type": "response", "content": "alpha " })]
    );
    assert_eq!(busy.requests().len(), 3);
    stack.end().await;
}

/// A response that does not fit in a frame is not collected forever.
#[tokio::test]
async fn an_endless_response_is_an_error() {
    let model = ModelServer::start();
    let stack = Stack::new(&model.url(Wire::OpenAi), "wire.max_frame_bytes = 1000\n").with_router();
    let response = stack.ask(Router, infer("say:500", false)).await;
    assert_eq!(response.len(), 1);
    assert_eq!(
        response[0]["message"],
        "the response is longer than 1000 bytes"
    );
    stack.end().await;
}

#[tokio::test]
async fn a_response_that_has_started_is_not_retried() {
    let model = ModelServer::start();
    let more = format!(
        "[[api.fallback]]\nbase_url = \"{}\"\n",
        model.url(Wire::OpenAi)
    );
    let stack = Stack::new(&model.url(Wire::OpenAi), &more).with_router();
    let frames = stack.ask(Router, infer("errmid", true)).await;
    assert_eq!(frames.len(), 4, "{frames:?}");
    assert_eq!(frames[3]["type"], "error");
    assert_eq!(model.requests().len(), 1);
    stack.end().await;
}

#[tokio::test]
async fn a_request_that_fails_once_is_retried() {
    let model = ModelServer::start();
    let stack = Stack::new(&model.url(Wire::OpenAi), "").with_router();
    for directive in ["errthen:500:1", "errthen:429:1"] {
        let response = stack.ask(Router, infer(directive, false)).await;
        let expected = json!({ "type": "response", "content": "beta ok" });
        assert_eq!(response, [expected], "{directive}");
    }
    stack.end().await;
}

#[tokio::test]
async fn a_model_that_takes_too_long_is_an_error() {
    let model = ModelServer::start();
    let stack = Stack::new(&model.url(Wire::OpenAi), "rtr.timeout = 0.2\n").with_router();
    let response = stack.ask(Router, infer("hang", false)).await;
    let message = "the model has not responded within 0.2s";
    assert_eq!(response, [json!({ "type": "error", "message": message })]);
    until("the request is cancelled", || {
        model.responses_in_progress() == 0
    })
    .await;
    stack.end().await;
}

#[tokio::test]
async fn a_caller_that_hangs_up_cancels_its_request() {
    let model = ModelServer::start();
    let stack = Stack::new(&model.url(Wire::OpenAi), "").with_router();
    let mut call = stack
        .begin::<router::Request>(Router, infer("hangmid", true))
        .await;
    assert_eq!(
        call.next().await.unwrap(),
        Some(router::Response::Chunk(String::new()))
    );
    assert_eq!(model.responses_in_progress(), 1);
    drop(call);
    until("the request is cancelled", || {
        model.responses_in_progress() == 0
    })
    .await;
    stack.end().await;
}

#[tokio::test]
async fn an_invalid_configuration_is_rejected() {
    let mut stack = Stack::new("http://127.0.0.1:1/v1", "rtr.timeout = 0\n");
    let error = RouterService::new(&stack.config, log(Router))
        .err()
        .unwrap();
    assert!(error.to_string().contains("[rtr] timeout"), "{error}");
    stack.config.rtr.timeout = 1.0;
    assert!(RouterService::new(&stack.config, log(Router)).is_ok());
}
