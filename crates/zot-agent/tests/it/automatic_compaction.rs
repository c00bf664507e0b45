//! Compaction within a prompt: when the window is nearly full, and after an overflow.

use std::sync::Arc;

use zot_conversation::{ModelErrorKind, StopReason};

use crate::support::gate::Gate;
use crate::support::model::{Script, accepted, answer, calls, refused};
use crate::support::tools::echo;
use crate::support::{Log, LoggedJournal, Scene, Setup, check, dialogue};

const WINDOW: u64 = 100;

fn with_window(scripts: impl Into<Vec<Script>>) -> Scene {
    Setup {
        scripts: scripts.into(),
        tools: vec![echo()],
        transcript: dialogue(6),
        context_window: WINDOW,
        ..Setup::default()
    }
    .build()
}

/// A response after which the window holds `tokens`.
fn filling(tokens: u64) -> Script {
    accepted()
        .text("long")
        .usage(tokens - 5, 5)
        .stop(StopReason::End)
}

fn overflow() -> Script {
    refused(ModelErrorKind::ContextOverflow, "too long")
}

#[tokio::test(start_paused = true)]
async fn at_85_percent_the_next_prompt_begins_with_a_compaction() {
    let scene = with_window([filling(85), answer("they talked"), answer("ok")]);
    scene.prompt("q4").await;
    check(
        &scene.prompt("q5").await,
        r#"
        user_message "q5"
        compact_start
        usage 3/2 (83/7)
        compact_done "they talked"
        turn_start 1
        assistant_start
        text "ok"
        usage 3/2 (86/9)
        assistant_message "ok"
        turn_end end
        done
        "#,
    );
    check(
        &scene.model.sent()[2].rendered(),
        r#"
        user summary "they talked"
        assistant "a3"
        user "q4"
        assistant "long"
        user "q5"
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn below_85_percent_nothing_is_compacted() {
    let scene = with_window([filling(84), answer("ok")]);
    scene.prompt("q4").await;
    check(
        &scene.prompt("q5").await,
        r#"
        user_message "q5"
        turn_start 1
        assistant_start
        text "ok"
        usage 3/2 (82/7)
        assistant_message "ok"
        turn_end end
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn an_unknown_window_is_never_nearly_full() {
    let scene = Setup {
        scripts: vec![filling(1_000_000), answer("ok")],
        transcript: dialogue(6),
        ..Setup::default()
    }
    .build();
    scene.prompt("q4").await;
    scene.prompt("q5").await;
    assert_eq!(scene.model.sent().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_smaller_window_counts_from_the_next_prompt() {
    let scene = with_window([filling(50), answer("they talked"), answer("ok")]);
    scene.prompt("q4").await;
    let mut settings = scene.agent.settings().as_ref().clone();
    settings.model.context_window = 55;
    scene.agent.set_settings(settings);
    check(
        &scene.prompt("q5").await[..4],
        r#"
        user_message "q5"
        compact_start
        usage 3/2 (48/7)
        compact_done "they talked"
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn at_85_percent_the_next_step_begins_with_a_compaction_and_only_one() {
    let scene = with_window([
        accepted()
            .call("c1", "echo", "{}")
            .usage(80, 5)
            .stop(StopReason::ToolUse),
        answer("they talked"),
        calls(&[("c2", "echo", "{}")]),
        answer("ok"),
    ]);
    check(
        &scene.prompt("q4").await,
        r#"
        user_message "q4"
        turn_start 1
        assistant_start
        tool_use_start c1 echo
        tool_use_args c1 {}
        tool_use_end c1
        usage 80/5 (80/5)
        assistant_message echo?c1{}
        tool_call c1 echo {}
        turn_end tool_use
        tool_result c1 ok "{}"
        compact_start
        usage 3/2 (83/7)
        compact_done "they talked"
        turn_start 2
        assistant_start
        tool_use_start c2 echo
        tool_use_args c2 {}
        tool_use_end c2
        usage 3/2 (86/9)
        assistant_message echo?c2{}
        tool_call c2 echo {}
        turn_end tool_use
        tool_result c2 ok "{}"
        turn_start 3
        assistant_start
        text "ok"
        usage 3/2 (89/11)
        assistant_message "ok"
        turn_end end
        done
        "#,
    );
    check(
        &scene.model.sent()[2].rendered(),
        r#"
        user summary "they talked"
        assistant "a3"
        user "q4"
        assistant echo?c1{}
        tool c1 ok "{}"
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_compaction_on_request_makes_room_too() {
    let scene = with_window([filling(85), answer("they talked"), answer("ok")]);
    scene.prompt("q4").await;
    scene.compact().await;
    check(
        &scene.prompt("q5").await,
        r#"
        user_message "q5"
        turn_start 1
        assistant_start
        text "ok"
        usage 3/2 (86/9)
        assistant_message "ok"
        turn_end end
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_nearly_full_window_that_cannot_be_compacted_is_no_reason_to_stop() {
    let scene = with_window([
        filling(85),
        refused(ModelErrorKind::Unavailable, "http 503"),
        answer("ok"),
    ]);
    scene.prompt("q4").await;
    check(
        &scene.prompt("q5").await,
        r#"
        user_message "q5"
        compact_start
        turn_start 1
        assistant_start
        text "ok"
        usage 3/2 (83/7)
        assistant_message "ok"
        turn_end end
        done
        "#,
    );
    assert_eq!(scene.transcript().len(), 10);

    let short = Setup {
        scripts: vec![filling(85), answer("ok")],
        context_window: WINDOW,
        ..Setup::default()
    }
    .build();
    short.prompt("q1").await;
    short.prompt("q2").await;
    assert_eq!(short.transcript().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_fails_during_it_ends_the_prompt() {
    let scene = Setup {
        scripts: vec![filling(85), answer("they talked")],
        transcript: dialogue(6),
        context_window: WINDOW,
        journal: Arc::new(LoggedJournal {
            log: Log::default(),
            fails_at: Some("journal usage 3/2 (83/7)"),
        }),
        ..Setup::default()
    }
    .build();
    scene.prompt("q4").await;
    check(
        &scene.prompt("q5").await,
        r#"
        user_message "q5"
        compact_start
        error Session "session: disk full"
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn an_abort_during_it_ends_the_prompt_and_changes_nothing() {
    let gate = Gate::default();
    let scene = with_window([filling(85), accepted().text("they").wait(&gate)]);
    scene.prompt("q4").await;
    check(
        &scene.prompt_and_abort("q5", gate.reached()).await,
        r#"
        user_message "q5"
        compact_start
        done
        "#,
    );
    assert_eq!(scene.transcript().len(), 9);
    assert_eq!(scene.model.open_streams(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_overflow_is_compacted_and_retried_within_the_same_turn() {
    let scene = with_window([overflow(), answer("they talked"), answer("ok")]);
    check(
        &scene.prompt("q4").await,
        r#"
        user_message "q4"
        turn_start 1
        compact_start
        usage 3/2 (3/2)
        compact_done "they talked"
        assistant_start
        text "ok"
        usage 3/2 (6/4)
        assistant_message "ok"
        turn_end end
        done
        "#,
    );
    check(
        &scene.model.sent()[2].rendered(),
        r#"
        user summary "they talked"
        assistant "a2"
        user "q3"
        assistant "a3"
        user "q4"
        "#,
    );
}

/// The OpenAI responses API accepts first and complains then.
fn late_overflow() -> Script {
    accepted().fail(ModelErrorKind::ContextOverflow, "too long")
}

#[tokio::test(start_paused = true)]
async fn an_overflow_reported_inside_an_accepted_answer_is_compacted_too() {
    let scene = with_window([late_overflow(), answer("they talked"), answer("ok")]);
    check(
        &scene.prompt("q4").await,
        r#"
        user_message "q4"
        turn_start 1
        assistant_start
        usage 0/0 (0/0)
        compact_start
        usage 3/2 (3/2)
        compact_done "they talked"
        assistant_start
        text "ok"
        usage 3/2 (6/4)
        assistant_message "ok"
        turn_end end
        done
        "#,
    );

    let scene = with_window([late_overflow(), answer("they talked"), late_overflow()]);
    check(
        &scene.prompt("q4").await,
        r#"
        user_message "q4"
        turn_start 1
        assistant_start
        usage 0/0 (0/0)
        compact_start
        usage 3/2 (3/2)
        compact_done "they talked"
        assistant_start
        usage 0/0 (3/2)
        turn_end error "too long"
        error ContextOverflow "too long"
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn an_overflow_after_something_was_said_is_not_retried() {
    let scene = with_window([accepted()
        .text("so far")
        .fail(ModelErrorKind::ContextOverflow, "too long")]);
    check(
        &scene.prompt("q4").await,
        r#"
        user_message "q4"
        turn_start 1
        assistant_start
        text "so far"
        usage 0/0 (0/0)
        assistant_message "so far"
        turn_end error "too long"
        error ContextOverflow "too long"
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_second_overflow_is_final() {
    let scene = with_window([overflow(), answer("they talked"), overflow()]);
    check(
        &scene.prompt("q4").await,
        r#"
        user_message "q4"
        turn_start 1
        compact_start
        usage 3/2 (3/2)
        compact_done "they talked"
        turn_end error "too long"
        error ContextOverflow "too long"
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_second_overflow_is_final_in_a_later_step_too() {
    let scene = with_window([
        overflow(),
        answer("they talked"),
        calls(&[("c1", "echo", "{}")]),
        overflow(),
    ]);
    check(
        &scene.prompt("q4").await,
        r#"
        user_message "q4"
        turn_start 1
        compact_start
        usage 3/2 (3/2)
        compact_done "they talked"
        assistant_start
        tool_use_start c1 echo
        tool_use_args c1 {}
        tool_use_end c1
        usage 3/2 (6/4)
        assistant_message echo?c1{}
        tool_call c1 echo {}
        turn_end tool_use
        tool_result c1 ok "{}"
        turn_start 2
        turn_end error "too long"
        error ContextOverflow "too long"
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn the_next_prompt_may_overflow_once_again() {
    let scene = with_window([
        overflow(),
        answer("they talked"),
        answer("ok"),
        overflow(),
        answer("they talked more"),
        answer("fine"),
    ]);
    scene.prompt("q4").await;
    check(
        &scene.prompt("q5").await,
        r#"
        user_message "q5"
        turn_start 1
        compact_start
        usage 3/2 (9/6)
        compact_done "they talked more"
        assistant_start
        text "fine"
        usage 3/2 (12/8)
        assistant_message "fine"
        turn_end end
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn an_overflow_that_compaction_cannot_help_says_both_causes() {
    let scene = Setup {
        scripts: vec![overflow()],
        ..Setup::default()
    }
    .build();
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        turn_end error "too long (compaction did not help: nothing to compact: keep-tail covers the whole transcript)"
        error ContextOverflow "too long (compaction did not help: nothing to compact: keep-tail covers the whole transcript)"
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn an_abort_during_the_compaction_after_an_overflow_aborts_the_turn() {
    let gate = Gate::default();
    let scene = with_window([overflow(), accepted().text("they").wait(&gate)]);
    check(
        &scene.prompt_and_abort("q4", gate.reached()).await,
        r#"
        user_message "q4"
        turn_start 1
        compact_start
        usage 0/0 (0/0)
        turn_end aborted "context canceled"
        done
        "#,
    );
    assert_eq!(scene.transcript().len(), 7);
    assert_eq!(scene.model.sent().len(), 2);
}
