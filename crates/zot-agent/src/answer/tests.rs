use proptest::prelude::{any, prop, proptest};
use zot_conversation::{ContentBlock, ModelEvent, Reasoning, StopReason, Usage};

use super::AnswerBuilder;

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

fn build(events: impl IntoIterator<Item = ModelEvent>) -> AnswerBuilder {
    let mut builder = AnswerBuilder::default();
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
fn an_unfinished_answer_keeps_only_its_text() {
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
