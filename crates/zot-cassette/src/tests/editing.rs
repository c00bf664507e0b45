use std::os::unix::fs::PermissionsExt as _;

use zot_conversation::{ModelError, ModelErrorKind, ModelEvent};

use super::support::{Cassette, Scripted, Step, Talk, answer, drain, event, take, text};
use crate::{CassetteError, ExchangeRange, Redactor, ReplayMode, Timing, inspect, redact, trim};

/// Four exchanges with a side question, an error and an abort.
async fn varied(cassette: &Cassette) -> Vec<Talk> {
    let failure = ModelError::new(ModelErrorKind::Unavailable, "gone");
    let model = cassette.record_with(
        Scripted::new([
            answer(&["a", "b"]),
            vec![event(ModelEvent::Start), Step::Wait(3), Step::Fail(failure)],
            answer(&["SUMMARY"]),
            vec![event(ModelEvent::Start), text("part"), Step::Hang],
        ]),
        // Nothing is taken out while it is recorded.
        Redactor::NONE,
    );
    let mut talks = Vec::new();
    let mut talk = Talk::new();
    let hold = |talk: &Talk| {
        let mut held = Talk::new();
        held.system.clone_from(&talk.system);
        held.messages.clone_from(&talk.messages);
        held.tools.clone_from(&talk.tools);
        held
    };
    talk.say("one");
    drain(&model, &talk).await;
    talks.push(hold(&talk));
    talk.say("two: ghp_abcdefghijklmnopqrst0123456789");
    drain(&model, &talk).await;
    talks.push(hold(&talk));
    let mut aside = Talk::new();
    aside.system = "Summarise.".to_owned();
    aside.say("everything");
    drain(&model, &aside).await;
    talks.push(hold(&aside));
    talk.say("three");
    take(&model, &talk, 2).await;
    talks.push(talk);
    talks
}

#[tokio::test]
async fn an_inspection_tells_what_is_there() {
    let cassette = Cassette::new();
    varied(&cassette).await;
    let found = inspect(&cassette.path, &Redactor::new(None, [])).unwrap();
    assert_eq!(found.header.model, "m");
    let summary: Vec<_> = found
        .exchanges
        .iter()
        .map(|e| {
            (
                e.messages,
                e.new_messages,
                e.events,
                e.ending.as_str(),
                e.secrets,
            )
        })
        .collect();
    assert_eq!(
        summary,
        [
            (1, 1, 5, "end", 0),
            (2, 1, 1, "error: unavailable", 1),
            (1, 1, 4, "end", 0),
            (3, 1, 2, "aborted", 0),
        ]
    );
    assert_eq!(found.exchanges[0].usage.output, 2);
}

#[tokio::test]
async fn redacting_afterwards_is_as_good() {
    let cassette = Cassette::new();
    let talks = varied(&cassette).await;
    let mode = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(&cassette.path, mode).unwrap();
    let mut redactor = Redactor::new(None, []);
    redactor.add_text("part");
    assert_eq!(redact(&cassette.path, &redactor).unwrap(), 4);
    let text = cassette.text();
    assert!(!text.contains("ghp_") && !text.contains("part"), "{text}");
    let found = inspect(&cassette.path, &redactor).unwrap();
    assert!(found.exchanges.iter().all(|exchange| exchange.secrets == 0));
    let permissions = std::fs::metadata(&cassette.path).unwrap().permissions();
    assert_eq!(permissions.mode() & 0o777, 0o644, "the file's mode stays");
    let beside = cassette.path.parent().unwrap().read_dir().unwrap();
    assert_eq!(beside.count(), 1, "nothing is left behind");
    // What was taken out matches anything, so the run still replays.
    let model = cassette.replay(ReplayMode::Strict);
    for talk in &talks[..3] {
        let (_, error) = drain(&model, talk).await;
        let message = error.map(|error| error.message).unwrap_or_default();
        assert!(!message.contains("differs"), "{message}");
    }
}

#[tokio::test]
async fn names_of_fields_are_no_secrets() {
    let cassette = Cassette::new();
    varied(&cassette).await;
    let environment = [
        "messages",
        "max_output",
        "description",
        "parameters",
        "tool_call",
    ];
    let environment = environment.map(|word| ("SORT_KEY".to_owned(), word.to_owned()));
    let redactor = Redactor::new(None, environment);
    redact(&cassette.path, &redactor).unwrap();
    assert_eq!(
        inspect(&cassette.path, &redactor).unwrap().exchanges.len(),
        4
    );
}

#[tokio::test]
async fn trimming_keeps_whole_requests() {
    for (first, last) in [(1, 2), (2, 4), (3, 3), (4, 4), (2, usize::MAX)] {
        let cassette = Cassette::new();
        let talks = varied(&cassette).await;
        let kept = trim(&cassette.path, ExchangeRange { first, last }, Timing::Drop);
        let kept = kept.unwrap();
        assert_eq!(kept, last.min(4) - first + 1);
        assert!(!cassette.text().contains("\"ms\":3"));
        let exchanges = cassette.exchanges();
        assert!(
            exchanges
                .iter()
                .all(|exchange| exchange["duration_ms"] == 0)
        );
        let found = inspect(&cassette.path, &Redactor::NONE).unwrap();
        assert_eq!(found.exchanges.len(), kept);
        let model = cassette.replay(ReplayMode::Strict);
        for talk in talks.iter().skip(first - 1).take(kept) {
            let (_, error) = take(&model, talk, 1).await;
            assert!(error.is_none(), "{error:?}");
        }
    }
}

#[tokio::test]
async fn trimming_does_not_write_more_than_it_must() {
    let cassette = Cassette::new();
    let model = cassette.record(Scripted::new((0..50).map(|_| answer(&["ok"]))));
    let mut talk = Talk::new();
    for _ in 0..50 {
        talk.say(&"word ".repeat(50));
        drain(&model, &talk).await;
    }
    let before = cassette.text();
    trim(&cassette.path, ExchangeRange::ALL, Timing::Keep).unwrap();
    assert_eq!(cassette.text(), before, "nothing to do changes nothing");
}

#[tokio::test]
async fn a_torn_cassette_can_be_saved() {
    let cassette = Cassette::new();
    varied(&cassette).await;
    let text = cassette.text();
    let torn = &text[..text.len() - 20];
    std::fs::write(&cassette.path, torn).unwrap();
    let keep = |first, last| ExchangeRange { first, last };
    let refused = trim(&cassette.path, ExchangeRange::ALL, Timing::Keep);
    assert!(matches!(refused, Err(CassetteError::Line { line: 5, .. })));
    assert_eq!(cassette.text(), torn, "a failure changes nothing");
    assert_eq!(trim(&cassette.path, keep(1, 3), Timing::Keep).unwrap(), 3);
    assert!(text.starts_with(&cassette.text()));
    let nothing = trim(&cassette.path, keep(9, 12), Timing::Keep);
    assert!(matches!(nothing, Err(CassetteError::NothingToKeep { .. })));
    assert!(text.starts_with(&cassette.text()));
}
