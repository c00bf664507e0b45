//! Compaction on request.

use std::sync::Arc;

use zot_agent::SUMMARY_HEADING;
use zot_conversation::{ModelErrorKind, Prices, Rates, StopReason};

use crate::support::gate::Gate;
use crate::support::model::{Script, accepted, answer, calls, refused};
use crate::support::tools::echo;
use crate::support::{Log, LoggedJournal, Scene, Setup, check, dialogue};

/// An agent with six messages behind it: `q1` to `a3`.
fn after_dialogue(scripts: impl Into<Vec<Script>>) -> Scene {
    Setup {
        scripts: scripts.into(),
        transcript: dialogue(6),
        ..Setup::default()
    }
    .build()
}

/// Compacts, expects `events`, and nothing else to have happened.
async fn check_unchanged(script: Script, events: &str) {
    let scene = after_dialogue([script]);
    let before = scene.agent.transcript();
    check(&scene.compact().await, &format!("compact_start\n{events}"));
    let after = scene.agent.transcript();
    assert_eq!(before.len(), after.len());
    for (before, after) in before.messages().iter().zip(after.messages()) {
        assert!(Arc::ptr_eq(before, after));
    }
}

#[tokio::test(start_paused = true)]
async fn all_but_the_last_four_messages_become_one() {
    let log = Log::default();
    let scene = Setup {
        scripts: vec![answer("\n they talked \n"), answer("ok")],
        transcript: dialogue(6),
        tools: vec![echo()],
        journal: Arc::new(LoggedJournal {
            log: log.clone(),
            fails_at: None,
        }),
        ..Setup::default()
    }
    .build();
    let tail = scene.agent.transcript().messages()[2..].to_vec();
    check(
        &scene.compact().await,
        r#"
        compact_start
        usage 3/2 (3/2)
        compact_done "they talked"
        "#,
    );
    assert_eq!(SUMMARY_HEADING, "## Context Summary (compacted)\n\n");
    let expected = r#"
        user summary "they talked"
        user "q2"
        assistant "a2"
        user "q3"
        assistant "a3"
    "#;
    check(&scene.transcript(), expected);
    for (before, after) in tail.iter().zip(&scene.agent.transcript().messages()[1..]) {
        assert!(Arc::ptr_eq(before, after), "the kept tail is not copied");
    }
    check(
        &log.lines(),
        &format!(
            "journal usage 3/2 (3/2)\njournal now {:?}",
            scene.transcript()
        ),
    );

    scene.prompt("q4").await;
    let sent = scene.model.sent();
    let summarised = sent[0].messages[0].text();
    assert_eq!(sent[0].messages.len(), 1);
    assert_eq!(sent[0].tools.len(), 0);
    assert!(summarised.contains("[user]\nq1\n\n[assistant]\na1\n"));
    assert!(!summarised.contains("q2"), "{summarised}");
    check(&sent[1].rendered(), &format!("{expected}\nuser \"q4\""));
}

#[tokio::test(start_paused = true)]
async fn the_tail_keeps_a_call_with_its_results() {
    let scene = Setup {
        scripts: vec![
            calls(&[("c1", "echo", "{}")]),
            answer("a1"),
            answer("a2"),
            answer("they talked"),
        ],
        tools: vec![echo()],
        ..Setup::default()
    }
    .build();
    scene.prompt("q1").await;
    scene.prompt("q2").await;
    scene.compact().await;
    check(
        &scene.transcript(),
        r#"
        user summary "they talked"
        assistant echo?c1{}
        tool c1 ok "{}"
        assistant "a1"
        user "q2"
        assistant "a2"
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn its_tokens_are_priced_and_counted() {
    let scene = Setup {
        scripts: vec![answer("they talked")],
        transcript: dialogue(6),
        prices: Prices::from(Rates {
            input: 4.0,
            output: 20.0,
            ..Rates::default()
        }),
        ..Setup::default()
    }
    .build();
    scene.compact().await;
    let usage = scene.agent.usage();
    assert_eq!((usage.input, usage.output), (3, 2));
    assert_eq!(usage.cost_usd, 52.0 / 1e6);
}

#[tokio::test(start_paused = true)]
async fn a_short_conversation_is_left_alone_and_the_model_is_not_asked() {
    let scene = Setup {
        transcript: dialogue(4),
        ..Setup::default()
    }
    .build();
    check(
        &scene.compact().await,
        r#"
        error NothingToCompact "nothing to compact: keep-tail covers the whole transcript"
        done
        "#,
    );
    assert_eq!(scene.transcript().len(), 4);
    assert_eq!(scene.model.sent().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_refused_request_changes_nothing() {
    check_unchanged(
        refused(ModelErrorKind::Unauthorized, "http 401"),
        r#"
        error Unauthorized "http 401"
        done
        "#,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_broken_stream_changes_nothing_but_its_tokens_count() {
    check_unchanged(
        accepted()
            .text("they")
            .usage(3, 1)
            .fail(ModelErrorKind::Stream, "cut"),
        r#"
        usage 3/1 (3/1)
        error Stream "cut"
        done
        "#,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_end_without_its_marker_changes_nothing() {
    check_unchanged(
        accepted().text("they"),
        r#"
        error Stream "the model's answer ended without its end marker"
        done
        "#,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_empty_summary_changes_nothing() {
    check_unchanged(
        answer(" \n"),
        r#"
        usage 3/2 (3/2)
        error Compaction "the model returned an empty summary; the transcript is unchanged"
        done
        "#,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_withheld_summary_changes_nothing() {
    check_unchanged(
        accepted()
            .text("I cannot help with that")
            .usage(3, 2)
            .stop(StopReason::Refused),
        r#"
        usage 3/2 (3/2)
        error Refused "the provider withheld the summary (refusal or content filter); the transcript is unchanged"
        done
        "#,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_abort_changes_nothing() {
    for script in [Script::default(), accepted().text("they").usage(3, 1)] {
        let gate = Gate::default();
        let scene = after_dialogue([script.wait(&gate)]);
        let events = scene.compact_while(scene.abort_when(gate.reached())).await;
        check(&events, "compact_start\ndone");
        assert_eq!(scene.transcript().len(), 6);
        assert_eq!(scene.model.open_streams(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_abort_before_it_begins_sends_nothing() {
    let scene = after_dialogue([]);
    scene.cancel.cancel();
    check(&scene.compact().await, "compact_start\ndone");
    assert_eq!(scene.model.sent().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_fails_changes_nothing() {
    let replaced = r#"journal now ["user summary \"they talked\"", "user \"q2\"", "assistant \"a2\"", "user \"q3\"", "assistant \"a3\""]"#;
    for (fails_at, events) in [
        (
            "journal usage 3/2 (3/2)",
            r#"
            error Session "session: disk full"
            done
            "#,
        ),
        (
            replaced,
            r#"
            usage 3/2 (3/2)
            error Session "session: disk full"
            done
            "#,
        ),
    ] {
        let scene = Setup {
            scripts: vec![answer("they talked")],
            transcript: dialogue(6),
            journal: Arc::new(LoggedJournal {
                log: Log::default(),
                fails_at: Some(fails_at),
            }),
            ..Setup::default()
        }
        .build();
        check(&scene.compact().await, &format!("compact_start\n{events}"));
        assert_eq!(scene.transcript().len(), 6);
    }
}
