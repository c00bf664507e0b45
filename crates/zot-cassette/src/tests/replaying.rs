use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use zot_conversation::{
    ContentBlock, Message, Model as _, ModelError, ModelErrorKind, ModelEvent, ReasoningEffort,
    Role, Timestamp, ToolCallId, ToolImages, ToolResult,
};

use super::support::{
    Cassette, Scripted, Step, Talk, answer, drain, event, refusal, take, text, tool,
};
use crate::{CassetteError, ReplayMode, ReplayModel, ReplayPace};

/// Records `turns` short exchanges and returns the talk as it was held.
async fn recorded(cassette: &Cassette, turns: usize) -> Talk {
    let model = cassette.record(Scripted::new((0..turns).map(|_| answer(&["o", "k"]))));
    let mut talk = Talk::new();
    for turn in 0..turns {
        talk.say(&format!("prompt {turn}"));
        drain(&model, &talk).await;
    }
    talk
}

/// The same talk as other messages.
fn again(talk: &Talk) -> Talk {
    let mut other = Talk::new();
    for message in &talk.messages {
        other.push(Message::clone(message));
    }
    other
}

#[tokio::test]
async fn the_same_requests_get_the_same_answers() {
    let cassette = Cassette::new();
    let talk = recorded(&cassette, 5).await;
    for mode in [ReplayMode::Strict, ReplayMode::ByOrder] {
        let model = cassette.replay(mode);
        assert_eq!(model.tool_images(), ToolImages::NeedMirror);
        let whole = again(&talk);
        let mut growing = Talk::new();
        for message in whole.messages {
            growing.messages.push(message);
            let (events, error) = drain(&model, &growing).await;
            assert!(error.is_none(), "{error:?}");
            assert_eq!(events[1], ModelEvent::TextDelta("o".to_owned()));
            assert_eq!(events.len(), 5);
        }
        let message = refusal(&model, &growing).await;
        assert!(
            message.ends_with(
                "holds 5 exchanges and all have been played: request 6 was not recorded"
            ),
            "{message}"
        );
    }
}

#[tokio::test]
async fn what_differs_is_named_and_can_be_put_right() {
    let cassette = Cassette::new();
    let talk = recorded(&cassette, 2).await;
    let model = cassette.replay(ReplayMode::Strict);
    let first = |talk: &Talk| {
        let mut first = again(talk);
        first.messages.truncate(1);
        first
    };
    let check = async |change: fn(&mut Talk), expected: &str| {
        let mut changed = first(&talk);
        change(&mut changed);
        assert_eq!(refusal(&model, &changed).await, expected);
    };
    check(
        |talk| talk.model = "n".to_owned(),
        r#"exchange 1 differs from the recording at model: recorded "m", now "n""#,
    )
    .await;
    check(
        |talk| talk.system.push_str("\nBe quick."),
        r#"exchange 1 differs from the recording at system: recorded "Be good.\nWorking directory: <varies>\nCurrent date: <varies>", now "…rrent date: <varies>\nBe quick.""#,
    )
    .await;
    check(
        |talk| talk.tools.push(tool("write")),
        r#"exchange 1 differs from the recording at tools[1]: recorded nothing, now {"description":"does things","name":"write","parameters":{"t…"#,
    )
    .await;
    check(
        |talk| {
            talk.messages.clear();
            talk.say("prompt one");
        },
        r#"exchange 1 differs from the recording at messages[0].content[0].text: recorded "prompt 0", now "prompt one""#,
    )
    .await;
    check(
        |talk| talk.say("more"),
        r#"exchange 1 differs from the recording at messages[1]: recorded nothing, now {"content":[{"text":"more","type":"text"}],"role":"user"}"#,
    )
    .await;
    // The exchange is still due.
    let mut right = first(&talk);
    assert!(drain(&model, &right).await.1.is_none());
    right.say("another second prompt");
    assert_eq!(
        refusal(&model, &right).await,
        r#"exchange 2 differs from the recording at messages[1].content[0].text: recorded "prompt 1", now "another second prompt""#
    );
    // A message that was compared before is not taken on trust.
    let mut replaced = again(&talk);
    replaced.messages[0] = Arc::new(Message::user_text("prompt X", Timestamp::now()));
    assert!(refusal(&model, &replaced).await.contains("messages[0]"));
    assert!(drain(&model, &again(&talk)).await.1.is_none());
}

#[tokio::test]
async fn options_count_too() {
    let cassette = Cassette::new();
    let talk = recorded(&cassette, 1).await;
    let model = cassette.replay(ReplayMode::Strict);
    let mut request = talk.request();
    request.reasoning = Some(ReasoningEffort::High);
    let mut stream = model.stream(request);
    let error = std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await;
    assert_eq!(
        error.unwrap().unwrap_err().message,
        r#"exchange 1 differs from the recording at reasoning: recorded nothing, now "high""#
    );
}

#[tokio::test]
async fn what_differs_by_nature_does_not_count() {
    let cassette = Cassette::new();
    let model = cassette.record(Scripted::new([answer(&["ok"]), answer(&["ok"])]));
    let bash = |output: &str| Message {
        role: Role::Tool,
        content: vec![ContentBlock::ToolResult(ToolResult {
            call_id: ToolCallId::from("1"),
            is_error: false,
            content: vec![ContentBlock::Text(output.to_owned())],
        })],
        time: Timestamp::now(),
    };
    let mut talk = Talk::new();
    talk.say("key sk-abcdefghijklmnop1234");
    talk.push(bash(
        "/home/ann\n[exit 0]  Took 0.1s\nfull output: /tmp/zot-bash-12.log]",
    ));
    drain(&model, &talk).await;
    drain(&model, &talk).await;

    let mut now = Talk::new();
    now.system = "Be good.\nWorking directory: /ci\nCurrent date: 2030-12-31".to_owned();
    now.say("key sk-another-key-0123456789");
    now.push(bash(
        "/ci\n[exit 0]  Took 2.0s\nfull output: /var/zot-bash-f0.log]",
    ));
    let model = cassette.replay(ReplayMode::Strict);
    for _ in 0..2 {
        let (_, error) = drain(&model, &now).await;
        assert!(error.is_none(), "{error:?}");
    }
}

#[tokio::test]
async fn errors_come_again() {
    let cassette = Cassette::new();
    let kinds = [
        ModelErrorKind::Unauthorized,
        ModelErrorKind::RateLimited,
        ModelErrorKind::ContextOverflow,
        ModelErrorKind::Invalid,
        ModelErrorKind::Unavailable,
        ModelErrorKind::Connection,
        ModelErrorKind::Stream,
    ];
    let wait = Some(Duration::from_millis(250));
    let script = |kind| {
        let error = ModelError::new(kind, format!("{kind:?}")).with_retry_after(wait);
        vec![event(ModelEvent::Start), text("a"), Step::Fail(error)]
    };
    let recording = cassette.record(Scripted::new(kinds.map(script)));
    let mut talk = Talk::new();
    talk.say("one");
    for _ in kinds {
        drain(&recording, &talk).await;
    }
    let model = cassette.replay(ReplayMode::Strict);
    for kind in kinds {
        let (events, error) = drain(&model, &talk).await;
        assert_eq!(events.len(), 2);
        let error = error.unwrap();
        assert_eq!((error.kind, error.message), (kind, format!("{kind:?}")));
        assert_eq!(error.retry_after, wait);
    }
}

#[tokio::test(start_paused = true)]
async fn an_aborted_exchange_waits_to_be_aborted_again() {
    let cassette = Cassette::new();
    let script = vec![event(ModelEvent::Start), text("a"), text("b"), Step::Hang];
    let recording = cassette.record(Scripted::new([script]));
    let mut talk = Talk::new();
    talk.say("one");
    take(&recording, &talk, 2).await;

    let model = cassette.replay(ReplayMode::Strict);
    let (events, error) = drain(&model, &talk).await;
    assert_eq!(events.len(), 2, "what was received, and no more");
    let message = error.expect("it does not hang for ever").message;
    assert!(message.starts_with("exchange 1 was aborted"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn real_time_takes_as_long_as_it_took() {
    let cassette = Cassette::new();
    let header = cassette.record(Scripted::new([]));
    drop(header);
    let line = concat!(
        r#"{"exchange":1,"request":{"model":"m","reasoning":null,"max_output":100,"system":"s","messages":[]},"#,
        r#""events":[{"ms":40,"type":"start"},{"ms":100,"type":"text","deltas":["a","b"]},"#,
        r#"{"ms":1500,"type":"stop","reason":"end"}],"outcome":"complete","duration_ms":2000}"#,
    );
    std::fs::write(&cassette.path, format!("{}{line}\n", cassette.text())).unwrap();
    let model = ReplayModel::open(&cassette.path, ReplayMode::ByOrder, ReplayPace::RealTime);
    let model = model.unwrap();
    let talk = Talk::new();
    let started = Instant::now();
    let mut times = Vec::new();
    let mut stream = model.stream(talk.request());
    loop {
        let event = std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await;
        times.push(started.elapsed().as_millis());
        if event.is_none() {
            break;
        }
    }
    assert_eq!(times, [40, 100, 100, 1500, 2000]);
}

#[tokio::test]
async fn a_broken_cassette_says_where() {
    let cassette = Cassette::new();
    let talk = recorded(&cassette, 3).await;
    let text = cassette.text();
    let lines: Vec<&str> = text.lines().collect();
    let check = async |content: String, expected: &str| {
        std::fs::write(&cassette.path, content).unwrap();
        let model = cassette.replay(ReplayMode::Strict);
        let mut growing = Talk::new();
        let mut last = None;
        for message in &talk.messages {
            growing.messages.push(Arc::clone(message));
            last = drain(&model, &growing).await.1;
        }
        let message = last.map(|error| error.message).unwrap_or_default();
        assert!(message.contains(expected), "{message}");
    };
    let joined = |lines: &[&str]| lines.join("\n") + "\n";
    check(joined(&lines), "").await;
    check(lines.join("\n"), "").await;
    let last = lines[3];
    check(
        joined(&lines[..3]) + &last[..last.len() / 2],
        "line 4: the line is cut off",
    )
    .await;
    check(
        joined(&[lines[0], lines[1], lines[3], lines[3]]),
        "line 3: exchange 3 where exchange 2 is due",
    )
    .await;
}

#[test]
fn what_is_no_cassette_is_refused() {
    let cassette = Cassette::new();
    let open = || ReplayModel::open(&cassette.path, ReplayMode::Strict, ReplayPace::FullSpeed);
    assert!(matches!(open(), Err(CassetteError::Read { .. })));
    for text in ["", "hello\n", "{}\n", "{\"type\":\"meta\"}\n"] {
        std::fs::write(&cassette.path, text).unwrap();
        assert!(matches!(open(), Err(CassetteError::NotACassette { .. })));
    }
    std::fs::write(&cassette.path, "{\"zot_cassette\":2}\n").unwrap();
    assert!(matches!(open(), Err(CassetteError::TooNew { .. })));
    std::fs::write(&cassette.path, "{\"zot_cassette\":1}\n").unwrap();
    assert!(matches!(open(), Err(CassetteError::Line { line: 1, .. })));
}
