//! What is written down, when, and what happens when it cannot be.

use std::sync::Arc;

use zot_agent::Hooks;
use zot_conversation::AgentEvent;

use crate::support::model::{Script, answer, calls};
use crate::support::tools::echo;
use crate::support::{Log, LoggedJournal, Scene, Setup, after_calls, check, dialogue, render};

struct LoggedEvents(Log);

impl Hooks for LoggedEvents {
    fn on_event(&self, event: &AgentEvent) {
        self.0.add(render::event(event));
    }
}

/// An agent whose journal fails at the log line `fails_at`.
fn failing(fails_at: &'static str, scripts: impl Into<Vec<Script>>) -> (Scene, Log) {
    let log = Log::default();
    let scene = Setup {
        scripts: scripts.into(),
        tools: vec![echo()],
        journal: Arc::new(LoggedJournal {
            log: log.clone(),
            fails_at: Some(fails_at),
        }),
        ..Setup::default()
    }
    .build();
    (scene, log)
}

#[tokio::test(start_paused = true)]
async fn everything_is_written_down_before_it_is_reported_and_before_the_model_is_asked_again() {
    let log = Log::default();
    let asked = || {
        let log = log.clone();
        Script::default().run(move || log.add("MODEL ASKED"))
    };
    let scene = Setup {
        scripts: vec![
            asked().then(calls(&[("c1", "echo", "{}")])),
            asked().then(answer("ok")),
        ],
        tools: vec![echo()],
        hooks: Arc::new(LoggedEvents(log.clone())),
        journal: Arc::new(LoggedJournal {
            log: log.clone(),
            fails_at: None,
        }),
        ..Setup::default()
    }
    .build();
    scene.prompt("hi").await;
    check(
        &log.lines(),
        r#"
        journal user "hi"
        user_message "hi"
        turn_start 1
        MODEL ASKED
        assistant_start
        tool_use_start c1 echo
        tool_use_args c1 {}
        tool_use_end c1
        journal assistant echo?c1{}
        journal usage 3/2 (3/2)
        usage 3/2 (3/2)
        assistant_message echo?c1{}
        tool_call c1 echo {}
        turn_end tool_use
        journal tool c1 ok "{}"
        tool_result c1 ok "{}"
        turn_start 2
        MODEL ASKED
        assistant_start
        text "ok"
        journal assistant "ok"
        journal usage 3/2 (6/4)
        usage 3/2 (6/4)
        assistant_message "ok"
        turn_end end
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_user_message_that_cannot_be_written_down_is_not_sent() {
    let (scene, _) = failing(r#"journal user "hi""#, [answer("ok")]);
    check(
        &scene.prompt("hi").await,
        r#"
        error Session "session: disk full"
        done
        "#,
    );
    check(&scene.transcript(), "");
    assert_eq!(scene.model.sent().len(), 0);

    check(
        &scene.prompt("again").await,
        r#"
        user_message "again"
        turn_start 1
        assistant_start
        text "ok"
        usage 3/2 (3/2)
        assistant_message "ok"
        turn_end end
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_response_that_cannot_be_written_down_ends_the_prompt() {
    let (scene, log) = failing(r#"journal assistant "ok""#, [answer("ok")]);
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        text "ok"
        turn_end error "session: disk full"
        error Session "session: disk full"
        done
        "#,
    );
    check(&scene.transcript(), r#"user "hi""#);
    check(
        &log.lines(),
        r#"
        journal user "hi"
        journal assistant "ok" FAILED
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn usage_that_cannot_be_written_down_ends_the_prompt_before_any_tool_runs() {
    let (scene, log) = failing(
        "journal usage 3/2 (3/2)",
        [calls(&[("c1", "echo", "{}")]), answer("ok")],
    );
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        tool_use_start c1 echo
        tool_use_args c1 {}
        tool_use_end c1
        turn_end error "session: disk full"
        error Session "session: disk full"
        done
        "#,
    );
    check(
        &log.lines(),
        r#"
        journal user "hi"
        journal assistant echo?c1{}
        journal usage 3/2 (3/2) FAILED
        "#,
    );
    // What was written down is still there, and the next request is sound.
    scene.prompt("again").await;
    check(
        &scene.model.sent()[1].rendered(),
        r#"
        user "hi"
        assistant echo?c1{}
        tool c1 error "no result: the call was interrupted"
        user "again"
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn results_that_cannot_be_written_down_are_not_reported_and_end_the_prompt() {
    let (scene, _) = failing(
        r#"journal tool c1 ok "{}""#,
        [calls(&[("c1", "echo", "{}")])],
    );
    check(
        &after_calls(&scene.prompt("hi").await, &[("c1", "echo")]),
        r#"
        error Session "session: disk full"
        done
        "#,
    );
    check(
        &scene.transcript(),
        r#"
        user "hi"
        assistant echo?c1{}
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_result_of_a_batch_that_cannot_be_written_down_is_not_told_and_stops_the_rest() {
    let (scene, log) = failing(
        "journal result c1",
        [calls(&[("c1", "echo", "{}"), ("c2", "echo", "{}")])],
    );
    let told = scene.prompt("hi").await;
    assert!(
        !told.iter().any(|line| line.contains("tool_result")),
        "{told:?}"
    );
    assert_eq!(log.lines().last().unwrap(), "journal result c1 FAILED");
}

#[tokio::test(start_paused = true)]
async fn each_result_of_a_batch_is_written_down_before_it_is_reported() {
    let log = Log::default();
    let scene = Setup {
        scripts: vec![
            calls(&[("c1", "echo", "{}"), ("c2", "echo", "{}")]),
            answer("ok"),
        ],
        tools: vec![echo()],
        hooks: Arc::new(LoggedEvents(log.clone())),
        journal: Arc::new(LoggedJournal {
            log: log.clone(),
            fails_at: None,
        }),
        ..Setup::default()
    }
    .build();
    scene.prompt("hi").await;
    let mut results = log.lines();
    results.retain(|line| line.contains("result") || line.starts_with("journal tool"));
    check(
        &results,
        r#"
        journal result c1
        tool_result c1 ok "{}"
        journal tool c1 ok "{}" c2 ok "{}"
        tool_result c2 ok "{}"
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn clear_is_written_down_and_keeps_usage() {
    let log = Log::default();
    let scene = Setup {
        scripts: vec![answer("ok"), answer("ok")],
        journal: Arc::new(LoggedJournal {
            log: log.clone(),
            fails_at: None,
        }),
        ..Setup::default()
    }
    .build();
    scene.prompt("hi").await;
    scene.agent.clear().unwrap();
    check(&scene.transcript(), "");
    assert_eq!(scene.agent.usage().input, 3);
    assert_eq!(log.lines().last().unwrap(), "journal now []");

    scene.prompt("again").await;
    check(&scene.model.sent()[1].rendered(), r#"user "again""#);
    assert_eq!(scene.agent.usage().input, 6);
}

#[tokio::test(start_paused = true)]
async fn a_clear_that_cannot_be_written_down_changes_nothing() {
    let scene = Setup {
        transcript: dialogue(2),
        journal: Arc::new(LoggedJournal {
            log: Log::default(),
            fails_at: Some("journal now []"),
        }),
        ..Setup::default()
    }
    .build();
    assert_eq!(
        scene.agent.clear().unwrap_err().to_string(),
        "session: disk full"
    );
    assert_eq!(scene.transcript().len(), 2);
}
