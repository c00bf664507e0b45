use bytes::Bytes;
use zot_conversation::{Arguments, Sampling, Timestamp, ToolCall, ToolEffect};

use super::*;

fn message(role: Role, content: Vec<ContentBlock>) -> Arc<Message> {
    Arc::new(Message {
        role,
        content,
        time: Timestamp::UNIX_EPOCH,
    })
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text(text.to_owned())
}

fn image() -> ContentBlock {
    ContentBlock::Image(Image {
        mime_type: "image/png".to_owned(),
        data: Bytes::from_static(b"\x89PNG"),
    })
}

fn reasoning(provider: &str) -> Reasoning {
    Reasoning {
        provider: provider.to_owned(),
        ..Reasoning::default()
    }
}

fn call_signature(provider: &str, id: &str) -> ContentBlock {
    ContentBlock::Reasoning(Reasoning {
        id: Some(id.to_owned()),
        encrypted: Some(format!("sig-{id}")),
        ..reasoning(provider)
    })
}

fn call(id: &str, name: &str) -> ContentBlock {
    ContentBlock::ToolCall(ToolCall {
        id: id.into(),
        name: name.to_owned(),
        arguments: Arguments::from_model_text(r#"{"path": "a"}"#),
    })
}

fn result(id: &str, is_error: bool, content: Vec<ContentBlock>) -> ContentBlock {
    ContentBlock::ToolResult(ToolResult {
        call_id: id.into(),
        is_error,
        content,
    })
}

fn request<'a>(messages: &'a [Arc<Message>], tools: &'a [Arc<ToolDefinition>]) -> ModelRequest<'a> {
    ModelRequest {
        model: "gemini-2.5-pro",
        system: "be good",
        messages,
        tools,
        reasoning: None,
        max_output: 10_000,
        sampling: Sampling::default(),
    }
}

fn body(cache: &mut RequestCache, request: &ModelRequest<'_>) -> String {
    String::from_utf8(cache.body("gemini", request).to_vec()).unwrap()
}

fn fresh(request: &ModelRequest<'_>) -> String {
    body(&mut RequestCache::default(), request)
}

#[test]
fn whole_request() {
    let tools = [Arc::new(ToolDefinition {
        name: "read".to_owned(),
        description: "reads".to_owned(),
        parameters: serde_json::from_str(
            r#"{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":false}"#,
        )
        .unwrap(),
        effect: ToolEffect::ReadOnly,
    })];
    let messages = [
        message(Role::User, vec![text("look"), image()]),
        message(
            Role::Assistant,
            vec![
                ContentBlock::Reasoning(Reasoning {
                    text: "for people".to_owned(),
                    ..reasoning("gemini")
                }),
                text("let me"),
                call_signature("gemini", "call_1"),
                call("call_1", "read"),
                call("gemini_x", "bash"),
            ],
        ),
        message(
            Role::Tool,
            vec![
                result("call_1", false, vec![text("seen"), image()]),
                result("gemini_x", true, vec![text("gone")]),
            ],
        ),
        message(Role::User, vec![text("go on")]),
    ];
    let mut asked = request(&messages, &tools);
    asked.reasoning = Some(ReasoningEffort::High);
    let expected = concat!(
        r#"{"generationConfig":{"maxOutputTokens":10000,"#,
        r#""thinkingConfig":{"includeThoughts":true,"thinkingBudget":5904}},"#,
        r#""systemInstruction":{"parts":[{"text":"be good"}]},"#,
        r#""tools":[{"functionDeclarations":[{"name":"read","description":"reads","#,
        r#""parameters":{"type":"object","properties":{"path":{"type":"string"}}}}]}],"contents":["#,
        r#"{"role":"user","parts":[{"text":"look"},"#,
        r#"{"inlineData":{"mimeType":"image/png","data":"iVBORw=="}}]},"#,
        r#"{"role":"model","parts":[{"text":"let me"},"#,
        r#"{"functionCall":{"name":"read","args":{"path": "a"}},"thoughtSignature":"sig-call_1"},"#,
        r#"{"functionCall":{"id":"x","name":"bash","args":{"path": "a"}}}]},"#,
        r#"{"role":"user","parts":["#,
        r#"{"functionResponse":{"name":"read","response":{"output":"seen"}}},"#,
        r#"{"functionResponse":{"id":"x","name":"bash","response":{"error":"gone"}}}]},"#,
        r#"{"role":"user","parts":[{"text":"go on"}]}]}"#,
    );
    assert_eq!(fresh(&asked), expected);
}

#[test]
fn signatures_go_back_where_they_came_from() {
    let signed_text = ContentBlock::Reasoning(Reasoning {
        encrypted: Some("sig-text".to_owned()),
        ..reasoning("gemini")
    });
    let signed_thought = ContentBlock::Reasoning(Reasoning {
        text: "hm".to_owned(),
        signature: Some("sig-thought".to_owned()),
        ..reasoning("gemini")
    });
    for (content, parts) in [
        (
            vec![text("hi"), signed_text.clone()],
            r#"[{"text":"hi","thoughtSignature":"sig-text"}]"#,
        ),
        (
            vec![signed_thought, signed_text, text("hi")],
            concat!(
                r#"[{"thought":true,"text":"hm","thoughtSignature":"sig-thought"},"#,
                r#"{"text":"","thoughtSignature":"sig-text"},{"text":"hi"}]"#
            ),
        ),
        (
            // The call the signature belongs to is gone.
            vec![call_signature("gemini", "lost"), text("hi")],
            r#"[{"text":"hi"}]"#,
        ),
        (
            vec![call_signature("other", "c"), call("c", "read")],
            r#"[{"functionCall":{"name":"read","args":{"path": "a"}}}]"#,
        ),
    ] {
        let messages = [message(Role::Assistant, content)];
        let sent = fresh(&request(&messages, &[]));
        let expected = format!(r#""contents":[{{"role":"model","parts":{parts}}}]}}"#);
        assert!(sent.ends_with(&expected), "{sent}");
    }
}

#[test]
fn newer_models_want_a_level_and_a_signature() {
    let messages = [message(
        Role::Assistant,
        vec![call("a", "read"), call("b", "read")],
    )];
    let mut cache = RequestCache::default();
    let mut asked = request(&messages, &[]);
    asked.reasoning = Some(ReasoningEffort::Minimal);
    assert!(!body(&mut cache, &asked).contains("thoughtSignature"));
    asked.model = "models/gemini-3-pro-preview";
    let sent = body(&mut cache, &asked);
    assert_eq!(sent.matches(FOREIGN_CALL_SIGNATURE).count(), 1, "{sent}");
    assert!(sent.contains(r#""thinkingConfig":{"includeThoughts":true,"thinkingLevel":"low"}"#));
    asked.model = "gemini-3-flash";
    assert!(body(&mut cache, &asked).contains(r#""thinkingLevel":"minimal""#));
    asked.model = "gemini-2.5-flash";
    assert!(body(&mut cache, &asked).contains(r#""thinkingBudget":512"#));
    assert!(!body(&mut cache, &asked).contains("thoughtSignature"));
}

#[test]
fn results_find_their_names_however_much_is_cached() {
    let mut messages = vec![message(Role::User, vec![text("go")])];
    let mut cache = RequestCache::default();
    for step in 0..20 {
        let id = format!("call_{}", step % 2);
        let name = format!("tool{step}");
        messages.push(message(Role::Assistant, vec![call(&id, &name)]));
        if step % 3 == 0 {
            body(&mut cache, &request(&messages, &[]));
        }
        messages.push(message(Role::Tool, vec![result(&id, false, vec![])]));
        if step % 5 == 0 {
            messages.truncate(messages.len() - 1);
            body(&mut cache, &request(&messages, &[]));
            messages.push(message(Role::Tool, vec![result(&id, false, vec![])]));
        }
        let cached = body(&mut cache, &request(&messages, &[]));
        assert_eq!(cached, fresh(&request(&messages, &[])));
        let named = format!(r#""functionResponse":{{"name":"{name}""#);
        assert!(cached.contains(&named), "{cached}");
    }
}

#[test]
fn sampling_is_written() {
    let mut asked = request(&[], &[]);
    asked.sampling = Sampling {
        temperature: Some(0.5),
        top_p: Some(0.9),
    };
    let sent = fresh(&asked);
    let config = r#"{"generationConfig":{"maxOutputTokens":10000,"temperature":0.5,"topP":0.9}"#;
    assert!(sent.starts_with(config), "{sent}");
}
