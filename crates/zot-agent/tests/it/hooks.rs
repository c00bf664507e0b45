//! What hooks see and change.

use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;
use zot_agent::{Budget, Hooks, MessageVerdict, ToolVerdict, TurnVerdict};
use zot_conversation::{
    AgentEvent, Arguments, BoxFuture, ContentBlock, Message, StopReason, ToolCall,
};

use crate::support::model::{accepted, answer, calls};
use crate::support::tools::echo;
use crate::support::{Log, Setup, after_calls, check, render, run_to_the_end};

/// Returns verdicts from functions, at once, and logs its calls.
#[derive(Default)]
struct ScriptedHooks {
    log: Log,
    turn: Option<fn(u32) -> TurnVerdict>,
    tool: Option<fn(&ToolCall) -> ToolVerdict>,
    message: Option<fn(&str) -> MessageVerdict>,
}

impl Hooks for ScriptedHooks {
    fn before_turn(&self, step: u32) -> BoxFuture<'_, TurnVerdict> {
        self.log.add(format!("ASKED turn {step}"));
        let verdict = self
            .turn
            .map_or(TurnVerdict::Proceed, |decide| decide(step));
        Box::pin(async { verdict })
    }

    fn before_tool<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolVerdict> {
        self.log.add(format!("ASKED tool {}", call.id));
        let verdict = self
            .tool
            .map_or(ToolVerdict::Proceed, |decide| decide(call));
        Box::pin(async { verdict })
    }

    fn before_assistant_message<'a>(&'a self, text: &'a str) -> BoxFuture<'a, MessageVerdict> {
        self.log.add(format!("ASKED message {text:?}"));
        let verdict = self
            .message
            .map_or(MessageVerdict::Keep, |decide| decide(text));
        Box::pin(async { verdict })
    }

    fn on_event(&self, event: &AgentEvent) {
        self.log.add(render::event(event));
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_are_asked_between_the_events_they_stand_between() {
    let log = Log::default();
    let scene = Setup {
        scripts: vec![
            accepted()
                .text("look")
                .call("c1", "echo", "{}")
                .call("c2", "echo", "{}")
                .usage(3, 2)
                .stop(StopReason::ToolUse),
            answer("ok"),
        ],
        tools: vec![echo()],
        hooks: Arc::new(ScriptedHooks {
            log: log.clone(),
            ..ScriptedHooks::default()
        }),
        ..Setup::default()
    }
    .build();
    scene.prompt("hi").await;
    check(
        &log.lines(),
        r#"
        user_message "hi"
        turn_start 1
        ASKED turn 1
        assistant_start
        text "look"
        tool_use_start c1 echo
        tool_use_args c1 {}
        tool_use_end c1
        tool_use_start c2 echo
        tool_use_args c2 {}
        tool_use_end c2
        usage 3/2 (3/2)
        ASKED message "look"
        assistant_message "look" echo?c1{} echo?c2{}
        tool_call c1 echo {}
        tool_call c2 echo {}
        turn_end tool_use
        ASKED tool c1
        tool_result c1 ok "{}"
        ASKED tool c2
        tool_result c2 ok "{}"
        turn_start 2
        ASKED turn 2
        assistant_start
        text "ok"
        usage 3/2 (6/4)
        ASKED message "ok"
        assistant_message "ok"
        turn_end end
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_blocked_turn_ends_without_a_model_call_and_without_an_error_event() {
    let scene = Setup {
        scripts: vec![calls(&[("c1", "echo", "{}")])],
        tools: vec![echo()],
        hooks: Arc::new(ScriptedHooks {
            turn: Some(|step| match step {
                1 => TurnVerdict::Proceed,
                _ => TurnVerdict::Block {
                    reason: "enough".to_owned(),
                },
            }),
            ..ScriptedHooks::default()
        }),
        ..Setup::default()
    }
    .build();
    check(
        &after_calls(&scene.prompt("hi").await, &[("c1", "echo")]),
        r#"
        tool_result c1 ok "{}"
        turn_start 2
        turn_end error "enough"
        done
        "#,
    );
    assert_eq!(scene.model.sent().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_blocked_tool_does_not_run_and_the_model_reads_why() {
    let scene = Setup {
        scripts: vec![
            calls(&[("c1", "echo", "{}"), ("c2", "echo", "{}")]),
            answer("ok"),
        ],
        tools: vec![echo()],
        hooks: Arc::new(ScriptedHooks {
            tool: Some(|call| match call.id.as_str() {
                "c1" => ToolVerdict::Block {
                    reason: "not today".to_owned(),
                },
                _ => ToolVerdict::Proceed,
            }),
            ..ScriptedHooks::default()
        }),
        ..Setup::default()
    }
    .build();
    check(
        &after_calls(&scene.prompt("hi").await, &[("c1", "echo"), ("c2", "echo")]),
        r#"
        tool_result c1 error "not today"
        tool_result c2 ok "{}"
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
        &scene.model.sent()[1].rendered()[2..],
        r#"tool c1 error "not today" c2 ok "{}""#,
    );
}

#[tokio::test(start_paused = true)]
async fn rewritten_arguments_reach_the_tool_and_nothing_else() {
    let scene = Setup {
        scripts: vec![calls(&[("c1", "echo", "{}")]), answer("ok")],
        tools: vec![echo()],
        hooks: Arc::new(ScriptedHooks {
            tool: Some(|_| ToolVerdict::Rewrite(Arguments::from_model_text(r#"{"new":1}"#))),
            ..ScriptedHooks::default()
        }),
        ..Setup::default()
    }
    .build();
    check(
        &after_calls(&scene.prompt("hi").await, &[("c1", "echo")]),
        r#"
        tool_result c1 ok "{\"new\":1}"
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
        &scene.transcript(),
        r#"
        user "hi"
        assistant echo?c1{}
        tool c1 ok "{\"new\":1}"
        assistant "ok"
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn arguments_rewritten_into_nonsense_do_not_reach_the_tool() {
    let scene = Setup {
        scripts: vec![calls(&[("c1", "echo", "{}")]), answer("ok")],
        tools: vec![echo()],
        hooks: Arc::new(ScriptedHooks {
            tool: Some(|_| ToolVerdict::Rewrite(Arguments::from_model_text("[1"))),
            ..ScriptedHooks::default()
        }),
        ..Setup::default()
    }
    .build();
    check(
        &after_calls(&scene.prompt("hi").await, &[("c1", "echo")])[..1],
        r#"tool_result c1 error "invalid args: they were replaced by malformed JSON: EOF while parsing a list at line 1 column 2""#,
    );
}

#[tokio::test(start_paused = true)]
async fn hooks_are_not_asked_about_calls_that_cannot_run() {
    let log = Log::default();
    let scene = Setup {
        scripts: vec![
            calls(&[("c1", "ehco", "{}"), ("c2", "echo", "nonsense")]),
            answer("ok"),
        ],
        tools: vec![echo()],
        hooks: Arc::new(ScriptedHooks {
            log: log.clone(),
            ..ScriptedHooks::default()
        }),
        ..Setup::default()
    }
    .build();
    scene.prompt("hi").await;
    let mut asked = log.lines();
    asked.retain(|line| line.starts_with("ASKED"));
    check(
        &asked,
        r#"
        ASKED turn 1
        ASKED turn 2
        ASKED message "ok"
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn replaced_text_is_shown_with_its_true_time_and_the_transcript_keeps_the_original() {
    let scene = Setup {
        scripts: vec![
            accepted()
                .reasoning("hm")
                .text("the password ")
                .call("c1", "echo", "{}")
                .text("is 123")
                .stop(StopReason::ToolUse),
            accepted().stop(StopReason::End),
        ],
        tools: vec![echo()],
        hooks: Arc::new(ScriptedHooks {
            message: Some(|text| {
                assert_eq!(text, "the password is 123");
                MessageVerdict::Replace("[hidden]".to_owned())
            }),
            ..ScriptedHooks::default()
        }),
        ..Setup::default()
    }
    .build();
    let events = scene.raw_events("hi", async {}).await;
    check(
        &render::events(&events),
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        text "the password "
        tool_use_start c1 echo
        tool_use_args c1 {}
        tool_use_end c1
        text "is 123"
        usage 0/0 (0/0)
        assistant_message "[hidden]" (hm) echo?c1{}
        tool_call c1 echo {}
        turn_end tool_use
        tool_result c1 ok "{}"
        turn_start 2
        assistant_start
        usage 0/0 (0/0)
        turn_end end
        done
        "#,
    );
    let kept = r#"assistant (hm) "the password " echo?c1{} "is 123""#;
    check(&scene.transcript()[1..2], kept);
    check(&scene.model.sent()[1].rendered()[1..2], kept);
    let shown: Vec<&Arc<Message>> = events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::AssistantMessage(message) => Some(message),
            _ => None,
        })
        .collect();
    assert_eq!(
        shown[0].time,
        scene.agent.transcript().messages()[1].time,
        "the true time"
    );
}

#[tokio::test(start_paused = true)]
async fn a_suppressed_message_is_not_shown_but_kept() {
    let scene = Setup {
        scripts: vec![answer("secret")],
        hooks: Arc::new(ScriptedHooks {
            message: Some(|_| MessageVerdict::Suppress),
            ..ScriptedHooks::default()
        }),
        ..Setup::default()
    }
    .build();
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        text "secret"
        usage 3/2 (3/2)
        turn_end end
        done
        "#,
    );
    check(
        &scene.transcript(),
        r#"
        user "hi"
        assistant "secret"
        "#,
    );
}

/// Looks into the front end's queue at every event.
struct FirstToKnow {
    log: Log,
    queue: Mutex<mpsc::Receiver<AgentEvent>>,
}

impl FirstToKnow {
    fn look(&self) {
        while let Ok(event) = self.queue.lock().unwrap().try_recv() {
            self.log.add(format!("shown {}", render::event(&event)));
        }
    }
}

impl Hooks for FirstToKnow {
    fn on_event(&self, event: &AgentEvent) {
        self.look();
        self.log.add(format!("told {}", render::event(event)));
    }
}

#[tokio::test(start_paused = true)]
async fn every_event_is_told_to_the_hooks_before_the_front_end_sees_it() {
    let (sender, receiver) = mpsc::channel(1);
    let log = Log::default();
    let hooks = Arc::new(FirstToKnow {
        log: log.clone(),
        queue: Mutex::new(receiver),
    });
    let scene = Setup {
        scripts: vec![answer("ok")],
        hooks: Arc::clone(&hooks) as Arc<dyn Hooks>,
        ..Setup::default()
    }
    .build();
    let content = vec![ContentBlock::Text("hi".to_owned())];
    run_to_the_end(
        scene
            .agent
            .prompt(content, Budget::default(), &sender, &scene.cancel),
        async {},
    )
    .await;
    hooks.look();
    let expected: String = [
        r#"user_message "hi""#,
        "turn_start 1",
        "assistant_start",
        r#"text "ok""#,
        "usage 3/2 (3/2)",
        r#"assistant_message "ok""#,
        "turn_end end",
        "done",
    ]
    .iter()
    .map(|event| format!("told {event}\nshown {event}\n"))
    .collect();
    check(&log.lines(), &expected);
}
