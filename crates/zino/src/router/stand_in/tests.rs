use zot_conversation::Timestamp;

use super::*;

fn message(role: Role, text: &str) -> Arc<Message> {
    Arc::new(Message {
        role,
        content: vec![ContentBlock::Text(text.to_owned())],
        time: Timestamp::UNIX_EPOCH,
    })
}

#[test]
fn blocks_and_responses_become_calls_and_results() {
    let text = "I look.\n<tool_call>\n{\"name\": \"execute_bash\"}\n</tool_call>\n<tool_response>\n\
                out\n\n[exit code: 3]\n</tool_response>\n and <tool_call>{}</tool_call>";
    let translated = conversation(&[message(Role::User, "hi"), message(Role::Assistant, text)]);
    let roles: Vec<Role> = translated.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool]);
    let calls: Vec<&str> = translated[1]
        .tool_calls()
        .map(|call| call.id.as_str())
        .collect();
    assert_eq!(calls, ["offline_1", "offline_2"]);
    let results: Vec<&ToolResult> = translated[2].tool_results().collect();
    assert_eq!(results.len(), 1);
    assert_eq!(results[0].call_id.as_str(), "offline_1");
    assert!(results[0].is_error);
    let expected = ContentBlock::Text("out\n\n[exit 3]".to_owned());
    assert_eq!(results[0].content, [expected]);
}

#[test]
fn there_are_tools_only_when_the_prompt_names_one() {
    assert_eq!(tools("nothing").len(), 0);
    assert_eq!(tools("  - \"execute_bash\": bash executor").len(), 3);
}

#[test]
fn calls_are_written_as_blocks() {
    let mut writer = CallWriter::default();
    let id = ToolCallId::from("a");
    let mut write = |name: &str, arguments: &str| {
        let started = ModelEvent::ToolCallStart {
            id: id.clone(),
            name: name.to_owned(),
        };
        assert_eq!(writer.take(started), None);
        let (id, delta) = (id.clone(), arguments.to_owned());
        let more = ModelEvent::ToolCallArguments {
            id: id.clone(),
            delta,
        };
        assert_eq!(writer.take(more), None);
        writer.take(ModelEvent::ToolCallEnd { id })
    };
    let block = |code: &str| {
        let call = json!({ "name": "execute_bash", "arguments": { "code": code } });
        Some(format!("\n<tool_call>\n{call}\n</tool_call>"))
    };
    assert_eq!(write("bash", r#"{"command":"ls -1"}"#), block("ls -1"));
    assert_eq!(
        write("read", r#"{"path":"it's"}"#),
        block(r"cat -- 'it'\''s'")
    );
    let written = write("write", r#"{"path":"a","content":"b\n"}"#);
    assert_eq!(written, block("printf %s 'b\n' > 'a'"));
    assert_eq!(write("bash", "{"), None);
}
