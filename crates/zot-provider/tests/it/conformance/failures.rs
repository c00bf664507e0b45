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
            let before = subject.server.requests().len();
            let mut outcome = subject.ask(&directive).await;
            let retries = take_retries(&mut outcome);
            assert!(outcome.events.is_empty());
            let tries = if status == 429 || status >= 500 { 3 } else { 1 };
            assert_eq!(subject.server.requests().len() - before, tries, "{status}");
            assert_eq!(retries, tries - 1, "{status}");
            let error = outcome.failed();
            assert_eq!(error.kind, kind, "{:?}: {error}", subject.wire);
            let start = format!("{}: http {status}: ", subject.wire.provider());
            assert!(error.to_string().starts_with(&start), "{error}");
            assert!(error.to_string().contains("refused [redacted]"), "{error}");
        }
    }
}

/// Removes the notes on requests that were sent again, and counts them.
fn take_retries(outcome: &mut Outcome) -> usize {
    let before = outcome.events.len();
    let is_retry = |event: &ModelEvent| matches!(event, ModelEvent::Retrying { .. });
    outcome.events.retain(|event| !is_retry(event));
    before - outcome.events.len()
}

/// An account without credit is distinguished from a rate limit, and the request is not sent again.
#[tokio::test]
async fn an_account_that_is_used_up() {
    let openai = r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#;
    let google_quota = |id: &str| {
        format!(
            r#"{{"error":{{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, please check your plan and billing details.","details":[{{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{{"quotaId":"{id}"}}]}}]}}}}"#
        )
    };
    let per_day = google_quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier");
    let per_minute = google_quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier");
    let quota = ModelErrorKind::InsufficientQuota;
    for (status, body, kind, tries) in [
        (429, openai, quota, 1),
        (
            400,
            r#"{"error":{"code":"billing_hard_limit_reached","message":"Billing hard limit has been reached"}}"#,
            quota,
            1,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
            quota,
            1,
        ),
        (
            402,
            r#"{"error":{"code":402,"message":"Insufficient credits"}}"#,
            quota,
            1,
        ),
        (402, "Insufficient Balance", quota, 1),
        (
            429,
            r#"{"error":{"type":"exceeded_current_quota_error","message":"suspended"}}"#,
            quota,
            1,
        ),
        (
            403,
            r#"{"code":"permission-denied","error":"Your team has either used all available credits or reached its monthly spending limit."}"#,
            quota,
            1,
        ),
        (429, &per_day, quota, 1),
        (429, &per_minute, ModelErrorKind::RateLimited, 3),
        (
            429,
            r#"{"error":{"type":"tokens","code":"rate_limit_exceeded","message":"Limit 30000"}}"#,
            ModelErrorKind::RateLimited,
            3,
        ),
        (
            403,
            "no such model for you",
            ModelErrorKind::Unauthorized,
            1,
        ),
    ] {
        for (wire, ours) in WIRES {
            let reply = testkit::Reply::status(status, body);
            let server = ModelServer::with_script(vec![reply; 3]);
            let client = client(wire, ours, wire.provider(), &server);
            let subject = Subject {
                wire,
                ours,
                server,
                client,
                tools: Vec::new(),
            };
            let error = subject.ask("hello").await.failed();
            assert_eq!(error.kind, kind, "{wire:?} {status} {body}");
            assert_eq!(subject.server.requests().len(), tries, "{wire:?} {body}");
        }
    }
}

/// `x-should-retry` wins over the status; `retry-after-ms` over `retry-after`; resets count where
/// no wait is named.
#[tokio::test]
async fn headers_decide_whether_and_when() {
    for subject in subjects() {
        for (directive, wait) in [
            ("errheaders:400:1:x-should-retry=true,retry-after-ms=7", 7),
            ("errheaders:408:1:retry-after-ms=7", 7),
            ("errheaders:409:1:retry-after-ms=7,retry-after=50", 7),
            ("errheaders:429:2:retry-after=0.012", 12),
            (
                "errheaders:429:1:x-ratelimit-reset-requests=1h,x-ratelimit-remaining-tokens=0,x-ratelimit-reset-tokens=15ms",
                15,
            ),
            ("errheaders:529:2:retry-after-ms=3", 3),
        ] {
            let mut outcome = subject.ask(directive).await;
            for event in &outcome.events {
                if let ModelEvent::Retrying { wait: told, .. } = event {
                    assert_eq!(*told, Duration::from_millis(wait), "{directive}");
                }
            }
            assert!(take_retries(&mut outcome) > 0, "{directive}");
            assert_eq!(text_of(&outcome.complete()), "beta ok", "{directive}");
        }
        let before = subject.server.requests().len();
        let error = subject
            .ask("errheaders:503:1:x-should-retry=false,retry-after=7")
            .await
            .failed();
        assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
        assert_eq!(subject.server.requests().len(), before + 1);
        let moment = "2100-01-01T00:00:00Z";
        let directive = format!(
            "errheaders:429:1:anthropic-ratelimit-requests-remaining=0,anthropic-ratelimit-requests-reset={moment}"
        );
        let error = subject.ask(&directive).await.failed();
        assert_eq!(error.kind, ModelErrorKind::RateLimited);
        assert!(error.retry_after > Some(Duration::from_secs(60)), "{error}");
        assert!(error.to_string().contains("asks to wait"), "{error}");
    }
}

/// Whatever the wire and the status, and in both forms the header has.
#[tokio::test]
async fn the_wait_a_provider_names_is_reported() {
    for subject in subjects() {
        for status in [429, 503, 529] {
            let error = subject.ask(&format!("errwait:{status}:120")).await.failed();
            assert_eq!(error.retry_after, Some(Duration::from_secs(120)), "{error}");
            let asked = "(the provider asks to wait 120 s)";
            assert!(error.to_string().ends_with(asked), "{error}");

            let date = "Fri, 01 Jan 2100 00:00:00 GMT";
            let error = subject.ask(&format!("errwait:{status}:{date}")).await;
            let wait = error.failed().retry_after;
            assert!(wait > Some(Duration::from_secs(120)), "{status}: {wait:?}");
        }
    }
}

#[tokio::test]
async fn an_error_inside_the_response() {
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
            error.to_string().contains("scripted mid-stream error"),
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
async fn passing_failures_are_reported_and_the_request_is_sent_again() {
    for subject in subjects() {
        // A connection that was kept and is stale now counts for nothing.
        for (directive, told) in [("errthen:502:1", 1), ("reset:1:say:1", 0)] {
            let before = subject.server.requests().len();
            let mut outcome = subject.ask(directive).await;
            assert_eq!(take_retries(&mut outcome), told, "{directive}");
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
        assert!(error.to_string().contains("larger than"), "{error}");
    }
}
