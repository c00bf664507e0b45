use super::*;

fn message(role: Role, text: &str) -> Arc<Message> {
    Arc::new(Message {
        role,
        content: vec![ContentBlock::Text(text.to_owned())],
        time: jiff::Timestamp::UNIX_EPOCH,
    })
}

async fn text_of(messages: &[Arc<Message>]) -> String {
    let events = answer(ModelRequest {
        model: "offline",
        system: "use execute_bash",
        messages,
        tools: &[],
        reasoning: None,
        max_output: 1000,
    })
    .await;
    events
        .into_iter()
        .filter_map(|event| match event {
            Ok(ModelEvent::TextDelta(delta)) => Some(delta),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn a_call_is_written_and_its_result_is_read() {
    let asked = message(Role::User, "run `echo hello`");
    let first = text_of(std::slice::from_ref(&asked)).await;
    assert!(
        first.ends_with(
            "<tool_call>\n{\"name\": \"execute_bash\", \"arguments\": {\"code\": \"echo hello\"}}\n</tool_call>"
        ),
        "{first}"
    );
    let continued = format!("{first}\n<tool_response>\nhello\n\n</tool_response>\n");
    let second = text_of(&[asked, message(Role::Assistant, &continued)]).await;
    assert!(second.contains("hello"), "{second}");
    assert!(!second.contains("<tool_call>"), "{second}");
}
