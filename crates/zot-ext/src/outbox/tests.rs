use zot_wire::extension as wire;

use super::*;

fn parsed(line: &[u8]) -> ExtensionFrame {
    ExtensionFrame::parse(line).expect("is a frame")
}

fn tool_result(text: String) -> ExtensionFrame {
    ExtensionFrame::ToolResult(ToolResult::text(text).into_wire("7".to_owned()))
}

#[test]
fn an_answer_that_is_too_long_becomes_an_error() {
    let line = encode(tool_result("x".repeat(MAX_WIRE_LINE_BYTES))).expect("is answered");
    let ExtensionFrame::ToolResult(result) = parsed(&line) else {
        panic!("not a result");
    };
    assert_eq!((result.id.as_str(), result.is_error), ("7", true));
    assert!(result.content[0].text.contains("16777216"), "{result:?}");

    let verdict = crate::Verdict::modify("x".repeat(MAX_WIRE_LINE_BYTES)).into_wire("8".to_owned());
    let line = encode(ExtensionFrame::EventInterceptResponse(verdict)).expect("is answered");
    let ExtensionFrame::EventInterceptResponse(verdict) = parsed(&line) else {
        panic!("not a verdict");
    };
    assert!(verdict.block);

    let response = Response::prompt("x".repeat(MAX_WIRE_LINE_BYTES)).into_wire("9".to_owned());
    let line = encode(ExtensionFrame::CommandResponse(response)).expect("is answered");
    let ExtensionFrame::CommandResponse(response) = parsed(&line) else {
        panic!("not a response");
    };
    assert_eq!(response.action, wire::CommandAction::Noop);
    assert!(!response.error.is_empty());

    let notification = ExtensionFrame::Notify {
        level: "info".to_owned(),
        message: "x".repeat(MAX_WIRE_LINE_BYTES),
    };
    assert_eq!(encode(notification), None);
}

#[tokio::test]
async fn lines_are_written_in_order_up_to_the_end() {
    let (outbox, outgoing) = channel();
    for number in 0..200 {
        outbox.answer(tool_result(number.to_string())).await;
    }
    outbox.end().await;
    outbox.offer(ExtensionFrame::Ready);
    let mut written = Vec::new();
    let introduction = encode(ExtensionFrame::Ready).expect("is a frame");
    write_lines(&mut written, outgoing, introduction)
        .await
        .expect("a vector takes everything");
    let frames: Vec<_> = written
        .split_inclusive(|byte| *byte == b'\n')
        .map(parsed)
        .collect();
    let mut expected = vec![ExtensionFrame::Ready];
    expected.extend((0..200).map(|number: u8| tool_result(number.to_string())));
    assert_eq!(frames, expected);
    // Does not wait for a writer that has ended.
    outbox.answer(ExtensionFrame::Ready).await;
}

#[tokio::test]
async fn frames_other_than_responses_do_not_wait() {
    let (outbox, mut outgoing) = channel();
    for _ in 0..MAX_WAITING_FRAMES + 10 {
        outbox.offer(ExtensionFrame::Ready);
    }
    let mut waiting = 0;
    while outgoing.try_recv().is_ok() {
        waiting += 1;
    }
    assert_eq!(waiting, MAX_WAITING_FRAMES);
}
