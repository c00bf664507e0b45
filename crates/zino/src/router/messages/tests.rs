use serde_json::json;

use super::*;

fn messages(list: Value) -> Vec<zino::Message> {
    serde_json::from_value(list).unwrap()
}

fn read(list: Value) -> Result<Arc<Conversation>, String> {
    RecentConversations::default().read(messages(list))
}

fn texts(conversation: &Conversation, ending: Ending) -> Vec<(Role, String)> {
    let messages = conversation.messages(ending);
    messages
        .iter()
        .map(|message| (message.role, message.text()))
        .collect()
}

#[test]
fn leading_system_messages_are_the_prompt_and_later_ones_are_kept() {
    let conversation = read(json!([
        { "role": "system", "content": "be good" },
        { "role": "developer", "content": [{ "type": "text", "text": "be " }, { "type": "text", "text": "brief" }] },
        { "role": "user", "content": "hi" },
        { "role": "assistant", "content": null },
        { "role": "system", "content": "now be bad" },
    ]))
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
fn no_messages_are_an_empty_conversation() {
    let conversation = read(json!([])).unwrap();
    assert_eq!(conversation.system, "");
    assert_eq!(texts(&conversation, Ending::UserOnly), []);
}

#[test]
fn a_user_message_is_added_where_one_must_come_last() {
    let conversation = read(json!([{ "role": "assistant", "content": "so " }])).unwrap();
    assert_eq!(texts(&conversation, Ending::Anyone).len(), 1);
    let sent = texts(&conversation, Ending::UserOnly);
    assert_eq!(sent[1], (Role::User, "Continue.".to_owned()));
}

#[test]
fn errors_name_the_invalid_message() {
    let cases = [
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
        assert_eq!(read(messages).unwrap_err(), expected);
    }
}

/// Whether each message of `later` is the same object as in `earlier`.
fn shared(earlier: &Conversation, later: &Conversation) -> Vec<bool> {
    let pairs = earlier.messages.iter().zip(&later.messages);
    pairs
        .map(|(earlier, later)| Arc::ptr_eq(earlier, later))
        .collect()
}

fn long(last: &[&str]) -> Vec<zino::Message> {
    let roles = ["user", "assistant"].into_iter().cycle();
    std::iter::once(zino::Message::new("system", "be good"))
        .chain(
            roles
                .zip(last)
                .map(|(role, text)| zino::Message::new(role, *text)),
        )
        .collect()
}

#[test]
fn messages_read_before_are_reused() {
    let recent = RecentConversations::default();
    let mut messages = long(&["a", "b"]);
    let first = recent.read(messages.clone()).unwrap();
    messages.push(zino::Message::new("user", "c"));
    let second = recent.read(messages.clone()).unwrap();
    assert_eq!(second.messages.len(), 3);
    assert_eq!(shared(&first, &second), [true, true]);
    // Over a socket, equal messages arrive with other pointers.
    let third = recent.read(long(&["a", "b", "c", "d"])).unwrap();
    assert_eq!(shared(&second, &third), [true, true, true]);
    assert_eq!(third.system, "be good");
    assert_eq!(texts(&third, Ending::Anyone)[3].1, "d");
    // A changed message is read again, with all that follow.
    let fourth = recent.read(long(&["a", "x", "c"])).unwrap();
    assert_eq!(shared(&third, &fourth), [true, false, false]);
    assert_eq!(fourth.messages.len(), 3);
}

#[test]
fn another_prompt_is_another_conversation() {
    let recent = RecentConversations::default();
    let first = recent.read(long(&["a"])).unwrap();
    let mut other = long(&["a"]);
    other.insert(1, zino::Message::new("system", "and brief"));
    let second = recent.read(other).unwrap();
    assert_eq!(second.system, "be good\n\nand brief");
    assert_eq!(texts(&second, Ending::Anyone).len(), 1);
    let third = recent.read(long(&["a"])).unwrap();
    assert_eq!(
        (first.system.as_str(), third.system.as_str()),
        ("be good", "be good")
    );
    // One other conversation in between does not evict the current one.
    recent
        .read(vec![zino::Message::new("user", "plan")])
        .unwrap();
    let again = recent.read(long(&["a"])).unwrap();
    assert_eq!(shared(&third, &again), [true]);
}
