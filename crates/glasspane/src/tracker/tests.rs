use super::{
    MAX_ALL_ARGUMENTS_BYTES, MAX_APPROVALS, MAX_ARGUMENTS_BYTES, MAX_MESSAGE_TAIL_BYTES,
    MAX_OPEN_TOOLS, MAX_VIOLATIONS, Status, Tracker,
};
use crate::record::{Attached, Detached};
use crate::{CostBasis, Event, Kind, Record, Retry, Usage};

/// Applies events a second apart, beginning at 1 s.
fn follow(events: impl IntoIterator<Item = Event>) -> Tracker {
    let mut tracker = Tracker::new("a1");
    for (second, event) in (1..).zip(events) {
        tracker.apply(&Record::of_event("a1", second * 1000, event));
    }
    tracker
}

fn statuses(events: &[Event]) -> Vec<Status> {
    let mut tracker = Tracker::new("a1");
    let apply = |event: &Event| {
        tracker.apply(&Record::of_event("a1", 1, event.clone()));
        tracker.state().status
    };
    events.iter().map(apply).collect()
}

fn violations(events: impl IntoIterator<Item = Event>) -> Vec<String> {
    follow(events).into_state().violations
}

fn end() -> Event {
    Event::new(Kind::AgentEnd)
}

fn approval(id: Option<&str>) -> Event {
    Event {
        tool_id: id.map(str::to_owned),
        ..Event::new(Kind::ApprovalRequest)
    }
}

#[test]
fn a_prompt_from_start_to_end() {
    let events = [
        (Event::prompt("hi"), Status::Thinking),
        (Event::turn_start(1), Status::Thinking),
        (Event::thought("hm"), Status::Thinking),
        (Event::piece("assistant", "let me"), Status::Writing),
        (Event::tool_start("c1", "bash"), Status::RunningTool),
        (Event::answer("let me"), Status::RunningTool),
        (Event::turn_end("tool_use"), Status::RunningTool),
        (approval(Some("c1")), Status::WaitingForApproval),
        (Event::tool_output("c1", "out"), Status::RunningTool),
        (Event::tool_end("c1", "out", false), Status::Thinking),
        (Event::turn_start(2), Status::Thinking),
        (Event::piece("assistant", "done"), Status::Writing),
        (Event::turn_end("end"), Status::Idle),
        (end(), Status::Done),
        (Event::prompt("again"), Status::Thinking),
    ];
    let (events, expected): (Vec<_>, Vec<_>) = events.into_iter().unzip();
    assert_eq!(statuses(&events), expected);
    assert_eq!(violations(events), Vec::<String>::new());
}

#[test]
fn parallel_tools_are_all_shown() {
    let mut tracker = follow([
        Event::turn_start(1),
        Event::tool_start("c1", "read"),
        Event::tool_start("c2", "bash"),
    ]);
    assert_eq!(tracker.state().tools_running, ["read", "bash"]);
    assert_eq!(tracker.state().tool.as_deref(), Some("bash"));
    tracker.apply(&Record::of_event("a1", 9, Event::tool_end("c2", "", false)));
    assert_eq!(tracker.state().status, Status::RunningTool);
    assert_eq!(tracker.state().tool.as_deref(), Some("read"));
    tracker.apply(&Record::of_event("a1", 9, Event::tool_end("c1", "", true)));
    let state = tracker.state();
    assert_eq!(
        (state.status, state.tool.as_ref()),
        (Status::Thinking, None)
    );
    assert_eq!((state.tools, state.tool_errors), (2, 1));
}

#[test]
fn running_tools_have_their_arguments() {
    let pieces = ["{\"command\":\"cargo ", "test\",\"time", "out\":60}"];
    let piece = |text: &str| Event {
        arguments: Some(true),
        ..Event::tool_output("c1", text)
    };
    let mut events = vec![Event::turn_start(1), Event::tool_start("c1", "bash")];
    events.extend(pieces.map(piece));
    let tracker = follow(events.clone());
    let running = &tracker.state().running;
    assert_eq!(running.len(), 1);
    assert_eq!(running[0].name, "bash");
    assert_eq!(running[0].since_ms, 2000);
    assert_eq!(running[0].summary, "cargo test  timeout=60");
    assert_eq!(running[0].arguments, pieces.concat());
    // Complete arguments replace the deltas.
    events.push(Event::tool_arguments("c1", r#"{"command":"ls"}"#));
    assert_eq!(follow(events.clone()).state().running[0].summary, "ls");
    events.push(Event::tool_end("c1", "Cargo.toml", false));
    let state = follow(events).into_state();
    assert_eq!(state.running, []);
    assert_eq!(state.tool_text, "bash command ls Cargo.toml\n");
    assert_eq!(state.violations, Vec::<String>::new());
}

#[test]
fn long_arguments_are_summarised_before_they_are_cut() {
    let content = "x".repeat(3 * MAX_ARGUMENTS_BYTES);
    let arguments = format!(r#"{{"content":"{content}","path":"src/main.rs"}}"#);
    let mut events = vec![Event::turn_start(1)];
    for number in 0..20 {
        let id = format!("c{number}");
        events.push(Event::tool_start(id.clone(), "write"));
        events.push(Event::tool_arguments(id, arguments.clone()));
    }
    let state = follow(events).into_state();
    assert!(
        state.running[0]
            .summary
            .starts_with("src/main.rs  content=xxx")
    );
    assert!(state.running[0].cut);
    assert_eq!(state.running[0].arguments.len(), MAX_ARGUMENTS_BYTES);
    let kept: usize = state.running.iter().map(|tool| tool.arguments.len()).sum();
    assert_eq!(kept, MAX_ALL_ARGUMENTS_BYTES);
    assert!(state.running[19].summary.starts_with("src/main.rs"));
}

#[test]
fn an_approval_is_pending_until_it_is_decided() {
    let mut events = vec![
        Event::turn_start(1),
        Event::tool_start("c1", "bash"),
        Event::tool_arguments("c1", r#"{"command":"rm -r build"}"#),
        Event {
            text: Some("rm -r build".to_owned()),
            whole: true,
            ..approval(Some("c1"))
        },
    ];
    let state = follow(events.clone()).into_state();
    let [asked] = state.approvals.as_slice() else {
        panic!("{:?}", state.approvals);
    };
    assert_eq!((asked.name.as_str(), asked.since_ms), ("bash", 4000));
    assert_eq!(asked.summary, "rm -r build");
    assert_eq!(asked.arguments, r#"{"command":"rm -r build"}"#);
    assert_eq!(asked.message, None, "the preview repeats the argument");
    events.push(Event {
        tool_id: Some("c1".to_owned()),
        ..Event::new(Kind::ApprovalEnd)
    });
    let state = follow(events).into_state();
    assert_eq!(state.approvals, []);
    assert_eq!(state.running[0].summary, "rm -r build");
}

#[test]
fn an_approval_need_not_belong_to_a_started_tool() {
    let request = |id: &str, name: &str, text: &str| Event {
        tool_name: Some(name.to_owned()),
        text: Some(text.to_owned()),
        ..approval(Some(id))
    };
    let question = Event {
        message: Some("Dangerous command?".to_owned()),
        ..approval(None)
    };
    let mut events = vec![
        Event::turn_start(1),
        request("p1", "Write", r#"{"file_path":"/etc/motd","content":"hi"}"#),
        question,
    ];
    let state = follow(events.clone()).into_state();
    let lines: Vec<_> = state
        .approvals
        .iter()
        .map(|asked| (asked.name.as_str(), asked.summary.as_str()))
        .collect();
    assert_eq!(
        lines,
        [
            ("Write", "/etc/motd  content=hi"),
            ("", "Dangerous command?")
        ]
    );
    events.push(Event {
        tool_id: Some("p1".to_owned()),
        ..Event::new(Kind::ApprovalEnd)
    });
    let state = follow(events.clone()).into_state();
    assert_eq!(state.approvals.len(), 1);
    assert_eq!(state.approvals[0].summary, "Dangerous command?");
    assert_eq!(state.status, Status::WaitingForApproval);
    events.push(Event::turn_end("end"));
    assert_eq!(follow(events).state().approvals, []);
}

#[test]
fn a_new_prompt_clears_pending_approvals() {
    let events = [
        approval(None),
        Event::prompt("never mind"),
        Event::turn_start(1),
    ];
    let state = follow(events).into_state();
    assert_eq!(state.approvals, []);
    assert_eq!(state.status, Status::Thinking);
}

#[test]
fn pending_approvals_are_limited() {
    let events = (0..2 * MAX_APPROVALS).map(|_| approval(None));
    assert_eq!(follow(events).state().approvals.len(), MAX_APPROVALS);
}

#[test]
fn the_prompt_is_kept() {
    let state = follow([Event::prompt("count the files"), Event::turn_start(1)]).into_state();
    assert_eq!(state.prompt, "count the files");
}

#[test]
fn violations_are_reported() {
    assert_eq!(
        violations([Event::tool_end("c9", "", false)]),
        ["tool c9 ended but was not started"]
    );
    assert_eq!(
        violations([Event::tool_output("c9", "x")]),
        ["tool c9 continues but was not started"]
    );
    assert_eq!(
        violations([Event::tool_start("c1", "a"), Event::tool_start("c1", "a")]),
        ["tool c1 started twice"]
    );
    assert_eq!(
        violations([Event::turn_end("end")]),
        ["a turn ended that was not started"]
    );
    assert_eq!(
        violations([Event::turn_start(1), Event::turn_start(2)]),
        ["turn 2 started within a turn"]
    );
    assert_eq!(
        violations([Event::turn_start(1), Event::tool_start("c1", "bash"), end()]),
        [
            "the agent ended within a turn",
            "tool c1 (bash) never ended"
        ]
    );
    assert_eq!(
        violations([Event::new(Kind::ApprovalEnd)]),
        ["an approval ended that was not requested"]
    );
    assert_eq!(
        violations([Event::prompt("a"), end(), end()]),
        ["agent_end after the end"]
    );
    assert_eq!(
        violations([end(), Event::piece("assistant", "x"), Event::turn_start(1)]),
        ["message_update after the end"]
    );
}

#[test]
fn events_allowed_after_the_end() {
    let after = [
        Event::notice("compacted"),
        Event::unknown("new"),
        Event::prompt("next"),
    ];
    assert_eq!(
        violations([end()].into_iter().chain(after)),
        Vec::<String>::new()
    );
    // `zot --json` reports the error last.
    let failed = follow([
        Event::turn_start(1),
        Event::turn_end("error"),
        end(),
        Event::error("http 401"),
    ]);
    assert_eq!(failed.state().status, Status::Failed);
    assert_eq!(failed.state().violation_count, 0);
}

#[test]
fn an_abort_clears_unfinished_calls() {
    let tracker = follow([
        Event::prompt("x"),
        Event::turn_start(1),
        Event::tool_start("c1", "bash"),
        Event::turn_end("aborted"),
        end(),
    ]);
    assert_eq!(
        (tracker.state().status, tracker.state().violation_count),
        (Status::Interrupted, 0)
    );
    assert!(tracker.state().tools_running.is_empty());
}

#[test]
fn a_failed_command_is_not_a_failure_of_the_agent() {
    let failed = Event {
        raw_type: Some("response".to_owned()),
        ..Event::error("set_model: unknown")
    };
    let tracker = follow([Event::prompt("x"), Event::turn_start(1), failed]);
    let state = tracker.state();
    assert_eq!((state.status, state.errors), (Status::Thinking, 1));
}

#[test]
fn approvals_end_when_the_agent_continues() {
    let events = [
        Event::turn_start(1),
        approval(None),
        Event::new(Kind::MessageStart),
    ];
    let expected = [
        Status::Thinking,
        Status::WaitingForApproval,
        Status::Thinking,
    ];
    assert_eq!(statuses(&events), expected);
    let events = [approval(None), Event::new(Kind::ApprovalEnd)];
    assert_eq!(
        statuses(&events),
        [Status::WaitingForApproval, Status::Thinking]
    );
}

#[test]
fn the_final_status_depends_on_the_end() {
    let leave = |events: Vec<Event>, failed| {
        let mut tracker = follow(events);
        let detached = Detached {
            reason: "exited with 1".to_owned(),
            failed,
            ..Detached::default()
        };
        tracker.apply(&Record::of_detached("a1", 60_000, detached));
        let state = tracker.into_state();
        (state.status, state.error)
    };
    assert_eq!(leave(vec![], false), (Status::Done, None));
    assert_eq!(
        leave(vec![], true),
        (Status::Failed, Some("exited with 1".to_owned()))
    );
    assert_eq!(
        leave(vec![Event::prompt("x"), end()], false),
        (Status::Done, None)
    );
    // Cut off in the middle of its work, without a failure.
    assert_eq!(
        leave(vec![Event::turn_start(1)], false),
        (Status::Interrupted, None)
    );
    assert_eq!(
        leave(vec![Event::turn_start(1)], true),
        (Status::Failed, Some("exited with 1".to_owned()))
    );
    // What it reported about its end comes first.
    assert_eq!(
        leave(vec![Event::turn_start(1), Event::aborted()], true),
        (Status::Interrupted, None)
    );
    assert_eq!(
        leave(vec![Event::unknown("x")], false),
        (Status::NotUnderstood, None)
    );
}

#[test]
fn ending_an_agent_interrupts_it() {
    let leave = |events: Vec<Event>| {
        let mut tracker = follow(events);
        let detached = Detached {
            reason: "ended by signal 2".to_owned(),
            failed: true,
            interrupted: true,
            ..Detached::default()
        };
        tracker.apply(&Record::of_detached("a1", 60_000, detached));
        let state = tracker.into_state();
        (state.status, state.errors)
    };
    assert_eq!(leave(vec![Event::turn_start(1)]), (Status::Interrupted, 0));
    assert_eq!(
        leave(vec![Event::turn_start(1), Event::error("http 500")]),
        (Status::Failed, 1)
    );
}

#[test]
fn one_failure_counts_once() {
    let mut tracker = follow([
        Event::prompt("x"),
        Event::turn_start(1),
        Event::turn_end("error"),
        Event::error("http 500"),
        Event::error("http 500"),
        end(),
    ]);
    let detached = Detached {
        reason: "exited with 1".to_owned(),
        failed: true,
        ..Detached::default()
    };
    tracker.apply(&Record::of_detached("a1", 60_000, detached));
    assert_eq!(tracker.state().errors, 1);
    assert_eq!(tracker.state().error.as_deref(), Some("http 500"));
    // The next prompt may fail as well.
    let tracker = follow([
        Event::error("one"),
        end(),
        Event::prompt("again"),
        Event::error("two"),
        end(),
    ]);
    assert_eq!(tracker.state().errors, 2);
    // A failed turn without an error message counts as well.
    let silent = follow([Event::turn_start(1), Event::turn_end("error"), end()]);
    assert_eq!(silent.state().errors, 1);
}

#[test]
fn a_retry_is_not_a_failure() {
    let figures = Retry {
        attempt: Some(1),
        max_attempts: Some(3),
        status: Some(500),
        delay_ms: Some(2000),
    };
    let mut tracker = follow([
        Event::prompt("x"),
        Event::turn_start(1),
        Event::turn_end("error"),
        Event::retry(figures.clone(), "overloaded"),
    ]);
    let state = tracker.state();
    assert_eq!((state.status, state.errors), (Status::Retrying, 0));
    assert_eq!(state.retry.as_ref(), Some(&figures));
    assert_eq!(state.prompts_over, 0);
    for event in [Event::turn_start(2), Event::turn_end("end"), end()] {
        tracker.apply(&Record::of_event("a1", 9, event));
    }
    let state = tracker.state();
    assert_eq!(
        (state.status, state.errors, &state.retry),
        (Status::Done, 0, &None)
    );
}

#[test]
fn usage_never_decreases() {
    let usage = |input, cost| {
        let used = Usage {
            input_tokens: input,
            ..Usage::default()
        };
        Record::of_usage("a1", 1, used.with_cost(cost, CostBasis::Reported))
    };
    let mut tracker = Tracker::new("a1");
    for record in [usage(100, 0.5), usage(0, 0.0)] {
        tracker.apply(&record);
    }
    let used = tracker.state().usage;
    assert_eq!(
        (used.input_tokens, used.cost_words().as_str()),
        (100, "$0.5000")
    );
    assert_eq!(Usage::default().cost_words(), "–");
    let estimate = Usage::default().with_cost(0.25, CostBasis::Estimated);
    assert_eq!(estimate.cost_words(), "~$0.2500");
}

#[test]
fn times_and_sums() {
    let mut tracker = Tracker::new("a1");
    let attached = Attached {
        label: "one".to_owned(),
        source: "zot".to_owned(),
        ..Attached::default()
    };
    tracker.apply(&Record::of_attached("a1", 500, attached));
    assert_eq!(tracker.state().status, Status::Starting);
    for (at, event) in [
        (1000, Event::prompt("x")),
        (1500, Event::turn_start(1)),
        (4000, end()),
    ] {
        tracker.apply(&Record::of_event("a1", at, event));
    }
    let usage = Usage {
        output_tokens: 7,
        ..Usage::default()
    };
    tracker.apply(&Record::of_usage("a1", 4500, usage));
    let state = tracker.state();
    assert_eq!(
        (state.started_ms, state.since_ms, state.working_ms),
        (500, 4000, 3000)
    );
    assert_eq!(
        (state.label.as_str(), state.usage.output_tokens),
        ("one", 7)
    );
}

#[test]
fn everything_is_bounded() {
    let mut tracker = Tracker::new("a1");
    let mut apply = |event: Event| tracker.apply(&Record::of_event("a1", 1, event));
    for number in 0..MAX_OPEN_TOOLS + 50 {
        apply(Event::tool_start(number.to_string(), "t".repeat(10_000)));
        apply(Event::piece("assistant", "€".repeat(1000)));
        apply(Event::unknown("x"));
    }
    let state = tracker.state();
    assert_eq!(state.tools_running.len(), MAX_OPEN_TOOLS);
    assert!(state.tools_running.iter().all(|name| name.len() <= 1024));
    assert!(state.last_text.len() <= MAX_MESSAGE_TAIL_BYTES);
    assert_eq!(state.violations.len(), MAX_VIOLATIONS);
    assert_eq!((state.violation_count, state.unknown), (50, 306));
}

mod any_order {
    use proptest::prelude::*;

    use super::super::{MAX_VIOLATIONS, Tracker};
    use crate::record::{Attached, Detached};
    use crate::{Event, Kind, Record};

    const KINDS: [Kind; 16] = [
        Kind::AgentStart,
        Kind::AgentEnd,
        Kind::TurnStart,
        Kind::TurnEnd,
        Kind::MessageStart,
        Kind::MessageUpdate,
        Kind::MessageEnd,
        Kind::ToolExecutionStart,
        Kind::ToolExecutionUpdate,
        Kind::ToolExecutionEnd,
        Kind::ApprovalRequest,
        Kind::ApprovalEnd,
        Kind::Retry,
        Kind::Notice,
        Kind::Error,
        Kind::Unknown,
    ];

    fn record() -> impl Strategy<Value = Record> {
        let event = (0..KINDS.len(), 0..4_u8, any::<bool>(), 0..3_usize).prop_map(
            |(kind, id, user, stop)| {
                let event = Event {
                    tool_id: Some(id.to_string()),
                    role: Some(if user { "user" } else { "assistant" }.to_owned()),
                    text: Some("text".to_owned()),
                    stop: ["end", "error", "tool_use"]
                        .get(stop)
                        .map(|stop| (*stop).to_owned()),
                    ..Event::new(KINDS[kind])
                };
                Record::of_event("a1", 1, event)
            },
        );
        prop_oneof![
            20 => event,
            1 => Just(Record::of_attached("a1", 1, Attached::default())),
            1 => Just(Record::of_detached("a1", 1, Detached::default())),
        ]
    }

    proptest! {
        /// For any records, the counts are consistent, and a tool is shown exactly while it runs.
        #[test]
        fn states_are_consistent(records in prop::collection::vec(record(), 0..60)) {
            let mut tracker = Tracker::new("a1");
            for record in &records {
                tracker.apply(record);
                let state = tracker.state();
                prop_assert_eq!(state.tool.is_some(), !state.tools_running.is_empty());
                let running: Vec<_> = state.running.iter().map(|tool| tool.name.clone()).collect();
                prop_assert_eq!(&running, &state.tools_running);
                prop_assert!(state.approvals.is_empty() || state.status.is_working());
                prop_assert!(state.violations.len() as u64 <= state.violation_count);
                prop_assert!(state.violations.len() <= MAX_VIOLATIONS);
                if state.status == super::Status::RunningTool {
                    prop_assert!(state.tool.is_some());
                }
            }
        }
    }
}

#[test]
fn contacted_hosts_are_counted_and_the_latest_are_kept() {
    let mut tracker = Tracker::new("a");
    let mut contact = |host: &str, allowed: bool| {
        let event = Event {
            tool_id: Some("c".to_owned()),
            network: vec![crate::Contact {
                host: host.to_owned(),
                port: 443,
                allowed,
            }],
            ..Event::new(Kind::ToolExecutionEnd)
        };
        tracker.apply(&Record::of_event("a", 1, event));
        let hosts = tracker.state().hosts.iter();
        let words = hosts.map(|host| (host.host.clone(), host.allowed, host.times));
        words.collect::<Vec<_>>()
    };
    contact("a", true);
    contact("b", false);
    let hosts = contact("a", true);
    assert_eq!(
        hosts,
        [("b".to_owned(), false, 1), ("a".to_owned(), true, 2)]
    );
    for number in 0..2 * crate::MAX_HOSTS {
        contact(&number.to_string(), true);
    }
    let hosts = contact("last", true);
    assert_eq!(hosts.len(), crate::MAX_HOSTS);
    assert_eq!(hosts.last().unwrap().0, "last");
}
