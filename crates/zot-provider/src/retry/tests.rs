use super::*;

fn status(code: u16, retry_after: Option<u64>) -> Failure {
    Failure::Status {
        status: code,
        retry_after: retry_after.map(Duration::from_secs),
        should_retry: None,
    }
}

fn milliseconds(milliseconds: u64) -> NextAttempt {
    NextAttempt::After(Duration::from_millis(milliseconds))
}

#[test]
fn statuses_and_connections_as_the_official_sdks_have_it() {
    let next = |failures, failure| next_attempt(failures, failure, Patience::STANDARD, 0.0);
    for failure in [
        Failure::Connection,
        status(408, None),
        status(409, None),
        status(429, None),
        status(500, None),
        status(502, None),
        status(503, Some(0)),
        status(504, None),
        status(529, None),
    ] {
        assert_eq!(next(0, failure), milliseconds(500), "{failure:?}");
        assert_eq!(next(1, failure), milliseconds(1000), "{failure:?}");
        assert_eq!(next(2, failure), NextAttempt::None, "{failure:?}");
    }
    for code in [400, 401, 402, 403, 404, 413, 422] {
        assert_eq!(next(0, status(code, Some(1))), NextAttempt::None, "{code}");
    }
    assert_eq!(next(0, Failure::NoResponse), NextAttempt::None);
    assert_eq!(next(0, Failure::NoCredit), NextAttempt::None);
}

#[test]
fn waits_that_servers_ask_for() {
    let next = |failures, seconds| {
        next_attempt(
            failures,
            status(429, Some(seconds)),
            Patience::STANDARD,
            0.5,
        )
    };
    assert_eq!(next(0, 3), milliseconds(3000));
    assert_eq!(next(1, 60), milliseconds(60_000));
    let too_long = NextAttempt::WaitTooLong(Duration::from_secs(61));
    assert_eq!(next(0, 61), too_long);
    assert_eq!(next(2, 61), too_long);
}

#[test]
fn the_server_decides_where_it_does() {
    let decided = |code, should_retry| {
        let failure = Failure::Status {
            status: code,
            retry_after: None,
            should_retry: Some(should_retry),
        };
        next_attempt(0, failure, Patience::STANDARD, 0.0)
    };
    assert_eq!(decided(400, ShouldRetry::Yes), milliseconds(500));
    assert_eq!(decided(503, ShouldRetry::No), NextAttempt::None);
}

#[test]
fn the_chat_is_more_patient() {
    let next = |failures, failure| next_attempt(failures, failure, Patience::LONG, 0.0);
    assert_eq!(next(4, status(429, None)), milliseconds(8000));
    assert_eq!(next(5, status(429, None)), NextAttempt::None);
    assert_eq!(next(0, status(529, Some(90))), milliseconds(90_000));
    let too_long = NextAttempt::WaitTooLong(Duration::from_secs(91));
    assert_eq!(next(0, status(529, Some(91))), too_long);
    assert_eq!(next(0, status(400, None)), NextAttempt::None);
}

#[test]
fn delays_double_up_to_a_limit_and_jitter_shortens_them() {
    let seconds = |failures, jitter| delay(failures, jitter).as_secs_f64();
    let doubled: Vec<f64> = (0..7).map(|failures| seconds(failures, 0.0)).collect();
    assert_eq!(doubled, [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]);
    assert_eq!(seconds(100, 0.0), 8.0);
    assert_eq!(seconds(1, 1.0), 0.75);
    assert_eq!(seconds(1, 0.5), 0.875);
    let jitters: Vec<f64> = (0..64).map(|_| random_jitter()).collect();
    assert!(jitters.iter().all(|jitter| (0.0..=1.0).contains(jitter)));
    let lowest = jitters.iter().copied().fold(1.0, f64::min);
    let highest = jitters.iter().copied().fold(0.0, f64::max);
    assert!(highest > lowest, "{jitters:?}");
}

#[test]
fn reads_the_delay_in_a_body() {
    let error = r#"{"error":{"code":429,"details":[
        {"@type":"type.googleapis.com/google.rpc.QuotaFailure"},
        {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"20.5s"}]}}"#;
    let wait = Some(Duration::from_millis(20_500));
    assert_eq!(retry_delay(error.as_bytes()), wait);
    assert_eq!(retry_delay(format!("[{error}]").as_bytes()), wait);
    for other in [
        "",
        "slow down",
        "[]",
        r#"{"error":{"details":[{"retryDelay":"soon"}]}}"#,
    ] {
        assert_eq!(retry_delay(other.as_bytes()), None, "{other}");
    }
}

#[test]
fn the_document_shows_the_table() {
    let document = include_str!("../../../../docs/providers.md");
    for rule in &RULES {
        let retried = if rule.is_retried { "yes" } else { "no" };
        let row = format!("| {} | {retried} |", rule.failure);
        assert!(document.contains(&row), "docs/providers.md lacks {row:?}");
    }
    let rules = document.split("| failure | sent again |").nth(1).unwrap();
    let rows = rules
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    assert_eq!(
        rows.count(),
        RULES.len(),
        "docs/providers.md has other rows"
    );
    let (standard, long) = (Patience::STANDARD, Patience::LONG);
    for row in [
        format!(
            "| attempts in all | {} | {} |",
            standard.max_attempts, long.max_attempts
        ),
        format!(
            "| longest wait that a server may ask for | {} s | {} s |",
            standard.max_server_wait.as_secs(),
            long.max_server_wait.as_secs()
        ),
        format!(
            "| wait, where the server names none | {} s, doubled each time, at most {} s, up to {} % less at random | the same |",
            FIRST_RETRY_DELAY.as_secs_f64(),
            MAX_RETRY_DELAY.as_secs(),
            MAX_RETRY_JITTER * 100.0
        ),
    ] {
        assert!(document.contains(&row), "docs/providers.md lacks {row:?}");
    }
}
