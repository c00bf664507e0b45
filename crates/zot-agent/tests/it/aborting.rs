//! An abort at every point of a prompt.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use zot_agent::{Hooks, MessageVerdict, ToolVerdict, TurnVerdict, repair};
use zot_conversation::ToolEffect::{Changes, ReadOnly};
use zot_conversation::{AgentEvent, BoxFuture, StopReason, ToolCall, ToolOutput};

use crate::support::gate::Gate;
use crate::support::model::{Script, accepted, answer, calls};
use crate::support::tools::{echo, gated, tool};
use crate::support::{Setup, after_calls, check, scene};

/// Enough runs that a choice left to chance shows.
const RUNS: usize = 64;

#[tokio::test(start_paused = true)]
async fn before_the_prompt_begins() {
    let scene = scene([]);
    scene.cancel.cancel();
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        usage 0/0 (0/0)
        turn_end aborted "context canceled"
        done
        "#,
    );
    assert_eq!(scene.model.sent().len(), 0, "nothing may be sent");
}

#[tokio::test(start_paused = true)]
async fn while_waiting_for_the_first_byte() {
    let gate = Gate::default();
    let scene = scene([Script::default().wait(&gate)]);
    check(
        &scene.prompt_and_abort("hi", gate.reached()).await,
        r#"
        user_message "hi"
        turn_start 1
        usage 0/0 (0/0)
        turn_end aborted "context canceled"
        done
        "#,
    );
    check(&scene.transcript(), r#"user "hi""#);
    assert_eq!(scene.model.open_streams(), 0);
}

#[tokio::test(start_paused = true)]
async fn while_the_model_thinks() {
    let gate = Gate::default();
    let scene = scene([accepted().thinking("hm").reasoning("hm").wait(&gate)]);
    check(
        &scene.prompt_and_abort("hi", gate.reached()).await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        thinking "hm"
        usage 0/0 (0/0)
        turn_end aborted "context canceled"
        done
        "#,
    );
    check(&scene.transcript(), r#"user "hi""#);
}

#[tokio::test(start_paused = true)]
async fn in_the_middle_of_text_which_is_kept_for_the_next_prompt() {
    let gate = Gate::default();
    let mut scene = scene([
        accepted().text("so ").text("far").usage(3, 1).wait(&gate),
        answer("ok"),
    ]);
    check(
        &scene.prompt_and_abort("hi", gate.reached()).await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        text "so "
        text "far"
        usage 3/1 (3/1)
        assistant_message "so far"
        turn_end aborted "context canceled"
        done
        "#,
    );
    assert_eq!(scene.model.open_streams(), 0);

    scene.cancel = CancellationToken::new();
    check(
        &scene.prompt("go on").await,
        r#"
        user_message "go on"
        turn_start 1
        assistant_start
        text "ok"
        usage 3/2 (6/3)
        assistant_message "ok"
        turn_end end
        done
        "#,
    );
    check(
        &scene.model.sent()[1].rendered(),
        r#"
        user "hi"
        assistant "so far"
        user "go on"
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn in_the_middle_of_arguments_which_leave_no_trace() {
    let gate = Gate::default();
    let scene = scene([accepted()
        .text("look")
        .call("c1", "echo", "{}")
        .call_begins("c2", "echo")
        .arguments("c2", r#"{"x"#)
        .wait(&gate)]);
    check(
        &scene.prompt_and_abort("hi", gate.reached()).await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        text "look"
        tool_use_start c1 echo
        tool_use_args c1 {}
        tool_use_end c1
        tool_use_start c2 echo
        tool_use_args c2 {"x
        usage 0/0 (0/0)
        assistant_message "look"
        turn_end aborted "context canceled"
        done
        "#,
    );
    check(
        &scene.transcript(),
        r#"
        user "hi"
        assistant "look"
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn in_the_middle_of_arguments_without_text() {
    let gate = Gate::default();
    let scene = scene([accepted().call_begins("c1", "echo").wait(&gate)]);
    check(
        &scene.prompt_and_abort("hi", gate.reached()).await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        tool_use_start c1 echo
        usage 0/0 (0/0)
        turn_end aborted "context canceled"
        done
        "#,
    );
    check(&scene.transcript(), r#"user "hi""#);
}

#[tokio::test(start_paused = true)]
async fn during_a_tool_the_rest_is_not_run() {
    let gate = Gate::default();
    let scene = Setup {
        scripts: vec![calls(&[
            ("c1", "echo", "{}"),
            ("c2", "slow", "{}"),
            ("c3", "echo", "{}"),
        ])],
        tools: vec![echo(), gated("slow", Changes, &gate)],
        ..Setup::default()
    }
    .build();
    let events = scene.prompt_and_abort("hi", gate.reached()).await;
    check(
        &after_calls(&events, &[("c1", "echo"), ("c2", "slow"), ("c3", "echo")]),
        r#"
        tool_result c1 ok "{}"
        tool_result c2 error "stopped half-way"
        tool_result c3 error "aborted: the call was not run"
        done
        "#,
    );
    check(
        &scene.transcript(),
        r#"
        user "hi"
        assistant echo?c1{} slow?c2{} echo?c3{}
        tool c1 ok "{}" c2 error "stopped half-way" c3 error "aborted: the call was not run"
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn during_reads_that_run_side_by_side() {
    let gate = Gate::default();
    let scene = Setup {
        scripts: vec![calls(&[
            ("c1", "read", "{}"),
            ("c2", "read", "{}"),
            ("c3", "echo", "{}"),
        ])],
        tools: vec![echo(), gated("read", ReadOnly, &gate)],
        ..Setup::default()
    }
    .build();
    let both_run = async {
        gate.reached().await;
        gate.reached().await;
    };
    let events = scene.prompt_and_abort("hi", both_run).await;
    check(
        &after_calls(&events, &[("c1", "read"), ("c2", "read"), ("c3", "echo")]),
        r#"
        tool_result c1 error "stopped half-way"
        tool_result c2 error "stopped half-way"
        tool_result c3 error "aborted: the call was not run"
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn between_two_tools() {
    let cancel = CancellationToken::new();
    let button = cancel.clone();
    let scene = Setup {
        scripts: vec![calls(&[
            ("c1", "press", "{}"),
            ("c2", "echo", "{}"),
            ("c3", "ehco", "{}"),
        ])],
        tools: vec![
            echo(),
            tool("press", Changes, move |_| {
                button.cancel();
                Box::pin(async { ToolOutput::text("pressed") })
            }),
        ],
        ..Setup::default()
    }
    .build_with(cancel);
    check(
        &after_calls(
            &scene.prompt("hi").await,
            &[("c1", "press"), ("c2", "echo"), ("c3", "ehco")],
        ),
        r#"
        tool_result c1 ok "pressed"
        tool_result c2 error "aborted: the call was not run"
        tool_result c3 error "aborted: the call was not run"
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_ignores_it_is_dropped_after_ten_seconds() {
    let gate = Gate::default();
    let held = gate.clone();
    let stubborn = tool("stubborn", Changes, move |_| {
        let held = held.clone();
        Box::pin(async move {
            held.pass().await;
            ToolOutput::text("never")
        })
    });
    let scene = Setup {
        scripts: vec![calls(&[("c1", "stubborn", "{}")])],
        tools: vec![stubborn],
        ..Setup::default()
    }
    .build();
    let before = Instant::now();
    let events = scene.prompt_and_abort("hi", gate.reached()).await;
    assert_eq!(before.elapsed().as_secs(), 10);
    check(
        &after_calls(&events, &[("c1", "stubborn")]),
        r#"
        tool_result c1 error "aborted: the tool did not stop in time"
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_winds_down_slowly_is_waited_for() {
    let gate = Gate::default();
    let began = gate.clone();
    let slow = tool("slow", Changes, move |invocation| {
        let began = began.clone();
        Box::pin(async move {
            tokio::select! {
                () = began.pass() => {}
                () = invocation.cancel.cancelled() => {}
            }
            tokio::time::sleep(Duration::from_secs(9)).await;
            ToolOutput::error("the output so far")
        })
    });
    let scene = Setup {
        scripts: vec![calls(&[("c1", "slow", "{}")])],
        tools: vec![slow],
        ..Setup::default()
    }
    .build();
    let events = scene.prompt_and_abort("hi", gate.reached()).await;
    check(
        &after_calls(&events, &[("c1", "slow")]),
        r#"
        tool_result c1 error "the output so far"
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_panics_while_it_winds_down() {
    let gate = Gate::default();
    let began = gate.clone();
    let fragile = tool("fragile", Changes, move |invocation| {
        let began = began.clone();
        Box::pin(async move {
            tokio::select! {
                () = began.pass() => ToolOutput::text("never"),
                () = invocation.cancel.cancelled() => panic!("no abort please"),
            }
        })
    });
    let scene = Setup {
        scripts: vec![calls(&[("c1", "fragile", "{}")])],
        tools: vec![fragile],
        ..Setup::default()
    }
    .build();
    let events = scene.prompt_and_abort("hi", gate.reached()).await;
    check(
        &after_calls(&events, &[("c1", "fragile")]),
        r#"
        tool_result c1 error "tool \"fragile\" failed internally: no abort please"
        done
        "#,
    );
}

/// Hooks that never return at the points where `gates` has one.
#[derive(Default)]
struct MuteHooks {
    turn: Option<Gate>,
    tool: Option<Gate>,
    message: Option<Gate>,
}

impl Hooks for MuteHooks {
    fn before_turn(&self, _step: u32) -> BoxFuture<'_, TurnVerdict> {
        Box::pin(async {
            if let Some(gate) = self.turn.clone() {
                gate.pass().await;
            }
            TurnVerdict::Proceed
        })
    }

    fn before_tool<'a>(&'a self, _call: &'a ToolCall) -> BoxFuture<'a, ToolVerdict> {
        Box::pin(async {
            if let Some(gate) = self.tool.clone() {
                gate.pass().await;
            }
            ToolVerdict::Proceed
        })
    }

    fn before_assistant_message<'a>(&'a self, _text: &'a str) -> BoxFuture<'a, MessageVerdict> {
        Box::pin(async {
            if let Some(gate) = self.message.clone() {
                gate.pass().await;
            }
            MessageVerdict::Keep
        })
    }
}

#[tokio::test(start_paused = true)]
async fn while_a_hook_looks_at_the_turn() {
    let gate = Gate::default();
    let scene = Setup {
        hooks: Arc::new(MuteHooks {
            turn: Some(gate.clone()),
            ..MuteHooks::default()
        }),
        ..Setup::default()
    }
    .build();
    check(
        &scene.prompt_and_abort("hi", gate.reached()).await,
        r#"
        user_message "hi"
        turn_start 1
        usage 0/0 (0/0)
        turn_end aborted "context canceled"
        done
        "#,
    );
    assert_eq!(scene.model.sent().len(), 0, "nothing may be sent");
}

#[tokio::test(start_paused = true)]
async fn while_a_hook_looks_at_a_tool_call() {
    let gate = Gate::default();
    let scene = Setup {
        scripts: vec![calls(&[("c1", "echo", "{}"), ("c2", "echo", "{}")])],
        tools: vec![echo()],
        hooks: Arc::new(MuteHooks {
            tool: Some(gate.clone()),
            ..MuteHooks::default()
        }),
        ..Setup::default()
    }
    .build();
    let events = scene.prompt_and_abort("hi", gate.reached()).await;
    check(
        &after_calls(&events, &[("c1", "echo"), ("c2", "echo")]),
        r#"
        tool_result c1 error "aborted: the call was not run"
        tool_result c2 error "aborted: the call was not run"
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn while_a_hook_looks_at_a_message() {
    let gate = Gate::default();
    let scene = Setup {
        scripts: vec![
            accepted()
                .text("look")
                .call("c1", "echo", "{}")
                .stop(StopReason::ToolUse),
        ],
        tools: vec![echo()],
        hooks: Arc::new(MuteHooks {
            message: Some(gate.clone()),
            ..MuteHooks::default()
        }),
        ..Setup::default()
    }
    .build();
    check(
        &scene.prompt_and_abort("hi", gate.reached()).await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        text "look"
        tool_use_start c1 echo
        tool_use_args c1 {}
        tool_use_end c1
        usage 0/0 (0/0)
        assistant_message "look" echo?c1{}
        tool_call c1 echo {}
        turn_end tool_use
        tool_result c1 error "aborted: the call was not run"
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_permission_that_comes_together_with_the_abort_counts_as_refused() {
    for _ in 0..RUNS {
        let gate = Gate::default();
        let scene = Setup {
            scripts: vec![calls(&[("c1", "echo", "{}")])],
            tools: vec![echo()],
            hooks: Arc::new(MuteHooks {
                tool: Some(gate.clone()),
                ..MuteHooks::default()
            }),
            ..Setup::default()
        }
        .build();
        let permit_and_abort = async {
            gate.reached().await;
            gate.open();
            scene.cancel.cancel();
        };
        let events = scene.prompt_while("hi", permit_and_abort).await;
        check(
            &after_calls(&events, &[("c1", "echo")]),
            r#"
            tool_result c1 error "aborted: the call was not run"
            done
            "#,
        );
    }
}

/// Refuses every turn, at once.
struct RefusingHooks;

impl Hooks for RefusingHooks {
    fn before_turn(&self, _step: u32) -> BoxFuture<'_, TurnVerdict> {
        Box::pin(async {
            TurnVerdict::Block {
                reason: "enough".to_owned(),
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn an_aborted_turn_is_aborted_whatever_a_hook_would_say() {
    for _ in 0..RUNS {
        let scene = Setup {
            hooks: Arc::new(RefusingHooks),
            ..Setup::default()
        }
        .build();
        scene.cancel.cancel();
        check(
            &scene.prompt("hi").await,
            r#"
            user_message "hi"
            turn_start 1
            usage 0/0 (0/0)
            turn_end aborted "context canceled"
            done
            "#,
        );
    }
}

/// Hides every text, at once.
struct HidingHooks;

impl Hooks for HidingHooks {
    fn before_assistant_message<'a>(&'a self, _text: &'a str) -> BoxFuture<'a, MessageVerdict> {
        Box::pin(async { MessageVerdict::Replace("[hidden]".to_owned()) })
    }
}

#[tokio::test(start_paused = true)]
async fn the_partial_text_is_shown_as_a_hook_that_answers_at_once_wants_it() {
    for _ in 0..RUNS {
        let gate = Gate::default();
        let scene = Setup {
            scripts: vec![accepted().text("secret").wait(&gate)],
            hooks: Arc::new(HidingHooks),
            ..Setup::default()
        }
        .build();
        check(
            &scene.prompt_and_abort("hi", gate.reached()).await,
            r#"
            user_message "hi"
            turn_start 1
            assistant_start
            text "secret"
            usage 0/0 (0/0)
            assistant_message "[hidden]"
            turn_end aborted "context canceled"
            done
            "#,
        );
    }
}

/// Presses the abort button as soon as the event with this number is reported.
struct AbortAt {
    number: usize,
    seen: AtomicUsize,
    button: CancellationToken,
}

impl Hooks for AbortAt {
    fn on_event(&self, _event: &AgentEvent) {
        if self.seen.fetch_add(1, Ordering::SeqCst) == self.number {
            self.button.cancel();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn at_every_event_the_prompt_ends_quietly_with_a_sound_transcript() {
    let run = async |number: usize| {
        let cancel = CancellationToken::new();
        let mut scene = Setup {
            scripts: vec![
                accepted()
                    .thinking("hm")
                    .text("lo")
                    .text("ok")
                    .call("c1", "echo", "{}")
                    .call("c2", "talk", "{}")
                    .usage(3, 2)
                    .stop(StopReason::ToolUse),
                answer("fine"),
                answer("fine"),
            ],
            tools: vec![
                echo(),
                tool("talk", Changes, |invocation| {
                    Box::pin(async move {
                        invocation.progress.report("working".to_owned()).await;
                        ToolOutput::text("worked")
                    })
                }),
            ],
            hooks: Arc::new(AbortAt {
                number,
                seen: AtomicUsize::new(0),
                button: cancel.clone(),
            }),
            ..Setup::default()
        }
        .build_with(cancel);
        let events = scene.prompt("hi").await;
        let transcript = scene.agent.transcript();
        assert!(repair(transcript.messages()).is_none(), "abort at {number}");
        assert_eq!(scene.model.open_streams(), 0, "abort at {number}");

        scene.cancel = CancellationToken::new();
        assert!(
            scene.prompt("more").await.ends_with(&["done".to_owned()]),
            "abort at {number}"
        );
        events
    };
    let undisturbed = run(usize::MAX).await;
    for number in 0..undisturbed.len() {
        let events = run(number).await;
        assert_eq!(
            events[..=number],
            undisturbed[..=number],
            "what was reported before the abort stays as it was"
        );
        let count = |what: &str| events.iter().filter(|e| e.starts_with(what)).count();
        assert_eq!(count("done"), 1, "{events:#?}");
        assert_eq!(events.last().unwrap(), "done");
        assert_eq!(count("error"), 0, "{events:#?}");
        assert_eq!(count("turn_start"), count("turn_end"), "{events:#?}");
        assert_eq!(count("turn_start"), count("usage"), "{events:#?}");
        assert_eq!(count("tool_call"), count("tool_result"), "{events:#?}");
    }
}
