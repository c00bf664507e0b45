use super::*;

fn status(code: u16, retry_after: Option<u64>) -> Failure {
    Failure::Status {
        status: StatusCode::from_u16(code).unwrap(),
        retry_after: retry_after.map(Duration::from_secs),
    }
}

#[test]
fn policy() {
    let short = Some(Duration::from_millis(250));
    let long = Some(Duration::from_millis(750));
    for failure in [
        Failure::Connection,
        status(502, None),
        status(503, None),
        status(503, Some(0)),
        status(504, None),
    ] {
        assert_eq!(delay(0, failure, Patience::Short), short, "{failure:?}");
        assert_eq!(delay(1, failure, Patience::Short), long, "{failure:?}");
        assert_eq!(delay(2, failure, Patience::Short), None, "{failure:?}");
    }
    for code in [400, 401, 403, 404, 429, 500, 529] {
        assert_eq!(
            delay(0, status(code, Some(1)), Patience::Short),
            None,
            "{code}"
        );
    }
    assert_eq!(
        delay(0, status(503, Some(3)), Patience::Short),
        Some(Duration::from_secs(3))
    );
    assert_eq!(delay(0, status(503, Some(11)), Patience::Short), None);
    assert_eq!(delay(0, Failure::Final, Patience::Short), None);
}

#[test]
fn rate_limits_are_waited_for_where_somebody_watches() {
    let delay = |attempt, failure| delay(attempt, failure, Patience::Long);
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    for code in [429, 503, 529] {
        assert_eq!(delay(0, status(code, Some(30))), seconds(30), "{code}");
        assert_eq!(delay(0, status(code, Some(91))), None, "{code}");
        assert_eq!(delay(2, status(code, None)), seconds(2), "{code}");
        assert_eq!(delay(4, status(code, Some(0))), seconds(10), "{code}");
        assert_eq!(delay(5, status(code, None)), None, "{code}");
    }
    for failure in [status(400, Some(1)), status(500, None), Failure::Final] {
        assert_eq!(delay(0, failure), None, "{failure:?}");
    }
    assert_eq!(delay(2, Failure::Connection), None);
}

#[test]
fn reads_seconds_and_dates() {
    let now: Timestamp = "1994-11-06T08:49:30Z".parse().unwrap();
    let seconds = |value| retry_after(value, now).map(|wait| wait.as_secs_f64());
    assert_eq!(seconds(" 12 "), Some(12.0));
    assert_eq!(seconds("0.5"), Some(0.5));
    assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(7.0));
    assert_eq!(seconds("Sun, 06 Nov 1994 08:49:00 GMT"), Some(0.0));
    assert_eq!(seconds("-1"), None);
    assert_eq!(seconds("inf"), None);
    assert_eq!(seconds("soon"), None);
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
