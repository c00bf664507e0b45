//! Answers that are broken off, by us at every event and by the server at every byte.

use super::*;

use zot_conversation::ModelErrorKind;

#[tokio::test]
async fn dropping_the_stream_at_any_event_closes_the_connection() {
    for subject in subjects() {
        let directive = "think:hm:slow:3:5";
        let whole = subject.ask(directive).await.complete();
        let messages = [user(directive)];
        for count in 0..whole.len() {
            let mut stream = subject.client.stream(subject.request(&messages));
            for expected in &whole[..count] {
                let event = next(&mut stream).await.unwrap().unwrap();
                assert_eq!(&event, expected, "{:?}", subject.wire);
            }
            drop(stream);
            subject.until_idle().await;
        }
        // Nothing that was broken off is in the way of what follows.
        assert_eq!(subject.ask(directive).await.complete(), whole);
    }
}

#[tokio::test]
async fn dropping_the_stream_before_the_response_begins() {
    for subject in subjects() {
        let messages = [user("hang")];
        let mut stream = subject.client.stream(subject.request(&messages));
        let deadline = Instant::now() + PATIENCE;
        while subject.server.responses_in_progress() == 0 {
            assert!(Instant::now() < deadline, "the request never arrived");
            let waiting = tokio::time::timeout(Duration::from_millis(5), next(&mut stream));
            assert!(waiting.await.is_err());
        }
        drop(stream);
        subject.until_idle().await;
    }
}

#[tokio::test]
async fn a_connection_cut_at_any_byte_is_an_error_that_keeps_what_came() {
    for subject in subjects() {
        let directive = r#"think:hm:texttool:read:{"path":"é"}"#;
        let whole = without_ids(&subject.ask(directive).await.complete());
        let stop = whole.last().cloned();
        let mut whole_from = None;
        for cut in 0.. {
            let before = subject.server.requests().len();
            let outcome = subject.ask(&format!("cutat:{cut}:{directive}")).await;
            assert_eq!(
                subject.server.requests().len(),
                before + 1,
                "never sent twice"
            );
            let events = without_ids(&outcome.events);
            match outcome.error {
                Some(error) => {
                    let wire = subject.wire;
                    assert_eq!(
                        error.kind,
                        ModelErrorKind::Stream,
                        "{wire:?} at {cut}: {error}"
                    );
                    assert_eq!(events, whole[..events.len()], "{wire:?} at {cut}");
                    assert_eq!(whole_from, None, "{wire:?} at {cut}: more is not less");
                }
                None => {
                    assert_eq!(events.last().cloned(), stop);
                    let from = *whole_from.get_or_insert(cut);
                    // What follows the end of a response is a few hundred bytes of counts.
                    if events == whole && cut > from + 400 {
                        break;
                    }
                }
            }
            subject.server.reset();
        }
        let from = whole_from.unwrap();
        assert!(from > 200, "{:?}: whole from {from}", subject.wire);
    }
}

#[tokio::test]
async fn a_response_that_ends_without_its_end_marker() {
    for subject in subjects() {
        let outcome = subject.ask("cut").await;
        assert_eq!(text_of(&outcome.events), "alpha beta gamm ");
        let error = outcome.failed();
        assert_eq!(error.kind, ModelErrorKind::Stream, "{error}");
        assert!(error.to_string().contains("broke off"), "{error}");
    }
}
