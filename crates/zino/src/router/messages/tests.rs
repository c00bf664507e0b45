use serde_json::json;

use super::*;

fn texts(conversation: &Conversation, ending: Ending) -> Vec<(Role, String)> {
    let messages = conversation.messages(ending);
    messages
        .iter()
        .map(|message| (message.role, message.text()))
        .collect()
}

#[test]
fn leading_system_messages_are_the_prompt_and_later_ones_are_kept() {
    let conversation = read(Some(json!([
        { "role": "system", "content": "be good" },
        { "role": "developer", "content": [{ "type": "text", "text": "be " }, { "type": "text", "text": "brief" }] },
        { "role": "user", "content": "hi" },
        { "role": "assistant", "content": null },
        { "role": "system", "content": "now be bad" },
    ])))
    .unwrap();
    assert_eq!(conversation.system, "be good\n\nbe brief");
    let expected = [
        (Role::User, "hi".to_owned()),
        (Role::Assistant, String::new()),
        (Role::User, "[system message]\nnow be bad".to_owned()),
    ];
    assert_eq!(texts(&conversation, Ending::UserOnly), expected);
}

#[test]
fn nothing_is_an_empty_conversation() {
    for messages in [None, Some(json!(null)), Some(json!([]))] {
        let conversation = read(messages).unwrap();
        assert_eq!(conversation.system, "");
        assert_eq!(texts(&conversation, Ending::UserOnly), []);
    }
}

#[test]
fn where_the_user_must_come_last_the_model_is_told_to_go_on() {
    let conversation = read(Some(json!([{ "role": "assistant", "content": "so " }]))).unwrap();
    assert_eq!(texts(&conversation, Ending::Anyone).len(), 1);
    let said = texts(&conversation, Ending::UserOnly);
    assert_eq!(said[1], (Role::User, "Continue.".to_owned()));
}

#[test]
fn wrong_shapes_are_named() {
    let cases = [
        (json!("x"), "messages must be an array"),
        (json!([1]), "messages[0]: must be an object"),
        (
            json!([{ "role": "user", "content": "x" }, { "content": "x" }]),
            "messages[1]: role must be system, user or assistant",
        ),
        (
            json!([{ "role": "tool", "content": "x" }]),
            "messages[0]: role must be system, user or assistant",
        ),
        (
            json!([{ "role": "user" }]),
            "messages[0]: content must be a string or an array of text parts",
        ),
        (
            json!([{ "role": "user", "content": [{ "type": "text", "text": "x" }, { "type": "image_url" }] }]),
            "messages[0]: content[1] must be a text part",
        ),
    ];
    for (messages, expected) in cases {
        assert_eq!(read(Some(messages)).unwrap_err(), expected);
    }
}
