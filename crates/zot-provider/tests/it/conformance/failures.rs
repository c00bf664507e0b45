//! Errors, refusals and what is tried again.

use super::*;

use zot_conversation::ModelErrorKind;

#[tokio::test]
async fn statuses() {
    for subject in subjects() {
        for (status, kind) in [
            (400, ModelErrorKind::Invalid),
            (401, ModelErrorKind::Unauthorized),
            (403, ModelErrorKind::Unauthorized),
            (404, ModelErrorKind::Invalid),
            (429, ModelErrorKind::RateLimited),
            (500, ModelErrorKind::Unavailable),
            (529, ModelErrorKind::Unavailable),
        ] {
            let directive = format!("err:{status}:refused {KEY}");
            let outcome = subject.ask(&directive).await;
            assert!(outcome.events.is_empty());
            let error = outcome.failed();
            assert_eq!(error.kind, kind, "{:?}: {error}", subject.wire);
            let start = format!("{}: http {status}: ", subject.wire.provider());
            assert!(error.message.starts_with(&start), "{error}");
            assert!(error.message.contains("refused [redacted]"), "{error}");
        }
        assert_eq!(subject.server.requests().len(), 7, "none is tried again");
    }
}

/// Whatever the wire and the status, and in both forms the header has.
#[tokio::test]
async fn the_wait_a_provider_names_is_reported() {
    for subject in subjects() {
        for status in [429, 503, 529] {
            let error = subject.ask(&format!("errwait:{status}:20")).await.failed();
            assert_eq!(error.retry_after, Some(Duration::from_secs(20)), "{error}");

            let date = "Fri, 01 Jan 2100 00:00:00 GMT";
            let error = subject.ask(&format!("errwait:{status}:{date}")).await;
            let wait = error.failed().retry_after;
            assert!(wait > Some(Duration::from_secs(20)), "{status}: {wait:?}");
        }
        let error = subject.ask("errwait:503:soon").await.failed();
        assert_eq!(error.retry_after, None);
    }
}

#[tokio::test]
async fn an_error_inside_the_answer() {
    for subject in subjects() {
        let outcome = subject.ask("errmid").await;
        assert_eq!(
            text_of(&outcome.events),
            "alpha beta ",
            "what was said is kept"
        );
        let error = outcome.failed();
        assert_eq!(
            error.kind,
            ModelErrorKind::Unavailable,
            "{:?}",
            subject.wire
        );
        assert!(
            error.message.contains("scripted mid-stream error"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_conversation_that_does_not_fit() {
    for subject in subjects() {
        let error = subject.ask("overflow:1:say:1").await.failed();
        assert_eq!(error.kind, ModelErrorKind::ContextOverflow, "{error}");
        subject.ask("overflow:1:say:1").await.complete();
    }
}

#[tokio::test]
async fn passing_failures_are_told_and_the_request_is_sent_again() {
    for subject in subjects() {
        // A connection that was kept and is stale now counts for nothing.
        for (directive, told) in [("errthen:502:1", 1), ("reset:1:say:1", 0)] {
            let before = subject.server.requests().len();
            let mut outcome = subject.ask(directive).await;
            let is_retry = |event: &ModelEvent| matches!(event, ModelEvent::Retrying { .. });
            let retries: Vec<_> = outcome
                .events
                .extract_if(..1, |event| is_retry(event))
                .collect();
            assert_eq!(retries.len(), told, "{retries:?}");
            outcome.complete();
            let sent = subject.server.requests().len() - before;
            assert_eq!(sent, 2, "{:?} {directive}", subject.wire);
        }
    }
}

#[tokio::test]
async fn malformed_events_are_skipped() {
    for subject in subjects() {
        let events = subject.ask("garbage").await.complete();
        assert_eq!(
            text_of(&events),
            "alpha beta gamm delta ",
            "{:?}",
            subject.wire
        );
    }
}

#[tokio::test]
async fn an_event_without_end_is_refused() {
    for subject in subjects() {
        let error = subject.ask("flood:9000000").await.failed();
        assert_eq!(error.kind, ModelErrorKind::Stream, "{error}");
        assert!(error.message.contains("larger than"), "{error}");
    }
}
