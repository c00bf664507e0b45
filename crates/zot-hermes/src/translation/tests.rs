use proptest::prelude::*;
use zot_conversation::{ModelEvent, StopReason};

use super::Translation;
use crate::ids::CallIds;

/// The events for a text in pieces, a line each: deltas that follow each other are joined.
fn translate<'t>(pieces: impl IntoIterator<Item = &'t str>, ending: Ending) -> Vec<String> {
    let ids = CallIds::default();
    let mut translation = Translation::new(&ids);
    let mut events: Vec<ModelEvent> = Vec::new();
    let mut fetch = |translation: &mut Translation<'_>| {
        while let Some(event) = translation.next() {
            join(&mut events, event);
        }
    };
    for piece in pieces {
        translation.apply(ModelEvent::TextDelta(piece.to_owned()));
        fetch(&mut translation);
    }
    match ending {
        Ending::Stop(reason) => translation.apply(ModelEvent::Stop(reason)),
        Ending::BrokenOff => translation.break_off(),
    }
    fetch(&mut translation);
    events.iter().map(render).collect()
}

#[derive(Clone, Copy)]
enum Ending {
    Stop(StopReason),
    BrokenOff,
}

const END: Ending = Ending::Stop(StopReason::End);

fn join(events: &mut Vec<ModelEvent>, event: ModelEvent) {
    match (events.last_mut(), &event) {
        (_, ModelEvent::TextDelta(delta)) if delta.is_empty() => {}
        (Some(ModelEvent::TextDelta(before)), ModelEvent::TextDelta(delta))
        | (
            Some(ModelEvent::ToolCallArguments { delta: before, .. }),
            ModelEvent::ToolCallArguments { delta, .. },
        ) => before.push_str(delta),
        _ => events.push(event),
    }
}

fn render(event: &ModelEvent) -> String {
    match event {
        ModelEvent::TextDelta(text) => format!("text {text:?}"),
        ModelEvent::ToolCallStart { id, name } => format!("start {id} {name}"),
        ModelEvent::ToolCallArguments { id, delta } => format!("arguments {id} {delta}"),
        ModelEvent::ToolCallEnd { id } => format!("end {id}"),
        ModelEvent::Stop(reason) => format!("stop {reason:?}"),
        other => format!("{other:?}"),
    }
}

#[track_caller]
fn check_ending(text: &str, ending: Ending, expected: &[&str]) {
    assert_eq!(translate([text], ending), expected, "{text}");
    assert_eq!(
        translate(text.split_inclusive(|_| true), ending),
        expected,
        "character by character: {text}"
    );
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    check_ending(text, END, expected);
}

#[test]
fn text_alone_stays_as_it_is() {
    check("", &["stop End"]);
    check(" a < b \n", &[r#"text " a < b \n""#, "stop End"]);
    check("\n\n", &[r#"text "\n\n""#, "stop End"]);
    check("<tool_cal", &[r#"text "<tool_cal""#, "stop End"]);
    check("<task>a</task>", &[r#"text "<task>a</task>""#, "stop End"]);
    let blanks = " ".repeat(3_000);
    check(&blanks, &[&format!("text {blanks:?}"), "stop End"]);
}

#[test]
fn a_call_with_text_around_it() {
    check(
        "look \n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>\n\n and so on\n",
        &[
            r#"text "look""#,
            "start hermes_1 read",
            r#"arguments hermes_1 {"path": "a"}"#,
            "end hermes_1",
            r#"text "and so on\n""#,
            "stop ToolUse",
        ],
    );
}

#[test]
fn calls_side_by_side() {
    check(
        "\n<tool_call>{\"name\":\"read\",\"arguments\":{\"a\":1}}</tool_call>\n\
         <tool_call>```json\n{\"arguments\":{\"b\":2},\"name\":\"write\"}\n```</tool_call> or \
         <tool_call>{\"name\":\"bash\"}</tool_call>\n",
        &[
            "start hermes_1 read",
            r#"arguments hermes_1 {"a":1}"#,
            "end hermes_1",
            "start hermes_2 write",
            r#"arguments hermes_2 {"b":2}"#,
            "end hermes_2",
            r#"text "or""#,
            "start hermes_3 bash",
            "end hermes_3",
            "stop ToolUse",
        ],
    );
}

#[test]
fn malformed_calls_are_calls_that_fail() {
    check(
        "x <tool_call>{\"name\": \"execute_bash\", \"arguments\": {\"code\": </tool_call> y",
        &[
            r#"text "x""#,
            "start hermes_1 execute_bash",
            r#"arguments hermes_1 {"code": "#,
            "end hermes_1",
            r#"text "y""#,
            "stop ToolUse",
        ],
    );
    check(
        "<tool_call>read a.txt</tool_call>",
        &[
            "start hermes_1 invalid_tool_call",
            "arguments hermes_1 read a.txt",
            "end hermes_1",
            "stop ToolUse",
        ],
    );
    check(
        "<tool_call></tool_call>",
        &[
            "start hermes_1 invalid_tool_call",
            "end hermes_1",
            "stop ToolUse",
        ],
    );
}

#[test]
fn the_first_closing_tag_ends_a_block_even_in_a_string() {
    check(
        r#"<tool_call>{"name":"w","arguments":{"text":"</tool_call>"}}</tool_call>"#,
        &[
            "start hermes_1 w",
            r#"arguments hermes_1 {"text":""#,
            "end hermes_1",
            r#"text "\"}}</tool_call>""#,
            "stop ToolUse",
        ],
    );
    check(
        r#"<tool_call>{"name":"w","arguments":{"text":"<\/tool_call><tool_call>"}}</tool_call>"#,
        &[
            "start hermes_1 w",
            r#"arguments hermes_1 {"text":"<\/tool_call><tool_call>"}"#,
            "end hermes_1",
            "stop ToolUse",
        ],
    );
}

#[test]
fn blocks_without_an_end() {
    check(
        "text <tool_call>{\"name\":",
        &[r#"text "text <tool_call>{\"name\":""#, "stop End"],
    );
    check(
        "text <tool_call>\n{\"name\": \"read\", \"arguments\": {}}\n",
        &[
            r#"text "text""#,
            "start hermes_1 read",
            "arguments hermes_1 {}",
            "end hermes_1",
            "stop ToolUse",
        ],
    );
    check_ending(
        "<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":",
        Ending::Stop(StopReason::Length),
        &[
            "start hermes_1 read",
            r#"arguments hermes_1 {"path":"#,
            "end hermes_1",
            "stop Length",
        ],
    );
}

#[test]
fn what_breaks_off_keeps_its_text() {
    check_ending(
        "so far \n<tool_c",
        Ending::BrokenOff,
        &[r#"text "so far \n<tool_c""#],
    );
    check_ending(
        "so far <tool_call>{\"na",
        Ending::BrokenOff,
        &[r#"text "so far ""#],
    );
    check_ending(
        "so far <tool_call>{\"name\":\"read\"",
        Ending::BrokenOff,
        &[r#"text "so far""#, "start hermes_1 read"],
    );
}

#[test]
fn arguments_are_reported_while_they_arrive() {
    let ids = CallIds::default();
    let mut translation = Translation::new(&ids);
    let mut feed = |piece: &str| {
        translation.apply(ModelEvent::TextDelta(piece.to_owned()));
        let events: Vec<String> = std::iter::from_fn(|| translation.next())
            .map(|event| render(&event))
            .collect();
        events.join(", ")
    };
    assert_eq!(feed("look"), r#"text "look""#);
    assert_eq!(feed(" \n<tool"), "");
    assert_eq!(feed("_call>{\"name\":\"re"), "");
    assert_eq!(feed("ad\""), "start hermes_1 read");
    assert_eq!(
        feed(", \"arguments\": {\"a\":"),
        r#"arguments hermes_1 {"a":"#
    );
    assert_eq!(feed(" \"</b"), r#"arguments hermes_1  "</b"#);
    assert_eq!(feed("\"}"), r#"arguments hermes_1 ""#);
    assert_eq!(feed("}\n</tool_"), "");
    assert_eq!(feed("call>"), "arguments hermes_1 }, end hermes_1");
}

#[test]
fn other_events_pass() {
    let ids = CallIds::default();
    let mut translation = Translation::new(&ids);
    let reasoning = ModelEvent::Reasoning(Default::default());
    for event in [
        ModelEvent::Start,
        ModelEvent::ThinkingDelta("hm <tool_call>".to_owned()),
        ModelEvent::TextDelta("a ".to_owned()),
        ModelEvent::Usage(Default::default()),
        reasoning.clone(),
        ModelEvent::TextDelta("b".to_owned()),
        ModelEvent::Stop(StopReason::Refused),
    ] {
        translation.apply(event);
    }
    let events: Vec<ModelEvent> = std::iter::from_fn(|| translation.next()).collect();
    assert_eq!(
        events,
        [
            ModelEvent::Start,
            ModelEvent::ThinkingDelta("hm <tool_call>".to_owned()),
            ModelEvent::TextDelta("a".to_owned()),
            ModelEvent::Usage(Default::default()),
            ModelEvent::TextDelta(" ".to_owned()),
            reasoning,
            ModelEvent::TextDelta("b".to_owned()),
            ModelEvent::Stop(StopReason::Refused),
        ]
    );
}

/// Answers made of what matters.
fn telling_answer() -> impl Strategy<Value = String> {
    const PARTS: &[&str] = &[
        "<tool_call>",
        "<tool_call>\n{\"name\": \"read\", \"arguments\": ",
        "<tool_call>{\"name\":\"bash\",\"arguments\":{\"command\":\"ls\"}}</tool_call>",
        "</tool_call>",
        "</tool_call>",
        "{\"path\": \"a\"}",
        "}",
        "\"}",
        "{\"name\":",
        "<",
        "</",
        "tool",
        "text",
        "日本",
        " ",
        "\n",
        "```json",
    ];
    prop::collection::vec(prop::sample::select(PARTS), 0..16).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_cut_gives_the_same_events(text in telling_answer(), broken_off in any::<bool>()) {
        let ending = if broken_off { Ending::BrokenOff } else { END };
        let whole = translate([text.as_str()], ending);
        prop_assert_eq!(&translate(text.split_inclusive(|_| true), ending), &whole);
        for place in (0..=text.len()).filter(|&place| text.is_char_boundary(place)) {
            let (head, tail) = text.split_at(place);
            prop_assert_eq!(&translate([head, tail], ending), &whole);
        }
    }
}
