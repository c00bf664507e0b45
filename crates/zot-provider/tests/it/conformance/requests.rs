//! What reaches the server.

use super::*;

use bytes::Bytes;
use zot_conversation::{Image, ToolImages};

/// An image's bytes and what they are in base64.
const PIXELS: (&[u8], &str) = (b"\x89PNG not really", "iVBORyBub3QgcmVhbGx5");

fn image() -> ContentBlock {
    ContentBlock::Image(Image {
        mime_type: "image/png".to_owned(),
        data: Bytes::from_static(PIXELS.0),
    })
}

#[tokio::test]
async fn the_prompt_the_tools_and_the_system_prompt() {
    for subject in subjects() {
        subject.ask("say:1").await.complete();
        let request = subject.last_request();
        assert_eq!(request.wire, subject.wire);
        assert_eq!(request.prompt(), "say:1");
        assert_eq!(request.tool_names(), ["read", "bash"], "{:?}", subject.wire);
        let body = serde_json::to_string(&request.body).unwrap();
        assert!(body.contains("be good") && body.contains("the tool bash"));
        let key = request.headers.values().any(|value| value.ends_with(KEY));
        assert!(key, "{:?}: {:?}", subject.wire, request.headers);
    }
}

#[tokio::test]
async fn images_of_the_user() {
    for subject in subjects() {
        let content = vec![ContentBlock::Text("say:1".to_owned()), image()];
        subject
            .send(&[message(Role::User, content)])
            .await
            .complete();
        let body = serde_json::to_string(&subject.last_request().body).unwrap();
        assert!(body.contains(PIXELS.1), "{:?}: {body}", subject.wire);
    }
}

#[tokio::test]
async fn images_in_tool_results_are_sent_or_left_to_the_mirror() {
    for subject in subjects() {
        let directive = r#"tool:read:{"path":"p"}"#;
        let answer = assembled(&subject.ask(directive).await.complete());
        let result = ContentBlock::ToolResult(ToolResult {
            call_id: calls_of(&answer)[0].id.clone(),
            is_error: false,
            content: vec![ContentBlock::Text("an image".to_owned()), image()],
        });
        let messages = [user(directive), answer, message(Role::Tool, vec![result])];
        subject.send(&messages).await.complete();
        let body = serde_json::to_string(&subject.last_request().body).unwrap();
        let seen = subject.client.tool_images() == ToolImages::Seen;
        assert_eq!(body.contains(PIXELS.1), seen, "{:?}", subject.wire);
        assert!(body.contains("an image"));
    }
}

#[tokio::test]
async fn failed_results_are_distinguished_from_good_ones() {
    for subject in subjects() {
        let directive = r#"tool:read:{"path":"p"}"#;
        let answer = assembled(&subject.ask(directive).await.complete());
        let mut bodies = Vec::new();
        for is_error in [false, true] {
            let result = ContentBlock::ToolResult(ToolResult {
                call_id: calls_of(&answer)[0].id.clone(),
                is_error,
                content: vec![ContentBlock::Text("same text".to_owned())],
            });
            let messages = [
                user(directive),
                Arc::clone(&answer),
                message(Role::Tool, vec![result]),
            ];
            subject.send(&messages).await.complete();
            bodies.push(subject.last_request().body);
        }
        assert_ne!(bodies[0], bodies[1], "{:?}", subject.wire);
    }
}

#[tokio::test]
async fn what_was_sent_before_is_sent_again_byte_for_byte() {
    for subject in subjects() {
        let mut messages = Vec::new();
        let mut before: Vec<serde_json::Value> = Vec::new();
        for _ in 0..4 {
            messages.push(user(r#"think:hm:tool:read:{"path":"p"}"#));
            for _ in 0..2 {
                let events = subject.send(&messages).await.complete();
                let sent = subject.last_request().messages().to_vec();
                let kept: Vec<String> = sent.iter().map(without_cache_marks).collect();
                let known: Vec<String> = before.iter().map(without_cache_marks).collect();
                assert!(kept.starts_with(&known), "{:?}", subject.wire);
                before = sent;
                let answer = assembled(&events);
                let calls = calls_of(&answer);
                messages.push(answer);
                if !calls.is_empty() {
                    messages.push(results(&calls, "done"));
                }
            }
        }
    }
}

/// Cache breakpoints move along by design.
fn without_cache_marks(message: &serde_json::Value) -> String {
    message
        .to_string()
        .replace(r#""cache_control":{"type":"ephemeral"},"#, "")
        .replace(r#","cache_control":{"type":"ephemeral"}"#, "")
}
