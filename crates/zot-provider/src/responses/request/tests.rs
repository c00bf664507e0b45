use bytes::Bytes;
use zot_conversation::{
    Arguments, Image, ReasoningEffort, Sampling, Timestamp, ToolCall, ToolEffect, ToolResult,
};

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

fn thought(provider: &str, id: &str, encrypted: Option<&str>) -> ContentBlock {
    ContentBlock::Reasoning(Reasoning {
        provider: provider.to_owned(),
        text: "hm".to_owned(),
        encrypted: encrypted.map(ToOwned::to_owned),
        id: Some(id.to_owned()),
        ..Reasoning::default()
    })
}

fn call(id: &str) -> ContentBlock {
    ContentBlock::ToolCall(ToolCall {
        id: id.into(),
        name: "read".to_owned(),
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
        model: "gpt-5",
        system: "be good",
        messages,
        tools,
        reasoning: None,
        max_output: 100,
        sampling: Sampling::default(),
    }
}

fn body(cache: &mut RequestCache, request: &ModelRequest<'_>) -> String {
    let effort = request.reasoning;
    let body = cache.write("mine", Delivery::Streamed, request, effort);
    String::from_utf8(body.to_vec()).unwrap()
}

fn fresh(request: &ModelRequest<'_>) -> String {
    body(&mut RequestCache::default(), request)
}

#[test]
fn whole_request() {
    let tools = [Arc::new(ToolDefinition {
        name: "read".to_owned(),
        description: "reads".to_owned(),
        parameters: serde_json::from_str(r#"{"type":"object"}"#).unwrap(),
        effect: ToolEffect::ReadOnly,
    })];
    let messages = [
        message(Role::User, vec![text("look"), image()]),
        message(
            Role::Assistant,
            vec![
                thought("mine", "rs_1", Some("enc1")),
                text("let me"),
                thought("mine", "rs_2", Some("enc2")),
                call("a"),
                call("b"),
            ],
        ),
        message(
            Role::Tool,
            vec![
                result("a", false, vec![text("seen"), image()]),
                result("b", true, vec![text("gone")]),
            ],
        ),
        message(Role::User, vec![text("go on")]),
    ];
    let mut asked = request(&messages, &tools);
    asked.reasoning = Some(ReasoningEffort::High);
    let expected = concat!(
        r#"{"model":"gpt-5","stream":true,"store":false,"max_output_tokens":100,"#,
        r#""include":["reasoning.encrypted_content"],"#,
        r#""reasoning":{"effort":"high","summary":"auto"},"instructions":"be good","#,
        r#""tools":[{"type":"function","name":"read","description":"reads","#,
        r#""parameters":{"type":"object","properties":{}},"strict":false}],"input":["#,
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"look"},"#,
        r#"{"type":"input_image","image_url":"data:image/png;base64,iVBORw==","detail":"auto"}]},"#,
        r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"enc1"},"#,
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"let me"}]},"#,
        r#"{"type":"reasoning","id":"rs_2","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"enc2"},"#,
        r#"{"type":"function_call","call_id":"a","name":"read","arguments":"{\"path\": \"a\"}"},"#,
        r#"{"type":"function_call","call_id":"b","name":"read","arguments":"{\"path\": \"a\"}"},"#,
        r#"{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"seen"},"#,
        r#"{"type":"input_image","image_url":"data:image/png;base64,iVBORw==","detail":"auto"}]},"#,
        r#"{"type":"function_call_output","call_id":"b","output":"gone\n[error]"},"#,
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}]}"#,
    );
    assert_eq!(fresh(&asked), expected);
}

#[test]
fn reasoning_goes_back_only_where_it_is_accepted() {
    let dangling = vec![
        thought("mine", "rs_foreign_follows", Some("x")),
        thought("other", "rs_foreign", Some("x")),
        thought("mine", "rs_plain", None),
        text("said"),
        thought("mine", "rs_dangling", Some("x")),
        text(""),
    ];
    let messages = [
        message(Role::Assistant, dangling),
        message(
            Role::Assistant,
            vec![thought("mine", "rs_alone", Some("x"))],
        ),
    ];
    let sent = fresh(&request(&messages, &[]));
    assert!(sent.contains("rs_foreign_follows"), "{sent}");
    for absent in ["rs_foreign\"", "rs_plain", "rs_dangling", "rs_alone"] {
        assert!(!sent.contains(absent), "{absent} in {sent}");
    }
}

#[test]
fn models_that_do_not_reason_are_sent_no_reasoning() {
    let messages = [message(
        Role::Assistant,
        vec![thought("mine", "rs_1", Some("x")), text("said")],
    )];
    let mut cache = RequestCache::default();
    let mut asked = request(&messages, &[]);
    assert!(body(&mut cache, &asked).contains("rs_1"));
    for model in ["gpt-4o", "openai/gpt-4.1", "gpt-5-chat-latest"] {
        asked.model = model;
        let sent = body(&mut cache, &asked);
        assert!(
            !sent.contains("rs_1") && !sent.contains("include"),
            "{sent}"
        );
    }
    asked.model = "o3";
    assert!(body(&mut cache, &asked).contains("rs_1"));
}

#[test]
fn an_empty_result_is_said_to_be_empty() {
    let messages = [message(Role::Tool, vec![result("a", false, vec![])])];
    let sent = fresh(&request(&messages, &[]));
    assert!(
        sent.ends_with(r#""call_id":"a","output":"(no output)"}]}"#),
        "{sent}"
    );
}

#[test]
fn sampling_is_written_unless_the_model_reasons() {
    let mut asked = request(&[], &[]);
    asked.sampling = Sampling {
        temperature: Some(0.5),
        top_p: Some(0.9),
    };
    assert!(!fresh(&asked).contains("temperature"));
    asked.model = "gpt-4o";
    let sent = fresh(&asked);
    assert!(sent.contains(r#""temperature":0.5,"top_p":0.9,"#), "{sent}");
}

fn end_of_message(provider: &str, details: &str) -> ContentBlock {
    ContentBlock::Reasoning(Reasoning {
        provider: provider.to_owned(),
        details: Some(details.to_owned()),
        ..Reasoning::default()
    })
}

#[test]
fn messages_go_back_one_by_one_with_their_phase() {
    let content = vec![
        text("look"),
        end_of_message("mine", r#"{"type":"message","phase":"commentary"}"#),
        text("one"),
        end_of_message("mine", r#"{"type":"message"}"#),
        text("two"),
        end_of_message("another", r#"{"type":"message","phase":"commentary"}"#),
        text("three"),
        end_of_message("mine", "[]"),
    ];
    let messages = [message(Role::Assistant, content)];
    let mut asked = request(&messages, &[]);
    let items = |asked: &ModelRequest<'_>| {
        let body = body(&mut RequestCache::default(), asked);
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        let items = body["input"].as_array().unwrap().iter();
        items
            .map(|item| {
                let phase = item["phase"].as_str().map(ToOwned::to_owned);
                (
                    phase,
                    item["content"][0]["text"].as_str().unwrap().to_owned(),
                )
            })
            .collect::<Vec<_>>()
    };
    let texts = ["look", "one", "two", "three"].map(ToOwned::to_owned);
    let phases = [Some("commentary".to_owned()), None, None, None];
    let expected: Vec<_> = phases.into_iter().zip(texts.clone()).collect();
    assert_eq!(items(&asked), expected);
    // Models that do not reason have no phases either.
    asked.model = "gpt-4o";
    let plain: Vec<_> = texts.into_iter().map(|text| (None, text)).collect();
    assert_eq!(items(&asked), plain);
}
