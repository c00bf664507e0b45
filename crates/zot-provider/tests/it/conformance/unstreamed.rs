//! Answers that are asked for as one document.

use super::*;

fn unstreamed(subject: &Subject) -> Arc<dyn Model> {
    let endpoint = Endpoint {
        provider: subject.wire.provider().to_owned(),
        base_url: subject.server.url(subject.wire),
        api_key: Some(KEY.into()),
    };
    subject
        .ours
        .client(HttpClient::new().unstreamed(), endpoint)
}

#[tokio::test]
async fn documents_say_what_streams_say() {
    for subject in subjects() {
        let wire = subject.wire;
        let client = unstreamed(&subject);
        for (directive, expected) in [
            ("say:3", StopReason::End),
            ("utf8", StopReason::End),
            ("empty", StopReason::End),
            ("length", StopReason::Length),
            (r#"tool:read:{"path":"a"}"#, StopReason::ToolUse),
        ] {
            let messages = [user(directive)];
            let streamed = subject.send(&messages).await.complete();
            let whole = collect(client.stream(subject.request(&messages))).await;
            let request = subject.last_request();
            assert_ne!(request.body.get("stream"), Some(&true.into()), "{wire:?}");
            assert_eq!(request.body.get("stream_options"), None, "{wire:?}");
            assert!(!request.path.contains("stream"), "{wire:?}");
            let whole = whole.complete();
            assert_eq!(text_of(&whole), text_of(&streamed), "{wire:?} {directive}");
            assert_eq!(stop_of(&whole), Some(expected), "{wire:?} {directive}");
            let calls = |events: &[ModelEvent]| {
                let calls = calls_of(&assembled(events)).into_iter();
                calls
                    .map(|call| (call.name, call.arguments))
                    .collect::<Vec<_>>()
            };
            assert_eq!(calls(&whole), calls(&streamed), "{wire:?} {directive}");
        }
        let refused = collect(client.stream(subject.request(&[user("err:401:no")]))).await;
        let error = refused.error.unwrap();
        assert!(error.to_string().contains("http 401"), "{wire:?}: {error}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_a_response_is_an_error() {
    for (wire, ours) in WIRES {
        for body in ["", "not JSON", "[]"] {
            let server = ModelServer::with_script(vec![testkit::Reply::status(200, body); 4]);
            let subject = Subject {
                wire,
                ours,
                client: client(wire, ours, wire.provider(), &server),
                server,
                tools: Vec::new(),
            };
            let model = unstreamed(&subject);
            let messages = [user("x")];
            let outcome = collect(model.stream(subject.request(&messages))).await;
            assert!(outcome.error.is_some(), "{wire:?} {body:?}: {outcome:?}");
        }
    }
}
