use std::sync::Arc;

use zot_conversation::{ContentBlock, Image, Message, Role, Timestamp, ToolResult};

use super::{IMAGE_MIRROR_HEADING, mirror_images};

fn results(blocks: Vec<ContentBlock>) -> Arc<Message> {
    Arc::new(Message {
        role: Role::Tool,
        content: vec![ContentBlock::ToolResult(ToolResult {
            call_id: "a".into(),
            is_error: false,
            content: blocks,
        })],
        time: Timestamp::UNIX_EPOCH,
    })
}

fn image() -> ContentBlock {
    ContentBlock::Image(Image {
        mime_type: "image/png".to_owned(),
        data: b"png".as_slice().into(),
    })
}

fn user(text: &str) -> Arc<Message> {
    Arc::new(Message::user_text(text, Timestamp::UNIX_EPOCH))
}

#[test]
fn results_without_images_need_no_mirror() {
    let text = ContentBlock::Text("out".to_owned());
    assert_eq!(mirror_images(&[user("hi"), results(vec![text])]), None);
}

#[test]
fn every_image_is_mirrored_once() {
    let messages = [
        user("hi"),
        results(vec![image(), image()]),
        user("next"),
        results(vec![image()]),
    ];
    let mirrored = mirror_images(&messages).unwrap();
    assert_eq!(mirrored.len(), 6);
    assert_eq!(mirrored[2].text(), IMAGE_MIRROR_HEADING);
    assert_eq!(mirrored[2].content.len(), 3);
    assert_eq!(mirrored[5].content[1], image());
    assert!(Arc::ptr_eq(&mirrored[3], &messages[2]));
    assert_eq!(mirror_images(&mirrored), None);
}
