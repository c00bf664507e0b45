//! Checks the two transcripts of the document that defines the mapping against its table, line by line.

use serde_json::{Value, json};

use super::normalize;
use crate::{Event, Kind};

const PLACEHOLDER_KEY: &str = include_str!("../../tests/fixtures/seed-placeholder-key.jsonl");
const REAL_KEY: &str = include_str!("../../tests/fixtures/seed-real-key.jsonl");

fn kinds(transcript: &str) -> Vec<(String, Option<Kind>)> {
    transcript
        .lines()
        .map(|line| {
            let object: Value = serde_json::from_str(line).unwrap();
            let name = object["type"].as_str().unwrap().to_owned();
            (name, normalize(&object).map(|event| event.kind))
        })
        .collect()
}

fn expected(table: &[(&str, Option<Kind>)]) -> Vec<(String, Option<Kind>)> {
    table
        .iter()
        .map(|(name, kind)| ((*name).to_owned(), *kind))
        .collect()
}

#[test]
fn the_transcript_with_a_placeholder_key() {
    let table = [
        ("response", None),
        ("user_message", Some(Kind::MessageUpdate)),
        ("turn_start", Some(Kind::TurnStart)),
        ("turn_end", Some(Kind::TurnEnd)),
        ("error", Some(Kind::Error)),
        ("done", Some(Kind::AgentEnd)),
    ];
    assert_eq!(kinds(PLACEHOLDER_KEY), expected(&table));
}

#[test]
fn the_transcript_with_a_real_key() {
    let table = [
        ("response", None),
        ("user_message", Some(Kind::MessageUpdate)),
        ("turn_start", Some(Kind::TurnStart)),
        ("assistant_start", Some(Kind::MessageStart)),
        ("tool_use_start", Some(Kind::ToolExecutionStart)),
        ("tool_use_args", Some(Kind::ToolExecutionUpdate)),
        ("tool_use_args", Some(Kind::ToolExecutionUpdate)),
        ("tool_use_args", Some(Kind::ToolExecutionUpdate)),
        ("tool_use_end", Some(Kind::ToolExecutionUpdate)),
        ("usage", None),
        ("assistant_message", Some(Kind::MessageEnd)),
        ("tool_call", None),
        ("turn_end", Some(Kind::TurnEnd)),
        ("tool_progress", Some(Kind::ToolExecutionUpdate)),
        ("tool_result", Some(Kind::ToolExecutionEnd)),
        ("turn_start", Some(Kind::TurnStart)),
        ("assistant_start", Some(Kind::MessageStart)),
        ("text_delta", Some(Kind::MessageUpdate)),
        ("text_delta", Some(Kind::MessageUpdate)),
        ("usage", None),
        ("turn_end", Some(Kind::TurnEnd)),
        ("done", Some(Kind::AgentEnd)),
    ];
    assert_eq!(kinds(REAL_KEY), expected(&table));
}

#[test]
fn the_real_key_transcript_shows_all_fifteen_types_and_one_start_of_its_one_tool() {
    let seen = kinds(REAL_KEY);
    let mut types: Vec<_> = seen.iter().map(|(name, _)| name.as_str()).collect();
    types.sort_unstable();
    types.dedup();
    assert_eq!(types.len(), 15, "{types:?}");
    let starts = seen
        .iter()
        .filter(|(_, kind)| *kind == Some(Kind::ToolExecutionStart))
        .count();
    assert_eq!(starts, 1);
}

#[test]
fn fields_are_kept() {
    let event = |object: Value| normalize(&object).unwrap();
    assert_eq!(
        event(json!({"type":"turn_end","stop":"error","error":"http 401"})),
        Event {
            stop: Some("error".to_owned()),
            message: Some("http 401".to_owned()),
            ..Event::new(Kind::TurnEnd)
        }
    );
    assert_eq!(
        event(json!({"type":"tool_result","id":"c1","is_error":true,
                     "content":[{"type":"text","text":"no "},{"type":"image"},{"type":"text","text":"file"}]})),
        Event::tool_end("c1", "no file", true)
    );
    assert_eq!(
        event(json!({"type":"tool_use_args","id":"c1","delta":"{"})),
        Event {
            arguments: Some(true),
            ..Event::tool_output("c1", "{")
        }
    );
    assert_eq!(
        event(json!({"type":"turn_start","step":7})),
        Event::turn_start(7)
    );
}

#[test]
fn a_failed_response_is_an_error() {
    let failed =
        json!({"type":"response","command":"set_model","success":false,"error":"unknown model"});
    let event = normalize(&failed).unwrap();
    assert_eq!(event.kind, Kind::Error);
    assert_eq!(event.message.as_deref(), Some("set_model: unknown model"));
}

#[test]
fn unknown_events_are_reported_as_unknown() {
    for (object, raw) in [
        (json!({"type":"from_the_future","x":1}), "from_the_future"),
        (json!({"no":"type"}), ""),
        (json!({"type":42}), ""),
    ] {
        let event = normalize(&object).unwrap();
        assert_eq!(
            (event.kind, event.raw_type.as_deref()),
            (Kind::Unknown, Some(raw))
        );
    }
}

#[test]
fn every_event_our_zot_sends_is_known() {
    for name in zot_wire::rpc::Event::TYPES {
        let event = normalize(&json!({"type": name}));
        assert!(
            event.is_none_or(|event| event.kind != Kind::Unknown),
            "{name} is unknown"
        );
    }
    let confirm = json!({"type":"tool_confirm","id":"c1","name":"bash","args":{},"preview":"rm"});
    assert_eq!(normalize(&confirm).unwrap().kind, Kind::ApprovalRequest);
    let question =
        json!({"type":"tool_question","id":"q1","call_id":"c1","origin":"demo","message":"Which?"});
    let event = normalize(&question).unwrap();
    assert_eq!(
        (event.kind, event.tool_id),
        (Kind::ApprovalRequest, Some("c1".to_owned()))
    );
    let state = json!({"type":"mcp_state","name":"demo","state":"failed","error":"no program"});
    let event = normalize(&state).unwrap();
    assert_eq!((event.kind, event.is_error), (Kind::Notice, Some(true)));
    assert_eq!(
        event.message.as_deref(),
        Some("MCP server demo: failed: no program")
    );
    let notify = json!({"type":"ext_notify","extension":"notes","level":"error","message":"lost"});
    let event = normalize(&notify).unwrap();
    assert_eq!((event.kind, event.is_error), (Kind::Notice, Some(true)));
}

#[test]
fn results_name_the_hosts_that_were_contacted() {
    let result = serde_json::json!({"type": "tool_result", "id": "c", "is_error": false, "content": [], "network": [
        {"host": "a.org", "port": 443, "allowed": true}, {"host": "b.org", "port": 80, "allowed": false},
        {"host": 5}, {"host": "h".repeat(9000), "port": 1, "allowed": true}, "nonsense"]});
    let event = super::normalize(&result).unwrap();
    let words: Vec<String> = event.network.iter().map(crate::Contact::words).collect();
    assert_eq!(words[..2], ["a.org:443", "refused b.org:80"]);
    assert_eq!((words.len(), event.network[2].host.len()), (3, 255));
    let many = vec![serde_json::json!({"host": "a", "port": 1, "allowed": true}); 1000];
    let result = serde_json::json!({"type": "tool_result", "id": "c", "network": many});
    let event = super::normalize(&result).unwrap();
    assert_eq!(event.network.len(), crate::MAX_HOSTS);
}
