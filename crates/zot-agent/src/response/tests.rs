use proptest::prelude::{any, prop, proptest};
use zot_conversation::{ContentBlock, ModelEvent, Reasoning, StopReason, Usage};

use super::ResponseBuilder;

fn arguments(id: &str, delta: &str) -> ModelEvent {
    ModelEvent::ToolCallArguments {
        id: id.into(),
        delta: delta.to_owned(),
    }
}

fn call(id: &str) -> ModelEvent {
    ModelEvent::ToolCallStart {
        id: id.into(),
        name: "read".to_owned(),
    }
}

fn build(events: impl IntoIterator<Item = ModelEvent>) -> ResponseBuilder {
    let mut builder = ResponseBuilder::default();
    for event in events {
        builder.apply(&event);
    }
    builder
}

#[test]
fn blocks_keep_their_order_and_interleaved_arguments_find_their_call() {
    let answer = build([
        ModelEvent::Start,
        ModelEvent::Reasoning(Reasoning::default()),
        ModelEvent::TextDelta("a".into()),
        ModelEvent::TextDelta(String::new()),
        ModelEvent::TextDelta("b".into()),
        call("1"),
        call("2"),
        arguments("2", "{\"x\""),
        arguments("1", "{}"),
        arguments("2", ":1}"),
        arguments("unknown", "dropped"),
        ModelEvent::Stop(StopReason::ToolUse),
    ])
    .finish()
    .unwrap();
    let shown: Vec<String> = answer
        .content
        .iter()
        .map(|block| match block {
            ContentBlock::Text(text) => text.clone(),
            ContentBlock::ToolCall(call) => {
                format!("{} {}", call.id, call.arguments.json_or_empty())
            }
            ContentBlock::Reasoning(_) => "reasoning".to_owned(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(shown, ["reasoning", "ab", "1 {}", "2 {\"x\":1}"]);
}

#[test]
fn an_unfinished_response_keeps_only_its_text() {
    let builder = build([
        ModelEvent::TextDelta("so far".into()),
        call("1"),
        arguments("1", "{\"half"),
        ModelEvent::Usage(Usage {
            output: 3,
            ..Usage::default()
        }),
    ]);
    assert_eq!(builder.usage().output, 3);
    let builder = builder.finish().unwrap_err();
    assert_eq!(
        builder.keep_text(),
        [ContentBlock::Text("so far".to_owned())]
    );
}

proptest! {
    #[test]
    fn the_cut_of_the_arguments_does_not_matter(
        text in ".{0,60}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut positions: Vec<usize> = cuts
            .iter()
            .map(|cut| text.floor_char_boundary(cut.index(text.len() + 1)))
            .collect();
        positions.sort_unstable();
        positions.push(text.len());
        let mut from = 0;
        let mut events = vec![call("1")];
        for position in positions {
            events.push(arguments("1", &text[from..position]));
            from = position;
        }
        let stop = ModelEvent::Stop(StopReason::ToolUse);
        events.push(stop.clone());
        assert_eq!(
            build(events).finish().unwrap(),
            build([call("1"), arguments("1", &text), stop]).finish().unwrap()
        );
    }
}

#[test]
fn only_the_call_that_the_output_limit_cut_off_is_not_to_be_run() {
    let cut = |events: Vec<ModelEvent>, stop| {
        let answer = build(events.into_iter().chain([ModelEvent::Stop(stop)]));
        let answer = answer.finish().unwrap();
        let calls = answer.content.iter().filter_map(|block| match block {
            ContentBlock::ToolCall(call) => Some(call.arguments.json().is_ok()),
            _ => None,
        });
        let runnable: Vec<bool> = calls.collect();
        (runnable, answer.cut_off.map(|id| id.to_string()))
    };
    let whole = || vec![call("1"), arguments("1", "{}")];
    let half = || vec![call("2"), arguments("2", "{\"x")];
    let second = Some("2".to_owned());
    let both = [whole(), half()].concat();
    assert_eq!(
        cut(both, StopReason::Length),
        (vec![true, false], second.clone())
    );
    let begun = [whole(), vec![call("2")]].concat();
    assert_eq!(
        cut(begun.clone(), StopReason::Length),
        (vec![true, false], second)
    );
    // Without the limit no arguments are an empty object.
    assert_eq!(cut(begun, StopReason::ToolUse), (vec![true, true], None));
    assert_eq!(cut(whole(), StopReason::Length), (vec![true], None));
    let followed = vec![call("2"), ModelEvent::TextDelta("so".to_owned())];
    assert_eq!(cut(followed, StopReason::Length), (vec![true], None));
}
