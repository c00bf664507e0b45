//! Another model continues where one failed.

use std::sync::Arc;

use zot_conversation::{ModelErrorKind, StopReason};

use crate::support::model::{Script, ScriptedModel, accepted, answer, calls, refused};
use crate::support::tools::echo;
use crate::support::{Scene, Setup, check};

fn scene(first: Vec<Script>, others: Vec<Vec<Script>>) -> Scene {
    let others = others.into_iter();
    Setup {
        scripts: first,
        tools: vec![echo()],
        fallbacks: others
            .map(|scripts| Arc::new(ScriptedModel::new(scripts)))
            .collect(),
        ..Setup::default()
    }
    .build()
}

#[tokio::test(start_paused = true)]
async fn a_refused_request_goes_to_the_next() {
    let refused = refused(ModelErrorKind::Unavailable, "first: http 503");
    let scene = scene(vec![refused], vec![vec![answer("hello")]]);
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        fell_back first/scripted other/model0 Unavailable
        assistant_start
        text "hello"
        usage 3/2 (3/2)
        assistant_message "hello"
        turn_end end
        done
        "#,
    );
}

/// The text so far is kept, and the next model is asked to continue it; an incomplete call is
/// dropped.
#[tokio::test(start_paused = true)]
async fn a_broken_answer_is_kept_and_continued() {
    let broken = accepted()
        .thinking("hm")
        .reasoning("hm")
        .text("The answer ")
        .call_begins("c1", "echo")
        .arguments("c1", "{\"te")
        .fail(ModelErrorKind::Stream, "first: stream broke off");
    let scene = scene(vec![broken], vec![vec![answer("is 42")]]);
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        thinking "hm"
        text "The answer "
        tool_use_start c1 echo
        tool_use_args c1 {"te
        usage 0/0 (0/0)
        assistant_message "The answer "
        fell_back first/scripted other/model0 Stream
        user_message "[first/scripted failed in the middle of the answer above. Go on exactly where it stops.]"
        assistant_start
        text "is 42"
        usage 3/2 (3/2)
        assistant_message "is 42"
        turn_end end
        done
        "#,
    );
    check(
        &scene.transcript(),
        r#"
        user "hi"
        assistant "The answer "
        user "[first/scripted failed in the middle of the answer above. Go on exactly where it stops.]"
        assistant "is 42"
        "#,
    );
}

/// It is used for the rest of the prompt, tools included; the next prompt begins with the first
/// model.
#[tokio::test(start_paused = true)]
async fn the_next_prompt_begins_with_the_first_again() {
    let scene = scene(
        vec![
            refused(ModelErrorKind::RateLimited, "first: http 429"),
            answer("back"),
        ],
        vec![vec![calls(&[("c1", "echo", "{}")]), answer("done")]],
    );
    let events = scene.prompt("hi").await;
    assert_eq!(
        events
            .iter()
            .filter(|line| line.starts_with("fell_back"))
            .count(),
        1
    );
    assert!(
        events.contains(&"assistant_message \"done\"".to_owned()),
        "{events:#?}"
    );
    let events = scene.prompt("again").await;
    assert!(
        events.contains(&"assistant_message \"back\"".to_owned()),
        "{events:#?}"
    );
}

#[tokio::test(start_paused = true)]
async fn when_all_fail_the_last_error_is_told() {
    let down = |name: &str| refused(ModelErrorKind::Connection, &format!("{name}: no route"));
    let scene = scene(vec![down("a")], vec![vec![down("b")], vec![down("c")]]);
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        fell_back first/scripted other/model0 Connection
        fell_back other/model0 other/model1 Connection
        turn_end error "c: no route"
        error Connection "c: no route"
        done
        "#,
    );
}

/// Another provider would refuse it as well, or the user does not want it any more.
#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_the_request_is_not_asked_again() {
    for kind in [ModelErrorKind::Invalid, ModelErrorKind::Refused] {
        let scene = scene(vec![refused(kind, "no")], vec![vec![answer("x")]]);
        let events = scene.prompt("hi").await;
        assert!(
            events.iter().all(|line| !line.starts_with("fell_back")),
            "{events:#?}"
        );
    }
    let withheld = accepted().text("x").stop(StopReason::Refused);
    let scene = scene(vec![withheld], vec![vec![answer("x")]]);
    let events = scene.prompt("hi").await;
    assert!(
        events.iter().all(|line| !line.starts_with("fell_back")),
        "{events:#?}"
    );
}
