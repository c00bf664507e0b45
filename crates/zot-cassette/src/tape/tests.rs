use proptest::prelude::*;
use serde_json::Value;
use zot_conversation::{ModelEvent, Reasoning, StopReason, ToolCallId, Usage};

use super::Tape;
use crate::exchange::{EventLine, Played};
use crate::redaction::Redactor;

fn written(events: &[(u64, ModelEvent)], redactor: &Redactor) -> String {
    let mut tape = Tape::default();
    for (ms, event) in events {
        tape.push(*ms, event);
    }
    let mut line = Vec::new();
    tape.append_to(&mut line, redactor);
    String::from_utf8(line).unwrap()
}

fn read(json: &str) -> Vec<(u64, ModelEvent)> {
    let lines: Vec<EventLine> = serde_json::from_str(json).unwrap();
    let mut events = Vec::new();
    for line in lines {
        let ms = line.ms;
        match line.play(1).unwrap() {
            Played::One(event) => events.push((ms, event)),
            Played::Deltas(kind, deltas) => {
                events.extend(deltas.map(|delta| (ms, kind.event(delta))));
            }
        }
    }
    events
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::TextDelta(text.to_owned())
}

#[test]
fn deltas_that_came_together_are_one_event() {
    let events = [
        (0, ModelEvent::Start),
        (3, text("alpha ")),
        (3, text("beta\n")),
        (9, text("gamma")),
        (9, ModelEvent::Stop(StopReason::End)),
    ];
    assert_eq!(
        written(&events, &Redactor::NONE),
        r#"[{"type":"start","ms":0},{"type":"text","ms":3,"deltas":["alpha ","beta\n"]},"#
            .to_owned()
            + r#"{"type":"text","ms":9,"deltas":["gamma"]},{"type":"stop","ms":9,"reason":"end"}]"#
    );
}

#[test]
fn a_secret_goes_however_it_is_cut() {
    let secret = "sk-abcdefghijklmnop1234";
    let whole = format!("one {secret} two");
    let redactor = Redactor::new(None, []);
    for first in 0..=whole.len() {
        for second in first..=whole.len() {
            let pieces = [&whole[..first], &whole[first..second], &whole[second..]];
            let events: Vec<_> = pieces
                .iter()
                .enumerate()
                .map(|(index, piece)| (index as u64 % 2, text(piece)))
                .collect();
            let played = read(&written(&events, &redactor));
            assert_eq!(played.len(), 3, "the number of deltas stays");
            let said: String = played
                .iter()
                .map(|(_, event)| match event {
                    ModelEvent::TextDelta(delta) => delta.as_str(),
                    _ => "",
                })
                .collect();
            assert_eq!(said, "one [redacted] two", "{first} {second}");
        }
    }
}

#[test]
fn two_secrets_in_a_row_go_byte_by_byte() {
    let environment = [("A_KEY".to_owned(), "secret-one".to_owned())];
    let redactor = Redactor::new(None, environment);
    let whole = "secret-onesecret-one.";
    let events: Vec<_> = whole.chars().map(|c| (0, text(&c.to_string()))).collect();
    let json: Value = serde_json::from_str(&written(&events, &redactor)).unwrap();
    let deltas = json[0]["deltas"].as_array().unwrap();
    assert_eq!(deltas.len(), whole.len());
    let said: String = deltas.iter().filter_map(Value::as_str).collect();
    assert_eq!(said, "[redacted][redacted].");
}

fn any_event() -> impl Strategy<Value = ModelEvent> {
    let id = || prop::sample::select(vec!["call_1", "call_2"]).prop_map(ToolCallId::from);
    let maybe = || prop::option::of(".*");
    prop_oneof![
        Just(ModelEvent::Start),
        ".*".prop_map(ModelEvent::TextDelta),
        ".*".prop_map(ModelEvent::ThinkingDelta),
        (".*", ".*", maybe(), maybe(), maybe(), maybe()).prop_map(
            |(provider, text, signature, encrypted, id, prefix)| {
                ModelEvent::Reasoning(Reasoning {
                    provider,
                    details: Some(text.clone()).filter(|text| text.len() > 4),
                    text,
                    signature,
                    encrypted,
                    id,
                    prefix,
                })
            }
        ),
        (id(), ".*").prop_map(|(id, name)| ModelEvent::ToolCallStart { id, name }),
        (id(), ".*").prop_map(|(id, delta)| ModelEvent::ToolCallArguments { id, delta }),
        id().prop_map(|id| ModelEvent::ToolCallEnd { id }),
        any::<(u64, u64, u64, u64)>().prop_map(|(input, output, cache_read, cache_write)| {
            ModelEvent::Usage(Usage {
                input,
                output,
                cache_read,
                cache_write,
                cost_usd: 0.0,
            })
        }),
        prop::sample::select(vec![
            StopReason::End,
            StopReason::ToolUse,
            StopReason::Length,
            StopReason::Refused,
        ])
        .prop_map(ModelEvent::Stop),
    ]
}

proptest! {
    #[test]
    fn what_is_written_reads_back(
        events in prop::collection::vec((0_u64..3, any_event()), 0..40)
    ) {
        let json = written(&events, &Redactor::NONE);
        prop_assert!(!json.contains('\n'));
        prop_assert_eq!(read(&json), events);
    }
}
