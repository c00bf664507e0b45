//! A front end that stops reading, or goes away.

use tokio::sync::mpsc;
use zot_agent::Budget;
use zot_conversation::ToolEffect::Changes;
use zot_conversation::{AgentEvent, ContentBlock, StopReason, ToolOutput};

use crate::support::model::{accepted, answer, calls};
use crate::support::tools::tool;
use crate::support::{Log, Scene, Setup, check, render, run_to_the_end, scene, settle};

/// The shortest queue there is: full after one event.
const SHORT_QUEUE: usize = 1;

/// Prompts with a reader that reads `count` events, stops, and reads the rest when `stalled` is
/// over.
async fn prompt_with_stall(
    scene: &Scene,
    count: usize,
    stalled: impl Future<Output = ()>,
) -> Vec<String> {
    let (sender, mut receiver) = mpsc::channel::<AgentEvent>(SHORT_QUEUE);
    let mut events = Vec::new();
    let prompt = async {
        let sender = sender;
        let content = vec![ContentBlock::Text("hi".to_owned())];
        scene
            .agent
            .prompt(content, Budget::default(), &sender, &scene.cancel)
            .await;
    };
    let read = async {
        for _ in 0..count {
            events.push(receiver.recv().await.expect("more events to come"));
        }
        settle().await;
        stalled.await;
        while let Some(event) = receiver.recv().await {
            events.push(event);
        }
    };
    run_to_the_end(prompt, read).await;
    render::events(&events)
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_loses_nothing() {
    let scene = scene([accepted()
        .text("a")
        .text("b")
        .text("c")
        .usage(3, 2)
        .stop(StopReason::End)]);
    check(
        &prompt_with_stall(&scene, 1, async {}).await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        text "a"
        text "b"
        text "c"
        usage 3/2 (3/2)
        assistant_message "abc"
        turn_end end
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn an_abort_closes_the_model_call_although_nobody_reads() {
    let scene = scene([accepted()
        .text("a")
        .text("b")
        .text("c")
        .stop(StopReason::End)]);
    let stalled = async {
        assert_eq!(scene.model.open_streams(), 1);
        scene.cancel.cancel();
        settle().await;
        assert_eq!(scene.model.open_streams(), 0);
    };
    // "a" is in the queue and "b" waits for room: the abort overtakes it, the text is kept.
    check(
        &prompt_with_stall(&scene, 3, stalled).await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        text "a"
        usage 0/0 (0/0)
        assistant_message "ab"
        turn_end aborted "context canceled"
        done
        "#,
    );
    check(
        &scene.transcript(),
        r#"
        user "hi"
        assistant "ab"
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn an_abort_before_the_turn_could_be_reported_sends_nothing() {
    let scene = scene([]);
    let stalled = async {
        scene.cancel.cancel();
        settle().await;
    };
    check(
        &prompt_with_stall(&scene, 0, stalled).await,
        r#"
        user_message "hi"
        turn_start 1
        usage 0/0 (0/0)
        turn_end aborted "context canceled"
        done
        "#,
    );
    assert_eq!(scene.model.sent().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_abort_reaches_a_tool_whose_progress_nobody_reads() {
    let log = Log::default();
    let tool_log = log.clone();
    let chatty = tool("chatty", Changes, move |invocation| {
        let log = tool_log.clone();
        Box::pin(async move {
            while !invocation.cancel.is_cancelled() {
                invocation.progress.report("more".to_owned()).await;
            }
            log.add("stopped");
            ToolOutput::error("stopped")
        })
    });
    let scene = Setup {
        scripts: vec![calls(&[("c1", "chatty", "{}")])],
        tools: vec![chatty],
        ..Setup::default()
    }
    .build();
    let stalled = async {
        assert!(log.lines().is_empty());
        scene.cancel.cancel();
        settle().await;
        assert_eq!(log.lines(), ["stopped"]);
    };
    check(
        &prompt_with_stall(&scene, 10, stalled).await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        tool_use_start c1 chatty
        tool_use_args c1 {}
        tool_use_end c1
        usage 3/2 (3/2)
        assistant_message chatty?c1{}
        tool_call c1 chatty {}
        turn_end tool_use
        tool_progress c1 "more"
        tool_result c1 error "stopped"
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_has_gone_away_does_not_stop_the_work() {
    let scene = scene([answer("done")]);
    let (sender, receiver) = mpsc::channel::<AgentEvent>(SHORT_QUEUE);
    drop(receiver);
    let content = vec![ContentBlock::Text("hi".to_owned())];
    run_to_the_end(
        scene
            .agent
            .prompt(content, Budget::default(), &sender, &scene.cancel),
        async {},
    )
    .await;
    check(
        &scene.transcript(),
        r#"
        user "hi"
        assistant "done"
        "#,
    );
}
