use std::sync::Arc;

use crate::serve::journal::merge;
use crate::serve::{MAX_EXCERPT_BYTES, MAX_SENT_MESSAGE_BYTES};
use crate::{Event, MAX_ARGUMENTS_BYTES, Record};

fn check(events: &[(&str, Event)], expected: &[(&str, &str)]) {
    let records: Vec<_> = (1u64..)
        .zip(events)
        .map(|(seq, (agent, event))| {
            Arc::new(Record {
                seq,
                ..Record::of_event(*agent, seq, event.clone())
            })
        })
        .collect();
    let merged = merge(&records);
    let sent: Vec<_> = merged
        .iter()
        .map(|record| {
            let text = record
                .event
                .as_ref()
                .and_then(|event| event.text.as_deref());
            (record.agent.as_str(), text.unwrap_or("-"))
        })
        .collect();
    assert_eq!(sent, expected);
}

fn piece(text: &str) -> Event {
    Event::piece("assistant", text)
}

#[test]
fn deltas_of_one_text_are_merged() {
    check(
        &[
            ("a", piece("x")),
            ("b", piece("1")),
            ("a", piece("y")),
            ("b", piece("2")),
        ],
        &[("a", "xy"), ("b", "12")],
    );
}

#[test]
fn other_events_separate_deltas() {
    check(
        &[
            ("a", piece("x")),
            ("a", Event::thought("hm")),
            ("a", piece("y")),
        ],
        &[("a", "x"), ("a", "hm"), ("a", "y")],
    );
    check(
        &[
            ("a", piece("x")),
            ("a", Event::turn_start(2)),
            ("a", piece("y")),
        ],
        &[("a", "x"), ("a", "-"), ("a", "y")],
    );
}

#[test]
fn a_whole_text_starts_over_and_can_be_extended() {
    let whole = Event {
        whole: true,
        ..piece("all")
    };
    check(
        &[("a", piece("x")), ("a", whole), ("a", piece("+"))],
        &[("a", "x"), ("a", "all+")],
    );
}

#[test]
fn tool_output_is_omitted_and_results_are_cut() {
    let long = "é".repeat(MAX_EXCERPT_BYTES);
    check(
        &[
            ("a", Event::tool_output("1", "much")),
            ("a", Event::tool_output("1", "more")),
            ("a", Event::tool_output("2", "other")),
            ("a", Event::tool_end("1", long.as_str(), false)),
        ],
        &[
            ("a", "-"),
            ("a", "-"),
            ("a", &"é".repeat(MAX_EXCERPT_BYTES / 2)),
        ],
    );
}

#[test]
fn arguments_are_sent_from_their_beginning() {
    let piece = |text: &str| Event {
        arguments: Some(true),
        ..Event::tool_output("1", text)
    };
    let nothing = Event {
        text: None,
        ..piece("")
    };
    check(
        &[
            ("a", nothing.clone()),
            ("a", piece("{\"command\":")),
            ("a", piece("\"ls\"}")),
            ("a", nothing),
            ("a", Event::tool_output("1", "not sent")),
        ],
        &[("a", "-"), ("a", r#"{"command":"ls"}"#), ("a", "-")],
    );
    let long = "é".repeat(MAX_ARGUMENTS_BYTES);
    let kept = "é".repeat(MAX_ARGUMENTS_BYTES / 2);
    check(&[("a", piece(&long))], &[("a", &kept)]);
    check(&[("a", piece("é")), ("a", piece(&long))], &[("a", &kept)]);
}

#[test]
fn the_end_of_a_long_message_is_kept() {
    let long = format!("{}end", "é".repeat(MAX_SENT_MESSAGE_BYTES));
    let kept = &long[long.ceil_char_boundary(long.len() - MAX_SENT_MESSAGE_BYTES)..];
    check(&[("a", piece(&long))], &[("a", kept)]);
    check(
        &[
            ("a", piece(&"é".repeat(MAX_SENT_MESSAGE_BYTES))),
            ("a", piece("end")),
        ],
        &[("a", kept)],
    );
}
