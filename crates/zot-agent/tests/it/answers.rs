//! How one model call ends, well or badly.

use zot_conversation::{AgentEvent, ModelErrorKind, ModelEvent, Prices, Rates, StopReason, Usage};

use crate::support::model::{accepted, answer, calls, refused};
use crate::support::tools::echo;
use crate::support::{Setup, check, scene};

#[tokio::test(start_paused = true)]
async fn a_plain_response() {
    let scene = scene([accepted()
        .text("Hel")
        .text("")
        .text("lo")
        .usage(1, 0)
        .usage(3, 2)
        .stop(StopReason::End)]);
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        text "Hel"
        text "lo"
        usage 3/2 (3/2)
        assistant_message "Hello"
        turn_end end
        done
        "#,
    );
    check(
        &scene.transcript(),
        r#"
        user "hi"
        assistant "Hello"
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn an_empty_response_reports_usage_and_leaves_no_message() {
    let scene = scene([accepted().usage(3, 0).stop(StopReason::End)]);
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        usage 3/0 (3/0)
        turn_end end
        done
        "#,
    );
    check(&scene.transcript(), r#"user "hi""#);
}

#[tokio::test(start_paused = true)]
async fn reasoning_is_kept_in_its_place_and_is_not_text() {
    let scene = scene([accepted()
        .thinking("hm")
        .reasoning("hm")
        .text("yes")
        .stop(StopReason::End)]);
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        thinking "hm"
        text "yes"
        usage 0/0 (0/0)
        assistant_message (hm) "yes"
        turn_end end
        done
        "#,
    );
    check(
        &scene.transcript(),
        r#"
        user "hi"
        assistant (hm) "yes"
        "#,
    );
    assert_eq!(scene.agent.transcript().messages()[1].text(), "yes");
}

#[tokio::test(start_paused = true)]
async fn reasoning_alone_is_not_a_response() {
    let scene = scene([accepted()
        .thinking("hm")
        .reasoning("hm")
        .stop(StopReason::End)]);
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        thinking "hm"
        usage 0/0 (0/0)
        turn_end end
        done
        "#,
    );
    check(&scene.transcript(), r#"user "hi""#);
}

#[tokio::test(start_paused = true)]
async fn a_response_cut_by_its_length_says_so() {
    let scene = scene([accepted()
        .text("and so")
        .usage(3, 2)
        .stop(StopReason::Length)]);
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        text "and so"
        usage 3/2 (3/2)
        assistant_message "and so"
        turn_end length
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_cut_by_the_length_limit_is_answered_by_an_error_and_the_model_goes_on() {
    let scene = Setup {
        scripts: vec![
            accepted()
                .call_begins("c1", "echo")
                .arguments("c1", r#"{"x":"#)
                .stop(StopReason::Length),
            answer("again"),
        ],
        tools: vec![echo()],
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
        tool_use_args c1 {"x":
        usage 0/0 (0/0)
        assistant_message echo?c1!{"x":
        tool_call c1 echo {}
        turn_end length "the answer reached the output limit (1000 tokens) inside a call of echo, which is not run"
        tool_result c1 error "invalid args: the answer reached the output limit before they were complete: make smaller calls, for example write a long file in several pieces; the arguments must be one JSON object"
        turn_start 2
        assistant_start
        text "again"
        usage 3/2 (3/2)
        assistant_message "again"
        turn_end end
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_withheld_response_is_an_error_that_keeps_what_was_said() {
    let scene = scene([accepted()
        .text("I will")
        .usage(3, 2)
        .stop(StopReason::Refused)]);
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        text "I will"
        usage 3/2 (3/2)
        assistant_message "I will"
        turn_end error "the provider withheld the answer (refusal or content filter)"
        error Refused "the provider withheld the answer (refusal or content filter)"
        done
        "#,
    );
    check(
        &scene.transcript(),
        r#"
        user "hi"
        assistant "I will"
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_that_fails_starts_no_assistant_and_reports_no_usage() {
    let scene = scene([
        refused(ModelErrorKind::Unauthorized, "http 401"),
        answer("now"),
    ]);
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        turn_end error "http 401"
        error Unauthorized "http 401"
        done
        "#,
    );
    check(&scene.transcript(), r#"user "hi""#);

    check(
        &scene.prompt("and now?").await,
        r#"
        user_message "and now?"
        turn_start 1
        assistant_start
        text "now"
        usage 3/2 (3/2)
        assistant_message "now"
        turn_end end
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_keeps_its_text_and_drops_its_calls() {
    let scene = scene([accepted()
        .reasoning("hm")
        .text("so far")
        .call("c1", "echo", "{}")
        .usage(3, 2)
        .fail(ModelErrorKind::Stream, "cut")]);
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        text "so far"
        tool_use_start c1 echo
        tool_use_args c1 {}
        tool_use_end c1
        usage 3/2 (3/2)
        assistant_message "so far"
        turn_end error "cut"
        error Stream "cut"
        done
        "#,
    );
    check(
        &scene.transcript(),
        r#"
        user "hi"
        assistant "so far"
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_before_any_text_still_reports_usage() {
    let scene = scene([accepted().fail(ModelErrorKind::Unavailable, "overloaded")]);
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        usage 0/0 (0/0)
        turn_end error "overloaded"
        error Unavailable "overloaded"
        done
        "#,
    );
    check(&scene.transcript(), r#"user "hi""#);
}

#[tokio::test(start_paused = true)]
async fn an_end_without_its_marker_is_an_error_that_keeps_the_text() {
    let scene = scene([accepted().text("so far").call("c1", "echo", "{}")]);
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        text "so far"
        tool_use_start c1 echo
        tool_use_args c1 {}
        tool_use_end c1
        usage 0/0 (0/0)
        assistant_message "so far"
        turn_end error "the model's answer ended without its end marker"
        error Stream "the model's answer ended without its end marker"
        done
        "#,
    );
    check(
        &scene.transcript(),
        r#"
        user "hi"
        assistant "so far"
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_a_single_event_is_an_error() {
    let scene = scene([Default::default()]);
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        usage 0/0 (0/0)
        turn_end error "the model's answer ended without its end marker"
        error Stream "the model's answer ended without its end marker"
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn usage_is_priced_and_adds_up_over_turns_and_prompts() {
    let cached = Usage {
        input: 1_000,
        output: 100,
        cache_read: 10_000,
        cache_write: 500,
        cost_usd: 0.0,
    };
    let scene = Setup {
        scripts: vec![
            calls(&[("c1", "echo", "{}")]),
            accepted()
                .text("a")
                .event(ModelEvent::Usage(cached))
                .stop(StopReason::End),
            answer("b"),
        ],
        tools: vec![echo()],
        prices: Prices::from(Rates {
            input: 4.0,
            output: 20.0,
            cache_read: 0.5,
            cache_write: 8.0,
        }),
        ..Setup::default()
    }
    .build();
    let mut events = scene.raw_events("one", async {}).await;
    events.extend(scene.raw_events("two", async {}).await);

    let reported: Vec<(Usage, Usage)> = events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::UsageReported { turn, cumulative } => Some((*turn, *cumulative)),
            _ => None,
        })
        .collect();
    let small = Usage {
        input: 3,
        output: 2,
        cost_usd: 52.0 / 1e6,
        ..Usage::default()
    };
    let large = Usage {
        cost_usd: 15_000.0 / 1e6,
        ..cached
    };
    let mut sum = small;
    let mut expected = vec![(small, sum)];
    sum += large;
    expected.push((large, sum));
    sum += small;
    expected.push((small, sum));
    assert_eq!(reported, expected);
    assert_eq!(scene.agent.usage(), sum);
}

#[tokio::test(start_paused = true)]
async fn a_notice_about_the_request_is_reported_once() {
    let told = |text: &str| {
        accepted()
            .event(ModelEvent::Notice("a tool is left out".to_owned()))
            .text(text)
            .stop(StopReason::End)
    };
    let scene = scene([told("one"), told("two")]);
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        notice "a tool is left out"
        text "one"
        usage 0/0 (0/0)
        assistant_message "one"
        turn_end end
        done
        "#,
    );
    let again = scene.prompt("hi").await;
    assert!(
        !again.iter().any(|event| event.starts_with("notice")),
        "{again:?}"
    );
}
