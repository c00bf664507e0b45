use zot_conversation::Timestamp;

use super::*;

fn image(length: usize) -> ContentBlock {
    ContentBlock::Image(Image {
        mime_type: "image/png".to_owned(),
        data: vec![0; length].into(),
    })
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text(text.to_owned())
}

fn message(role: Role, content: Vec<ContentBlock>) -> Arc<Message> {
    Arc::new(Message {
        role,
        content,
        time: Timestamp::UNIX_EPOCH,
    })
}

fn result(content: Vec<ContentBlock>) -> ContentBlock {
    ContentBlock::ToolResult(ToolResult {
        call_id: "c".into(),
        is_error: false,
        content,
    })
}

#[test]
fn only_what_no_provider_has_accepted_goes() {
    let messages = [
        message(Role::User, vec![text("look"), image(1)]),
        message(Role::Assistant, vec![text("nice")]),
        message(Role::User, vec![text("and this?"), image(2)]),
        message(Role::User, vec![text("hello?")]),
    ];
    for blame in [ImageBlame::Possible, ImageBlame::Named] {
        let left = without_refused_images(&messages, blame, "anthropic").unwrap();
        assert_eq!(left.images, ["image/png, 2 bytes"]);
        let note = "[image left out: image/png, 2 bytes, refused by anthropic]";
        assert_eq!(left.messages[2].content, [text("and this?"), text(note)]);
        for same in [0, 1, 3] {
            assert!(Arc::ptr_eq(&left.messages[same], &messages[same]));
        }
        let again = without_refused_images(&left.messages[2..], blame, "anthropic");
        assert!(again.is_none());
    }
    assert!(without_refused_images(&messages, ImageBlame::None, "x").is_none());
}

#[test]
fn a_model_that_takes_no_images_gets_none_of_those_before() {
    let messages = [
        message(Role::User, vec![image(1)]),
        message(Role::Assistant, vec![text("nice")]),
        message(Role::User, vec![text("go on")]),
    ];
    assert!(without_refused_images(&messages, ImageBlame::Possible, "x").is_none());
    let left = without_refused_images(&messages, ImageBlame::Named, "x").unwrap();
    assert_eq!(left.images, ["image/png, 1 bytes"]);
}

#[test]
fn images_of_results_go_too_and_count_once() {
    let messages = [
        message(Role::Assistant, Vec::new()),
        message(Role::Tool, vec![result(vec![text("Read"), image(3)])]),
        message(Role::User, vec![text("shown again"), image(3)]),
    ];
    let left = without_refused_images(&messages, ImageBlame::Named, "x").unwrap();
    assert_eq!(left.images, ["image/png, 3 bytes"]);
    let note = text("[image left out: image/png, 3 bytes, refused by x]");
    let expected = result(vec![text("Read"), note.clone()]);
    assert_eq!(left.messages[1].content, [expected]);
    assert_eq!(left.messages[2].content, [text("shown again"), note]);
}
