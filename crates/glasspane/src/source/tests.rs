//! Every kind of agent, from its output to its state.

mod peers;

use super::{Finding, Reader, SourceKind, parse_source};
use crate::{AgentState, CostBasis, Event, Kind, Record, Status, Tracker, Usage};

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../tests/fixtures/", $name))
    };
}

fn read(bytes: &[u8], kind: Option<SourceKind>) -> (Vec<Finding>, Option<SourceKind>) {
    let mut findings = Vec::new();
    let mut reader = Reader::new(kind);
    reader.feed(bytes, &mut findings);
    reader.finish(&mut findings);
    (findings, reader.kind())
}

fn follow(bytes: &[u8]) -> (SourceKind, Vec<Event>, AgentState) {
    let (findings, kind) = read(bytes, None);
    let mut tracker = Tracker::new("a1");
    let mut events = Vec::new();
    for finding in findings {
        match finding {
            Finding::Event(event) => {
                tracker.apply(&Record::of_event("a1", 1, event.clone()));
                events.push(event);
            }
            Finding::Usage(usage) => tracker.apply(&Record::of_usage("a1", 1, usage)),
            Finding::Identity(_) | Finding::Record(_) | Finding::Child(_) => {}
        }
    }
    (kind.expect("a kind"), events, tracker.into_state())
}

/// Returns a line for each event: its type and distinguishing fields.
fn event_lines(events: &[Event]) -> Vec<String> {
    events
        .iter()
        .map(|event| {
            let kind = serde_json::to_value(event.kind).unwrap();
            let mut line = kind.as_str().unwrap().to_owned();
            if let Some(retry) = &event.retry {
                return format!(
                    "{}: {}",
                    retry.short_words(),
                    event.message.as_deref().unwrap()
                );
            }
            let step = event.step.map(|step| step.to_string());
            let thought = event.thinking.map(|_| "thinking".to_owned());
            let failed = event
                .is_error
                .filter(|failed| *failed)
                .map(|_| "failed".to_owned());
            let parts = [
                &event.role,
                &step,
                &event.stop,
                &event.tool_id,
                &event.tool_name,
                &thought,
                &failed,
                &event.message,
                &event.text,
            ];
            for part in parts.into_iter().flatten() {
                line.push(' ');
                line.push_str(part.trim_end());
            }
            line
        })
        .collect()
}

#[track_caller]
fn check_end(state: &AgentState, status: Status, turns: u64, tools: u64, last_text: &str) {
    assert_eq!(state.violations, Vec::<String>::new());
    assert_eq!(
        (
            state.status,
            state.turns,
            state.tools,
            state.last_text.as_str()
        ),
        (status, turns, tools, last_text)
    );
}

#[test]
fn zot_rpc() {
    let (kind, _, state) = follow(fixture!("zot-rpc.jsonl"));
    assert_eq!(kind, SourceKind::Zot);
    check_end(&state, Status::Done, 2, 1, "notes.txt has 2 lines.");
    // The failed command, which is not a failure of the agent.
    assert_eq!((state.errors, state.unknown), (1, 0));
    assert!(state.usage.input_tokens > 1000, "{:?}", state.usage);
}

#[test]
fn zot_json() {
    let (kind, events, state) = follow(fixture!("zot-json.jsonl"));
    assert_eq!(kind, SourceKind::Zot);
    let last = "In the current folder I found 1 file (notes.txt).";
    check_end(&state, Status::Done, 2, 1, last);
    assert_eq!((state.errors, state.unknown), (0, 0));
    assert_eq!(events.first(), Some(&Event::prompt("list the files here")));
}

#[test]
fn zot_that_asks_for_permission() {
    let (_, events, state) = follow(fixture!("zot-confirm.jsonl"));
    check_end(
        &state,
        Status::Done,
        2,
        1,
        "`sleep 0.2; echo hello` ended with exit code 0 and printed:\n\n    hello",
    );
    let mut tracker = Tracker::new("a1");
    let mut statuses = Vec::new();
    for event in events {
        let kind = event.kind;
        tracker.apply(&Record::of_event("a1", 1, event));
        if matches!(kind, Kind::ApprovalRequest | Kind::ApprovalEnd) {
            statuses.push(tracker.state().status);
        }
    }
    assert_eq!(statuses, [Status::WaitingForApproval, Status::RunningTool]);
}

#[test]
fn zot_json_that_fails_has_no_done() {
    let lines = br#"{"type":"user_message","content":[{"type":"text","text":"hi"}]}
{"type":"turn_start","step":1}
{"type":"turn_end","stop":"error","error":"http 401"}
{"type":"error","message":"http 401"}
"#;
    let (_, _, state) = follow(lines);
    check_end(&state, Status::Failed, 1, 0, "");
    assert_eq!(state.error.as_deref(), Some("http 401"));
}

#[test]
fn the_transcripts_of_the_original_violate_no_rule() {
    let (_, _, state) = follow(fixture!("seed-real-key.jsonl"));
    check_end(&state, Status::Done, 2, 1, "This system");
    let used = Usage {
        input_tokens: 140,
        output_tokens: 88,
        cache_read_tokens: 1792,
        cache_write_tokens: 0,
        cost_usd: 0.0009,
        cost_basis: Some(CostBasis::Reported),
    };
    assert_eq!(state.usage, used);
    let (_, _, state) = follow(fixture!("seed-placeholder-key.jsonl"));
    check_end(&state, Status::Failed, 1, 0, "");
}

#[test]
fn pi_json() {
    let (kind, events, state) = follow(fixture!("pi-json.jsonl"));
    assert_eq!(kind, SourceKind::Pi);
    assert_eq!(
        event_lines(&events),
        [
            "agent_start",
            "turn_start 1",
            "message_update user how many lines has notes.txt?",
            "message_start assistant",
            "message_update assistant thinking wc will do",
            "message_update assistant Let me",
            "message_update assistant count.",
            "message_end assistant Let me count.",
            "tool_execution_start call_1 bash",
            "tool_execution_update call_1 {\"command\":\"wc -l notes.txt\"}",
            "tool_execution_update call_1 2 notes.txt",
            "tool_execution_end call_1 2 notes.txt",
            "turn_end tool_use",
            "turn_start 2",
            "message_start assistant",
            "message_update assistant Two lines.",
            "message_end assistant Two lines.",
            "turn_end end",
            "agent_end",
        ]
    );
    check_end(&state, Status::Done, 2, 1, "Two lines.");
    assert_eq!(
        (state.usage.input_tokens, state.usage.cache_read_tokens),
        (130, 140)
    );
    assert!((state.usage.cost_usd - 0.001_260_75).abs() < 1e-9);
}

#[test]
fn pi_rpc() {
    let (kind, events, state) = follow(fixture!("pi-rpc.jsonl"));
    assert_eq!(kind, SourceKind::Pi);
    check_end(&state, Status::Done, 3, 1, "I left it.");
    assert_eq!((state.errors, state.unknown, state.tool_errors), (1, 1, 1));
    let lines = event_lines(&events);
    for line in [
        "approval_request Dangerous command",
        "tool_execution_end call_7 failed Blocked by user",
        "turn_end error 529 overloaded_error",
        "retry 1/3 529 in 2.0s: 529 overloaded_error",
        "error set_model: Model not found: invalid/model",
    ] {
        assert!(
            lines.iter().any(|found| found == line),
            "{line} in {lines:#?}"
        );
    }
}

#[test]
fn codex_exec() {
    let (kind, events, state) = follow(fixture!("codex-exec.jsonl"));
    assert_eq!(kind, SourceKind::Codex);
    assert_eq!(
        event_lines(&events),
        [
            "agent_start",
            "turn_start 1",
            "message_update assistant thinking **Counting lines**",
            "tool_execution_start item_1 shell",
            "tool_execution_update item_1 bash -lc 'wc -l notes.txt'",
            "tool_execution_start item_2 docs.search",
            "tool_execution_update item_2 {\"q\":\"wc\"}",
            "tool_execution_update item_1 2 not",
            "tool_execution_end item_2 failed server is gone",
            "tool_execution_end item_1 2 notes.txt",
            "notice 1 of 2 steps done",
            "tool_execution_start item_4 file_change",
            "tool_execution_update item_4 [{\"kind\":\"add\",\"path\":\"count.txt\"}]",
            "tool_execution_end item_4 ",
            "retry 1/5: Reconnecting... 1/5",
            "message_end assistant notes.txt has two lines.",
            "turn_end end",
            "agent_end",
        ]
    );
    check_end(&state, Status::Done, 1, 3, "notes.txt has two lines.");
    let used = Usage {
        input_tokens: 315,
        output_tokens: 122,
        cache_read_tokens: 24448,
        ..Usage::default()
    };
    assert_eq!(state.usage, used);
}

#[test]
fn codex_exec_that_fails() {
    let (_, _, state) = follow(fixture!("codex-exec-failed.jsonl"));
    check_end(&state, Status::Failed, 1, 0, "");
    let error = state.error.as_deref();
    assert_eq!(error, Some("stream disconnected before completion"));
}

#[test]
fn claude_code() {
    let (kind, events, state) = follow(fixture!("claude-code.jsonl"));
    assert_eq!(kind, SourceKind::ClaudeCode);
    assert_eq!(
        event_lines(&events),
        [
            "agent_start",
            "turn_start 1",
            "message_start assistant",
            "message_update assistant thinking wc and a look",
            "message_end assistant Let me count.",
            "tool_execution_start toolu_1 Bash",
            "tool_execution_update toolu_1 {\"command\":\"wc -l notes.txt\"}",
            "tool_execution_start toolu_2 Read",
            "tool_execution_update toolu_2 {\"file_path\":\"missing.txt\"}",
            "turn_end tool_use",
            "tool_execution_end toolu_2 failed File does not exist.",
            "tool_execution_end toolu_1 2 notes.txt",
            "turn_start 2",
            "message_start assistant",
            "message_end assistant Two lines.",
            "turn_end end",
            "agent_end",
        ]
    );
    check_end(&state, Status::Done, 2, 2, "Two lines.");
    let used = Usage {
        input_tokens: 10,
        output_tokens: 61,
        cache_read_tokens: 5000,
        cache_write_tokens: 1010,
        cost_usd: 0.0123,
        cost_basis: Some(CostBasis::Reported),
    };
    assert_eq!(state.usage, used);
}

#[test]
fn claude_code_counts_a_message_once_however_many_lines_it_has() {
    let (findings, _) = read(fixture!("claude-code.jsonl"), None);
    let counted: Vec<_> = findings
        .iter()
        .filter_map(|finding| match finding {
            Finding::Usage(usage) => Some(usage.cache_read_tokens),
            _ => None,
        })
        .collect();
    assert_eq!(counted, [2000, 5000, 5000]);
}

#[test]
fn claude_code_in_pieces() {
    let (_, events, state) = follow(fixture!("claude-code-partial.jsonl"));
    assert_eq!(
        event_lines(&events),
        [
            "agent_start",
            "turn_start 1",
            "message_start assistant",
            "message_update assistant Clean",
            "message_update assistant ing.",
            "message_end assistant Cleaning.",
            "tool_execution_start toolu_9 Bash",
            "tool_execution_update toolu_9 {\"command\":\"rm -r build\"}",
            "tool_execution_update toolu_9 {\"command\":\"rm -r build\"}",
            "turn_end tool_use",
            "approval_request toolu_9 Bash {\"command\":\"rm -r build\"}",
            "tool_execution_end toolu_9 failed The user refused.",
            "error error_max_turns",
            "agent_end",
        ]
    );
    check_end(&state, Status::Failed, 1, 1, "Cleaning.");
    assert_eq!(state.usage.output_tokens, 33);
}

#[test]
fn claude_code_may_withdraw_a_permission_request() {
    let lines = br#"{"type":"system","subtype":"init"}
{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}
{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t1"}}
{"type":"control_cancel_request","request_id":"r1"}
{"type":"control_cancel_request","request_id":"r2"}
"#;
    let (_, _, state) = follow(lines);
    assert_eq!(
        (state.status, state.violation_count),
        (Status::RunningTool, 0)
    );
}

#[test]
fn zino_frames_and_their_bodies_yield_the_same_events() {
    let (kind, from_frames, state) = follow(fixture!("zino-frames.bin"));
    assert_eq!(kind, SourceKind::Zino);
    let (_, from_lines, _) = follow(fixture!("zino.jsonl"));
    assert_eq!(from_frames, from_lines);
    check_end(&state, Status::Done, 1, 1, "notes.txt has 2 lines.");
    let tool: Vec<_> = event_lines(&from_frames)
        .into_iter()
        .filter(|line| line.starts_with("tool_"))
        .collect();
    assert_eq!(
        tool,
        [
            "tool_execution_start tool-1 tool",
            "tool_execution_end tool-1 2"
        ]
    );
}

#[test]
fn zino_cli_prints_text() {
    let (findings, _) = read(fixture!("zino-cli.txt"), Some(SourceKind::Zino));
    let mut tracker = Tracker::new("a1");
    for finding in findings {
        let Finding::Event(event) = finding else {
            continue;
        };
        tracker.apply(&Record::of_event("a1", 1, event));
    }
    assert_eq!(tracker.state().status, Status::Done);
    assert!(
        tracker
            .state()
            .last_text
            .ends_with("notes.txt has 2 lines.\n")
    );
}

#[test]
fn a_zino_error_is_a_failure() {
    let (kind, events, state) =
        follow(b"{\"message\":\"hi\"}\n{\"message\":\"Empty message.\",\"type\":\"error\"}\n");
    assert_eq!(kind, SourceKind::Zino);
    assert_eq!(event_lines(&events)[1], "error Empty message.");
    assert_eq!(state.status, Status::Failed);
}

#[test]
fn any_split_of_the_bytes_reads_the_same() {
    for bytes in [
        fixture!("zino-frames.bin").as_slice(),
        fixture!("claude-code.jsonl").as_slice(),
        fixture!("seed-real-key.jsonl").as_slice(),
    ] {
        let (whole, _) = read(bytes, None);
        for size in [1, 2, 3, 7, 64, 1000] {
            let mut reader = Reader::new(None);
            let mut findings = Vec::new();
            for piece in bytes.chunks(size) {
                reader.feed(piece, &mut findings);
            }
            reader.finish(&mut findings);
            assert_eq!(findings, whole, "pieces of {size}");
        }
    }
}

#[test]
fn lines_that_are_not_json_are_counted() {
    let lines = b"warning: something\n\xff\xfe\n[1,2]\n\n  \n{\"type\":\"turn_start\",\"step\":1}\n{\"type\":\"tur";
    let (_, events, state) = follow(lines);
    assert_eq!(state.unknown, 4);
    assert_eq!(state.turns, 1);
    assert_eq!(event_lines(&events)[0], "unknown warning: something");
    assert_eq!(events[1].raw_type.as_deref(), Some("not UTF-8"));
}

#[test]
fn a_line_that_is_too_long_is_skipped_and_counted() {
    let mut findings = Vec::new();
    let mut reader = Reader::new(Some(SourceKind::Zot));
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..17 {
        reader.feed(&piece, &mut findings);
    }
    reader.feed(b"\n{\"type\":\"done\"}\n", &mut findings);
    let events: Vec<_> = findings
        .iter()
        .filter_map(|finding| match finding {
            Finding::Event(event) => Some((event.kind, event.raw_type.as_deref())),
            _ => None,
        })
        .collect();
    let expected = [
        (Kind::Unknown, Some("line too long")),
        (Kind::AgentEnd, None),
    ];
    assert_eq!(events, expected);
}

#[test]
fn reading_ends_at_a_frame_that_is_too_long() {
    let mut findings = Vec::new();
    let mut reader = Reader::new(None);
    reader.feed(
        &[0, 0, 0, 2, b'{', b'}', 0xff, 0xff, 0xff, 0xff],
        &mut findings,
    );
    reader.feed(b"{\"type\":\"done\"}\n", &mut findings);
    assert_eq!(findings.len(), 2, "{findings:?}");
}

#[test]
fn a_log_of_glasspane_is_read_back() {
    let record = Record {
        seq: 4,
        ..Record::of_event("x", 99, Event::turn_start(2))
    };
    let line = serde_json::to_string(&record).unwrap();
    let (findings, kind) = read(line.as_bytes(), None);
    assert_eq!(kind, Some(SourceKind::Glasspane));
    assert_eq!(findings.last(), Some(&Finding::Record(Box::new(record))));
}

#[test]
fn names_of_sources() {
    for kind in SourceKind::ALL {
        assert_eq!(parse_source(kind.name()).unwrap(), Some(kind));
    }
    assert_eq!(parse_source("auto").unwrap(), None);
    assert_eq!(parse_source("zot-rpc").unwrap(), Some(SourceKind::Zot));
    let error = parse_source("gpt").unwrap_err().to_string();
    assert!(error.contains("claude-code"), "{error}");
}

mod any_bytes {
    use proptest::prelude::*;

    use super::super::{Finding, Reader, SourceKind};
    use crate::record::Detached;
    use crate::{Record, Tracker};

    /// Lines that look like those of agents, and noise.
    fn line() -> impl Strategy<Value = Vec<u8>> {
        let word = prop_oneof![
            Just("turn_start"),
            Just("assistant"),
            Just("item.completed"),
            Just("chunk"),
            Just("message_update"),
            Just("result"),
            Just("stream_event"),
            Just("tool_use_start"),
            Just("system"),
        ];
        let value = prop_oneof![
            Just("null"),
            Just("[]"),
            Just("{}"),
            Just("1e999"),
            Just("-1"),
            Just("\"x\""),
            Just("[{\"type\":\"text\"}]"),
        ];
        let key = prop_oneof![
            Just("message"),
            Just("item"),
            Just("delta"),
            Just("usage"),
            Just("event"),
            Just("content"),
            Just("id"),
        ];
        prop_oneof![
            4 => (word, key, value).prop_map(|(word, key, value)| {
                format!("{{\"type\":\"{word}\",\"{key}\":{value}}}\n").into_bytes()
            }),
            1 => prop::collection::vec(any::<u8>(), 0..40),
        ]
    }

    const TRANSCRIPTS: [&[u8]; 12] = [
        fixture!("acp.jsonl"),
        fixture!("claude-code-aborted.jsonl"),
        fixture!("claude-code-children.jsonl"),
        fixture!("claude-code-partial.jsonl"),
        fixture!("codex-app-server.jsonl"),
        fixture!("codex-exec.jsonl"),
        fixture!("gemini.jsonl"),
        fixture!("goose.txt"),
        fixture!("opencode.jsonl"),
        fixture!("pi-rpc.jsonl"),
        fixture!("qwen.jsonl"),
        fixture!("zot-confirm.jsonl"),
    ];

    /// A line of a real agent, unchanged or with a huge number.
    fn real_line() -> impl Strategy<Value = Vec<u8>> {
        (
            0..TRANSCRIPTS.len(),
            any::<prop::sample::Index>(),
            any::<bool>(),
        )
            .prop_map(|(transcript, line, large)| {
                let lines: Vec<_> = TRANSCRIPTS[transcript]
                    .split_inclusive(|byte| *byte == b'\n')
                    .collect();
                let line = String::from_utf8(line.get(&lines).to_vec()).unwrap();
                match large {
                    true => line.replace("tokens\":", "tokens\":18446744073709551615,\"x\":"),
                    false => line,
                }
                .into_bytes()
            })
    }

    proptest! {
        /// Lines in any order can be read as any kind, and usage only grows.
        #[test]
        fn of_any_kind_are_read_as_any(lines in prop::collection::vec(real_line(), 0..60), kind in 0..13_usize) {
            let mut findings = Vec::new();
            let mut reader = Reader::new(SourceKind::ALL.get(kind).copied());
            for line in &lines {
                reader.feed(line, &mut findings);
            }
            reader.finish(&mut findings);
            let mut tracker = Tracker::new("a1");
            let mut before = 0;
            for finding in findings {
                match finding {
                    Finding::Event(event) => tracker.apply(&Record::of_event("a1", 1, event)),
                    Finding::Usage(usage) => {
                        prop_assert!(usage.tokens() >= before);
                        before = usage.tokens();
                        tracker.apply(&Record::of_usage("a1", 1, usage));
                    }
                    _ => {}
                }
            }
            tracker.apply(&Record::of_detached("a1", 2, Detached::default()));
            prop_assert!(!tracker.state().status.is_working());
        }

        /// Any bytes can be read, and how they are split makes no difference.
        #[test]
        fn are_read(lines in prop::collection::vec(line(), 0..20), size in 1..50_usize, kind in 0..13_usize) {
            let bytes = lines.concat();
            let kind = SourceKind::ALL.get(kind).copied();
            let (mut whole, mut pieces) = (Vec::new(), Vec::new());
            let mut reader = Reader::new(kind);
            reader.feed(&bytes, &mut whole);
            reader.finish(&mut whole);
            let mut reader = Reader::new(kind);
            for piece in bytes.chunks(size) {
                reader.feed(piece, &mut pieces);
            }
            reader.finish(&mut pieces);
            prop_assert_eq!(whole, pieces);
        }
    }
}
