//! Other agents: detection, how they end, and that everything is counted once.

use super::{check_end, event_lines, follow, read};
use crate::record::Detached;
use crate::source::{Finding, SourceKind};
use crate::{AgentState, CostBasis, Event, Kind, Record, Status, Tracker, Usage};

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../../tests/fixtures/", $name))
    };
}

/// Returns the detected kind, and the state after the end of the stream.
fn at_end(lines: &str) -> (Option<SourceKind>, AgentState) {
    let (findings, kind) = read(lines.as_bytes(), None);
    let mut tracker = Tracker::new("a1");
    for finding in findings {
        match finding {
            Finding::Event(event) => tracker.apply(&Record::of_event("a1", 1, event)),
            Finding::Usage(usage) => tracker.apply(&Record::of_usage("a1", 1, usage)),
            _ => {}
        }
    }
    let detached = Detached {
        reason: "end of input".to_owned(),
        ..Detached::default()
    };
    tracker.apply(&Record::of_detached("a1", 1, detached));
    (kind, tracker.into_state())
}

/// Returns the first `count` lines, as a stream that was cut off.
fn cut(lines: &[u8], count: usize) -> String {
    let lines = str::from_utf8(lines).unwrap();
    lines.split_inclusive('\n').take(count).collect()
}

fn used(input: u64, output: u64, read: u64, write: u64) -> Usage {
    Usage {
        input_tokens: input,
        output_tokens: output,
        cache_read_tokens: read,
        cache_write_tokens: write,
        ..Usage::default()
    }
}

#[test]
fn gemini() {
    let (kind, events, state) = follow(fixture!("gemini.jsonl"));
    assert_eq!(kind, SourceKind::Gemini);
    assert_eq!(
        event_lines(&events),
        [
            "agent_start",
            "message_update user count the lines",
            "turn_start 1",
            "message_update assistant Let me",
            "message_update assistant look.",
            "message_end assistant Let me look.",
            "tool_execution_start t1 run_shell_command",
            "tool_execution_update t1 {\"command\":\"wc -l notes.txt\"}",
            "tool_execution_start t2 read_file",
            "tool_execution_update t2 {\"path\":\"missing\"}",
            "turn_end tool_use",
            "tool_execution_end t2 failed no such file",
            "tool_execution_end t1 2 notes.txt",
            "notice Loop detected",
            "turn_start 2",
            "message_update assistant Two lines.",
            "message_end assistant Two lines.",
            "turn_end end",
            "agent_end",
        ]
    );
    check_end(&state, Status::Done, 2, 2, "Two lines.");
    assert_eq!(state.usage, used(600, 150, 400, 0));
}

#[test]
fn goose() {
    let (kind, events, state) = follow(fixture!("goose.txt"));
    assert_eq!(kind, SourceKind::Goose);
    assert_eq!(
        event_lines(&events)[..6],
        [
            "agent_start",
            "turn_start 1",
            "message_update assistant thinking wc will do",
            "message_update assistant Let me",
            "message_update assistant look.",
            "message_end assistant Let me look.",
        ]
    );
    check_end(&state, Status::Done, 2, 1, "Two lines.");
    // The program it ran failed.
    assert_eq!((state.tool_errors, state.unknown), (1, 0));
    assert_eq!(state.usage, used(250, 100, 700, 50));
    let (findings, _) = read(fixture!("goose.txt"), None);
    let identity: Vec<_> = findings
        .iter()
        .filter_map(|finding| match finding {
            Finding::Identity(identity) => identity.model.clone().or(identity.cwd.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(identity, ["claude-sonnet-4-5", "/home/me/project"]);
}

#[test]
fn opencode() {
    let (kind, _, state) = follow(fixture!("opencode.jsonl"));
    assert_eq!(kind, SourceKind::Opencode);
    check_end(&state, Status::Done, 2, 2, "Two lines.");
    assert_eq!(state.tool_errors, 1);
    let usage = used(520, 35, 1595, 100);
    assert_eq!(state.usage, usage.with_cost(0.003, CostBasis::Reported));
}

#[test]
fn qwen() {
    let (kind, _, state) = follow(fixture!("qwen.jsonl"));
    assert_eq!(kind, SourceKind::Qwen);
    check_end(&state, Status::Done, 2, 1, "Two lines.");
    // The sums include calls that are not shown, and cached tokens are part of the input.
    assert_eq!(state.usage, used(1300, 20, 1200, 0));
    assert_eq!(state.usage.cost_words(), "–");
}

#[test]
fn acp_with_both_sides() {
    let (kind, events, state) = follow(fixture!("acp.jsonl"));
    assert_eq!(kind, SourceKind::Acp);
    assert_eq!(
        event_lines(&events),
        [
            "error session/set_mode: Invalid params",
            "agent_start",
            "message_update user clean up",
            "turn_start 1",
            "message_update assistant thinking hm",
            "message_update assistant Clean",
            "message_update assistant ing.",
            "message_end assistant Cleaning.",
            "tool_execution_start c1 execute",
            "tool_execution_update c1 {\"command\":\"rm -r build\"}",
            "approval_request c1 execute rm -r build {\"command\":\"rm -r build\"}",
            "approval_end c1",
            "turn_end tool_use",
            "tool_execution_end c1 failed Permission denied",
            "notice 1 of 2 steps done",
            "turn_start 2",
            "message_update assistant I could not.",
            "message_end assistant I could not.",
            "turn_end end",
            "agent_end",
            "agent_start",
            "message_update user again",
            "turn_start 1",
            "message_update assistant Hm",
            "notice cancelled by the client",
            "message_end assistant Hm",
            "turn_end aborted",
            "agent_end aborted",
        ]
    );
    check_end(&state, Status::Interrupted, 3, 1, "Hm");
    // Only the failed command, which is not a failure of the agent.
    assert_eq!(state.errors, 1);
    let usage = used(100, 20, 30, 0);
    assert_eq!(state.usage, usage.with_cost(0.02, CostBasis::Reported));
}

#[test]
fn acp_without_the_client() {
    let lines: String = cut(fixture!("acp.jsonl"), usize::MAX)
        .lines()
        .filter(|line| line.contains("\"result\"") || line.contains("session/update"))
        .filter(|line| !line.contains("\"outcome\""))
        .map(|line| format!("{line}\n"))
        .collect();
    let (kind, state) = at_end(&lines);
    assert_eq!(kind, Some(SourceKind::Acp));
    assert_eq!(
        (state.status, state.tools, state.errors),
        (Status::Interrupted, 1, 0)
    );
    assert_eq!(state.violations, Vec::<String>::new());
    // A prompt that fails before any output.
    let (_, state) = at_end(
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"sessionId\":\"s1\"}}\n\
         {\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32000,\"message\":\"Authentication required\"}}\n\
         {\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s1\",\"update\":{\"sessionUpdate\":\"session_info_update\"}}}\n",
    );
    assert_eq!((state.status, state.errors), (Status::Failed, 1));
    assert_eq!(state.error.as_deref(), Some("Authentication required"));
}

#[test]
fn a_running_acp_tool_has_its_permission() {
    let lines: String = cut(fixture!("acp.jsonl"), 15)
        .lines()
        .filter(|line| !line.contains("\"outcome\""))
        .map(|line| format!("{line}\n"))
        .collect();
    let (_, events, state) = follow(lines.as_bytes());
    assert_eq!(state.status, Status::RunningTool);
    assert_eq!(event_lines(&events).last().unwrap(), "approval_end c1");
}

#[test]
fn codex_app_server() {
    let (kind, events, state) = follow(fixture!("codex-app-server.jsonl"));
    assert_eq!(kind, SourceKind::CodexAppServer);
    let lines = event_lines(&events);
    for line in [
        "retry 2/5 503: overloaded",
        "approval_request c1 it deletes rm -r build",
        "approval_end c1",
        "tool_execution_end c1 gone",
    ] {
        assert!(
            lines.iter().any(|found| found == line),
            "{line} in {lines:#?}"
        );
    }
    check_end(&state, Status::Done, 1, 1, "Cleaned.");
    assert_eq!((state.errors, state.unknown), (0, 0));
    assert_eq!(state.usage, used(60, 30, 40, 0));
    let (findings, _) = read(fixture!("codex-app-server.jsonl"), None);
    let (child, label) = child(&findings, "t2");
    assert_eq!((child.status, label.as_str()), (Status::Done, "explorer"));
    assert_eq!(child.last_text, "looked around");
}

/// Returns the state and the label of a child.
fn child(findings: &[Finding], key: &str) -> (AgentState, String) {
    let mut tracker = Tracker::new(key);
    let mut label = String::new();
    for finding in findings {
        let Finding::Child(child) = finding else {
            continue;
        };
        if child.key != key {
            continue;
        }
        label.clone_from(&child.label);
        match &child.finding {
            Finding::Event(event) => tracker.apply(&Record::of_event(key, 1, event.clone())),
            Finding::Usage(usage) => tracker.apply(&Record::of_usage(key, 1, *usage)),
            _ => {}
        }
    }
    (tracker.into_state(), label)
}

#[test]
fn background_agents_have_their_own_text_and_tokens() {
    let (_, events, state) = follow(fixture!("claude-code-children.jsonl"));
    check_end(&state, Status::Done, 3, 1, "It found one file.");
    // The first result waits for the child; only the second is the end.
    let ends = events.iter().filter(|event| event.kind == Kind::AgentEnd);
    assert_eq!(ends.count(), 1);
    assert_eq!(state.prompts_over, 1);
    let usage = used(370, 15, 0, 0);
    assert_eq!(state.usage, usage.with_cost(0.03, CostBasis::Reported));
    let (findings, _) = read(fixture!("claude-code-children.jsonl"), None);
    let (child, label) = child(&findings, "call_a");
    check_end(&child, Status::Done, 2, 1, "One file.");
    assert_eq!(label, "look around");
    assert_eq!(child.usage.tokens(), 120);
    assert_eq!(child.usage.cost_words(), "–");
}

#[test]
fn a_prompt_that_waits_for_a_child_is_done_at_the_end_of_the_stream() {
    let lines = cut(fixture!("claude-code-children.jsonl"), 8);
    let (_, state) = at_end(&lines);
    assert_eq!((state.status, state.errors), (Status::Done, 0));
    let (findings, _) = read(lines.as_bytes(), None);
    let (child, _) = child(&findings, "call_a");
    assert_eq!(child.status, Status::Thinking, "cut off, not done");
}

#[test]
fn an_interrupted_claude_code_has_not_failed() {
    let (kind, events, state) = follow(fixture!("claude-code-aborted.jsonl"));
    assert_eq!(kind, SourceKind::ClaudeCode);
    check_end(&state, Status::Interrupted, 1, 0, "Once upon");
    assert_eq!(state.errors, 0);
    // The result reports 0, less than the message has used.
    assert_eq!(state.usage, used(100, 5, 0, 0));
    assert!(event_lines(&events).contains(&"retry 1/10 529 in 0.6s: overloaded".to_owned()));
}

/// For every source, a stream without its last lines counts as interrupted.
#[test]
fn a_stream_that_is_cut_off_is_not_done() {
    for (kind, lines) in [
        (SourceKind::Gemini, cut(fixture!("gemini.jsonl"), 10)),
        (SourceKind::Goose, cut(fixture!("goose.txt"), 11)),
        (SourceKind::Opencode, cut(fixture!("opencode.jsonl"), 7)),
        (SourceKind::Opencode, cut(fixture!("opencode.jsonl"), 5)),
        (SourceKind::Opencode, cut(fixture!("opencode.jsonl"), 1)),
        (SourceKind::Qwen, cut(fixture!("qwen.jsonl"), 5)),
        (SourceKind::Acp, cut(fixture!("acp.jsonl"), 20)),
        (
            SourceKind::CodexAppServer,
            cut(fixture!("codex-app-server.jsonl"), 10),
        ),
        (
            SourceKind::ClaudeCode,
            cut(fixture!("claude-code.jsonl"), 6),
        ),
        (SourceKind::Codex, cut(fixture!("codex-exec.jsonl"), 3)),
        (SourceKind::Pi, cut(fixture!("pi-json.jsonl"), 10)),
        (SourceKind::Zot, cut(fixture!("zot-json.jsonl"), 40)),
    ] {
        let (detected, state) = at_end(&lines);
        assert_eq!(detected, Some(kind));
        assert_eq!(state.status, Status::Interrupted, "{kind}");
    }
}

#[test]
fn every_way_to_be_interrupted() {
    for (name, lines) in [
        (
            "gemini",
            r#"{"type":"init","timestamp":"t","session_id":"s","model":"m"}
{"type":"result","timestamp":"t","status":"error","error":{"type":"FatalCancellationError","message":"Operation cancelled."}}"#,
        ),
        (
            "goose",
            r#"{"type":"error","error":"Headless run interrupted"}"#,
        ),
        (
            "opencode",
            r#"{"type":"error","timestamp":1,"sessionID":"s","error":{"name":"MessageAbortedError","data":{"message":"Aborted"}}}"#,
        ),
        (
            "qwen",
            r#"{"type":"system","subtype":"init","session_id":"s","permission_mode":"yolo"}
{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"Operation cancelled."},"permission_denials":[]}"#,
        ),
        (
            "claude-code",
            r#"{"type":"system","subtype":"init","session_id":"s","permissionMode":"default"}
{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools","total_cost_usd":0}"#,
        ),
        (
            "acp",
            r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#,
        ),
        (
            "codex-app-server",
            r#"{"method":"turn/started","params":{"threadId":"t","turn":{"id":"u"}}}
{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"interrupted"}}}"#,
        ),
        (
            "pi",
            r#"{"type":"agent_start"}
{"type":"turn_start"}
{"type":"agent_end","messages":[],"willRetry":true}
{"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":2000,"errorMessage":"500"}
{"type":"auto_retry_end","success":false,"attempt":1,"finalError":"Retry cancelled"}
{"type":"agent_settled","aborted":true}"#,
        ),
        (
            "zot",
            r#"{"type":"user_message","content":[{"type":"text","text":"hi"}]}
{"type":"turn_start","step":1}
{"type":"turn_end","stop":"aborted","error":"context canceled"}
{"type":"done"}"#,
        ),
        (
            "zot",
            r#"{"type":"user_message","content":[{"type":"text","text":"hi"}]}
{"type":"turn_start","step":1}
{"type":"tool_use_start","id":"c1","name":"bash"}
{"type":"turn_end","stop":"tool_use"}
{"type":"response","id":"2","command":"abort","success":true}
{"type":"tool_result","id":"c1","is_error":true,"content":[{"type":"text","text":"[exit -1]"}]}
{"type":"done"}"#,
        ),
    ] {
        let (kind, state) = at_end(lines);
        assert_eq!(kind.map(SourceKind::name), Some(name));
        assert_eq!(
            (state.status, state.errors),
            (Status::Interrupted, 0),
            "{name}"
        );
        assert_eq!(
            (state.error, state.violations),
            (None, Vec::new()),
            "{name}"
        );
    }
}

#[test]
fn every_failure_is_reported_and_counted_once() {
    for (name, lines) in [
        (
            "codex",
            r#"{"type":"thread.started","thread_id":"t"}
{"type":"turn.started"}
{"type":"error","message":"Reconnecting... 1/5 (unexpected status 500)"}
{"type":"error","message":"unexpected status 500"}
{"type":"turn.failed","error":{"message":"unexpected status 500"}}"#,
        ),
        (
            "goose",
            r#"{"type":"message","message":{"id":"m","role":"assistant","created":1,"content":[{"type":"error","kind":"server","message":"500"}],"metadata":{}}}
{"type":"error","error":"500"}"#,
        ),
        (
            "goose",
            r#"{"type":"message","message":{"id":"m","role":"assistant","created":1,"content":[{"type":"error","kind":"server","message":"500"}],"metadata":{}}}
{"type":"complete","total_tokens":null}"#,
        ),
        (
            "pi",
            r#"{"type":"agent_start"}
{"type":"turn_start"}
{"type":"turn_end","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"500"},"toolResults":[]}
{"type":"agent_end","messages":[],"willRetry":false}
{"type":"agent_settled","aborted":false}"#,
        ),
        (
            "codex-app-server",
            r#"{"method":"turn/started","params":{"threadId":"t","turn":{"id":"u"}}}
{"method":"error","params":{"threadId":"t","willRetry":false,"error":{"message":"500"}}}
{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"failed","error":{"message":"500"}}}}"#,
        ),
        (
            "opencode",
            r#"{"type":"error","timestamp":1,"sessionID":"s","error":{"name":"APIError","data":{"message":"500"}}}"#,
        ),
    ] {
        let (findings, kind) = read(lines.as_bytes(), None);
        assert_eq!(kind.map(SourceKind::name), Some(name));
        let errors = findings.iter().filter(|finding| {
            matches!(
                finding,
                Finding::Event(Event {
                    kind: Kind::Error,
                    ..
                })
            )
        });
        assert_eq!(errors.count(), 1, "{name}");
        let (_, state) = at_end(lines);
        assert_eq!((state.status, state.errors), (Status::Failed, 1), "{name}");
    }
}

#[test]
fn a_type_shared_by_several_kinds_decides_nothing() {
    let line = r#"{"type":"tool_result","value":1}
{"type":"message","content":"x"}
{"type":"result"}
{"type":"error"}
{"type":"usage"}
{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","serverInfo":{}}}
{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{}}
{"message":"x","level":"info"}
"#;
    let (kind, state) = at_end(&line.repeat(20));
    assert_eq!(kind, None);
    assert_eq!((state.status, state.unknown), (Status::NotUnderstood, 160));
    assert_eq!(state.status.words(), "not understood");
}
