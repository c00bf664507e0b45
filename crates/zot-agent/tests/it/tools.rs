//! Tool calls: the loop, its limits, side by side and in order, and tools that misbehave.

use std::sync::Arc;

use tokio::sync::Barrier;
use zot_conversation::ToolEffect::{Changes, ReadOnly};
use zot_conversation::{StopReason, Tool, ToolOutput};

use crate::support::gate::Gate;
use crate::support::model::{Script, accepted, answer, calls};
use crate::support::tools::{echo, gated, logged, tool};
use crate::support::{Log, Scene, Setup, after_calls, check, settle};

fn with_tools(
    scripts: impl Into<Vec<Script>>,
    tools: impl IntoIterator<Item = Arc<dyn Tool>>,
) -> Scene {
    Setup {
        scripts: scripts.into(),
        tools: tools.into_iter().collect(),
        ..Setup::default()
    }
    .build()
}

#[tokio::test(start_paused = true)]
async fn the_loop_goes_on_until_the_model_calls_nothing() {
    let scene = with_tools(
        [
            accepted()
                .text("look")
                .call_begins("c1", "echo")
                .arguments("c1", r#"{"x""#)
                .arguments("c1", ":1}")
                .usage(3, 2)
                .stop(StopReason::ToolUse),
            answer("done"),
        ],
        [echo()],
    );
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        text "look"
        tool_use_start c1 echo
        tool_use_args c1 {"x"
        tool_use_args c1 :1}
        usage 3/2 (3/2)
        assistant_message "look" echo?c1{"x":1}
        tool_call c1 echo {"x":1}
        turn_end tool_use
        tool_result c1 ok "{\"x\":1}"
        turn_start 2
        assistant_start
        text "done"
        usage 3/2 (6/4)
        assistant_message "done"
        turn_end end
        done
        "#,
    );
    check(
        &scene.transcript(),
        r#"
        user "hi"
        assistant "look" echo?c1{"x":1}
        tool c1 ok "{\"x\":1}"
        assistant "done"
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_counts_whatever_reason_the_model_gives_for_stopping() {
    let scene = with_tools(
        [
            accepted().call_begins("c1", "echo").stop(StopReason::End),
            answer("done"),
        ],
        [echo()],
    );
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        tool_use_start c1 echo
        usage 0/0 (0/0)
        assistant_message echo?c1{}
        tool_call c1 echo {}
        turn_end tool_use
        tool_result c1 ok "{}"
        turn_start 2
        assistant_start
        text "done"
        usage 3/2 (3/2)
        assistant_message "done"
        turn_end end
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn unknown_tools_and_malformed_arguments_are_results_the_model_reads() {
    let scene = with_tools(
        [
            calls(&[
                ("c1", "ehco", "{}"),
                ("c2", "echo", "[1]"),
                ("c3", "echo", "{}"),
            ]),
            answer("sorry"),
        ],
        [echo()],
    );
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        tool_use_start c1 ehco
        tool_use_args c1 {}
        tool_use_end c1
        tool_use_start c2 echo
        tool_use_args c2 [1]
        tool_use_end c2
        tool_use_start c3 echo
        tool_use_args c3 {}
        tool_use_end c3
        usage 3/2 (3/2)
        assistant_message ehco?c1{} echo?c2![1] echo?c3{}
        tool_call c1 ehco {}
        tool_call c2 echo {}
        tool_call c3 echo {}
        turn_end tool_use
        tool_result c1 error "unknown tool \"ehco\""
        tool_result c2 error "invalid args: arguments must be a JSON object; the arguments must be one JSON object"
        tool_result c3 ok "{}"
        turn_start 2
        assistant_start
        text "sorry"
        usage 3/2 (6/4)
        assistant_message "sorry"
        turn_end end
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn the_step_limit_ends_the_prompt_with_an_error_after_the_last_results() {
    let scene = Setup {
        scripts: vec![
            calls(&[("c1", "echo", "{}")]),
            calls(&[("c2", "echo", "{}")]),
        ],
        tools: vec![echo()],
        max_steps: 2,
        ..Setup::default()
    }
    .build();
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        tool_use_start c1 echo
        tool_use_args c1 {}
        tool_use_end c1
        usage 3/2 (3/2)
        assistant_message echo?c1{}
        tool_call c1 echo {}
        turn_end tool_use
        tool_result c1 ok "{}"
        turn_start 2
        assistant_start
        tool_use_start c2 echo
        tool_use_args c2 {}
        tool_use_end c2
        usage 3/2 (6/4)
        assistant_message echo?c2{}
        tool_call c2 echo {}
        turn_end tool_use
        tool_result c2 ok "{}"
        error MaxSteps "max steps (2) exceeded"
        done
        "#,
    );
    assert_eq!(scene.transcript().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn progress_is_reported_before_the_result() {
    let talker = tool("talk", Changes, |invocation| {
        Box::pin(async move {
            invocation.progress.report("one".to_owned()).await;
            invocation.progress.report("two".to_owned()).await;
            ToolOutput::text("three")
        })
    });
    let scene = with_tools([calls(&[("c1", "talk", "{}")]), answer("ok")], [talker]);
    check(
        &after_calls(&scene.prompt("hi").await, &[("c1", "talk")]),
        r#"
        tool_progress c1 "one"
        tool_progress c1 "two"
        tool_result c1 ok "three"
        turn_start 2
        assistant_start
        text "ok"
        usage 3/2 (6/4)
        assistant_message "ok"
        turn_end end
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn neighbouring_reads_run_side_by_side() {
    // Each call waits for the other two: one after the other they would never finish.
    let barrier = Arc::new(Barrier::new(3));
    let read = tool("read", ReadOnly, move |invocation| {
        let barrier = Arc::clone(&barrier);
        let id = invocation.id.clone();
        Box::pin(async move {
            barrier.wait().await;
            ToolOutput::text(id.as_str())
        })
    });
    let scene = with_tools(
        [
            calls(&[
                ("c1", "read", "{}"),
                ("c2", "read", "{}"),
                ("c3", "read", "{}"),
            ]),
            answer("ok"),
        ],
        [read],
    );
    check(
        &after_calls(
            &scene.prompt("hi").await,
            &[("c1", "read"), ("c2", "read"), ("c3", "read")],
        ),
        r#"
        tool_result c1 ok "c1"
        tool_result c2 ok "c2"
        tool_result c3 ok "c3"
        turn_start 2
        assistant_start
        text "ok"
        usage 3/2 (6/4)
        assistant_message "ok"
        turn_end end
        done
        "#,
    );
    check(
        &scene.transcript()[2..3],
        r#"tool c1 ok "c1" c2 ok "c2" c3 ok "c3""#,
    );
}

#[tokio::test(start_paused = true)]
async fn results_come_in_call_order_and_a_change_is_a_barrier() {
    let log = Log::default();
    let (slow, quick, change, late) = (
        Gate::default(),
        Gate::default(),
        Gate::default(),
        Gate::default(),
    );
    let scene = with_tools(
        [
            calls(&[
                ("r1", "slow", "{}"),
                ("r2", "quick", "{}"),
                ("w1", "change", "{}"),
                ("r3", "late", "{}"),
            ]),
            answer("ok"),
        ],
        [
            logged("slow", ReadOnly, &log, &slow),
            logged("quick", ReadOnly, &log, &quick),
            logged("change", Changes, &log, &change),
            logged("late", ReadOnly, &log, &late),
        ],
    );
    let open_gates = async {
        quick.reached().await;
        quick.open();
        slow.reached().await;
        settle().await;
        slow.open();
        change.reached().await;
        settle().await;
        change.open();
        late.reached().await;
        late.open();
    };
    check(
        &after_calls(
            &scene.prompt_while("hi", open_gates).await,
            &[
                ("r1", "slow"),
                ("r2", "quick"),
                ("w1", "change"),
                ("r3", "late"),
            ],
        ),
        r#"
        tool_result r1 ok "r1"
        tool_result r2 ok "r2"
        tool_result w1 ok "w1"
        tool_result r3 ok "r3"
        turn_start 2
        assistant_start
        text "ok"
        usage 3/2 (6/4)
        assistant_message "ok"
        turn_end end
        done
        "#,
    );
    check(
        &log.lines(),
        "
        r1 begins
        r2 begins
        r2 ends
        r1 ends
        w1 begins
        w1 ends
        r3 begins
        r3 ends
        ",
    );
}

#[tokio::test(start_paused = true)]
async fn changes_run_one_after_the_other() {
    let log = Log::default();
    let gate = Gate::default();
    let scene = with_tools(
        [
            calls(&[("w1", "change", "{}"), ("w2", "change", "{}")]),
            answer("ok"),
        ],
        [logged("change", Changes, &log, &gate)],
    );
    let open_gates = async {
        for _ in 0..2 {
            gate.reached().await;
            settle().await;
            gate.open();
        }
    };
    scene.prompt_while("hi", open_gates).await;
    check(
        &log.lines(),
        "
        w1 begins
        w1 ends
        w2 begins
        w2 ends
        ",
    );
}

#[tokio::test(start_paused = true)]
async fn a_panic_inside_a_tool_is_an_error_result() {
    let scene = with_tools(
        [
            calls(&[
                ("c1", "breaks", "{}"),
                ("c2", "breaks_late", "{}"),
                ("c3", "echo", "{}"),
            ]),
            answer("ok"),
        ],
        [
            tool("breaks", Changes, |_| Box::pin(async { panic!("oh no") })),
            tool("breaks_late", Changes, |invocation| {
                Box::pin(async move {
                    tokio::task::yield_now().await;
                    panic!("oh no, {}", invocation.id)
                })
            }),
            echo(),
        ],
    );
    check(
        &after_calls(
            &scene.prompt("hi").await,
            &[("c1", "breaks"), ("c2", "breaks_late"), ("c3", "echo")],
        ),
        r#"
        tool_result c1 error "tool \"breaks\" failed internally: oh no"
        tool_result c2 error "tool \"breaks_late\" failed internally: oh no, c2"
        tool_result c3 ok "{}"
        turn_start 2
        assistant_start
        text "ok"
        usage 3/2 (6/4)
        assistant_message "ok"
        turn_end end
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_panic_before_a_tool_returns_its_future_is_an_error_result() {
    let scene = with_tools(
        [calls(&[("c1", "breaks", "{}")]), answer("ok")],
        [tool("breaks", Changes, |_| panic!("not even started"))],
    );
    check(
        &after_calls(&scene.prompt("hi").await, &[("c1", "breaks")]),
        r#"
        tool_result c1 error "tool \"breaks\" failed internally: not even started"
        turn_start 2
        assistant_start
        text "ok"
        usage 3/2 (6/4)
        assistant_message "ok"
        turn_end end
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_panicking_read_does_not_disturb_its_neighbours() {
    let gate = Gate::default();
    let scene = with_tools(
        [
            calls(&[
                ("c1", "gated", "{}"),
                ("c2", "breaks", "{}"),
                ("c3", "gated", "{}"),
            ]),
            answer("ok"),
        ],
        [
            gated("gated", ReadOnly, &gate),
            tool("breaks", ReadOnly, |_| {
                Box::pin(async { std::panic::panic_any(7) })
            }),
        ],
    );
    let open_gates = async {
        for _ in 0..2 {
            gate.reached().await;
            settle().await;
            gate.open();
        }
    };
    check(
        &after_calls(
            &scene.prompt_while("hi", open_gates).await,
            &[("c1", "gated"), ("c2", "breaks"), ("c3", "gated")],
        )[..3],
        r#"
        tool_result c1 ok "finished"
        tool_result c2 error "tool \"breaks\" failed internally: panicked"
        tool_result c3 ok "finished"
        "#,
    );
}
