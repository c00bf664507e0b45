use super::{MAX_RESPONSE_BLOCKS, MAX_RESPONSE_BYTES, ResponseSize, ResponseTooLong};
use crate::{ModelEvent, Reasoning};

#[test]
fn everything_that_is_kept_counts() {
    let text = || "x".repeat(1 << 20);
    let events = [
        ModelEvent::TextDelta(text()),
        ModelEvent::ThinkingDelta(text()),
        ModelEvent::ToolCallArguments {
            id: "c".into(),
            delta: text(),
        },
        ModelEvent::Reasoning(Reasoning {
            signature: Some(text()),
            ..Reasoning::default()
        }),
        ModelEvent::ToolCallStart {
            id: "c".into(),
            name: text(),
        },
    ];
    for event in events {
        let mut size = ResponseSize::default();
        let room = MAX_RESPONSE_BYTES >> 20;
        let taken = (0..=room).take_while(|_| size.add(&event).is_ok()).count();
        assert!((room - 1..=room).contains(&taken), "{taken} of {room}");
    }
}

#[test]
fn blocks_are_counted_however_short() {
    let mut size = ResponseSize::default();
    let call = ModelEvent::ToolCallStart {
        id: "".into(),
        name: String::new(),
    };
    for _ in 0..MAX_RESPONSE_BLOCKS {
        assert_eq!(size.add(&call), Ok(()));
    }
    assert_eq!(size.add(&call), Err(ResponseTooLong::Blocks));
    let named = ResponseTooLong::Blocks.to_string();
    assert!(named.contains("MAX_RESPONSE_BLOCKS"), "{named}");
}
