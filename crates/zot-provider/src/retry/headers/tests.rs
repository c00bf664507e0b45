use super::*;

fn headers(pairs: &[(&str, &str)]) -> RetryHeaders {
    let mut headers = RetryHeaders::default();
    for (name, value) in pairs {
        headers.add(name, value);
    }
    headers
}

fn now() -> Timestamp {
    "1994-11-06T08:49:30Z".parse().unwrap()
}

fn wait(pairs: &[(&str, &str)]) -> Option<f64> {
    let headers = headers(pairs);
    headers.retry_after(now()).map(|wait| wait.as_secs_f64())
}

#[test]
fn seconds_dates_and_milliseconds() {
    let seconds = |value| wait(&[("retry-after", value)]);
    assert_eq!(seconds(" 12 "), Some(12.0));
    assert_eq!(seconds("0.5"), Some(0.5));
    assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(7.0));
    assert_eq!(seconds("Sun, 06 Nov 1994 08:49:00 GMT"), Some(0.0));
    assert_eq!(seconds("-1"), None);
    assert_eq!(seconds("inf"), None);
    assert_eq!(seconds("soon"), None);
    let both = [("retry-after", "12"), ("retry-after-ms", "1500")];
    assert_eq!(wait(&both), Some(1.5));
    let unreadable = [("retry-after-ms", "soon"), ("retry-after", "12")];
    assert_eq!(wait(&unreadable), Some(12.0));
}

#[test]
fn the_server_may_decide() {
    let decided = |value| headers(&[("x-should-retry", value)]).should_retry();
    assert_eq!(decided("true"), Some(ShouldRetry::Yes));
    assert_eq!(decided("false"), Some(ShouldRetry::No));
    assert_eq!(decided("maybe"), None);
    assert_eq!(headers(&[]).should_retry(), None);
}

#[test]
fn resets_in_every_form() {
    let reset = |value: &str| {
        let headers = headers(&[("x-ratelimit-reset-requests", value)]);
        headers.limit_reset(now()).map(|wait| wait.as_secs_f64())
    };
    assert_eq!(reset("17ms"), Some(0.017));
    assert_eq!(reset("6m0s"), Some(360.0));
    assert_eq!(reset("1h2m3.5s"), Some(3723.5));
    assert_eq!(reset("20.25"), Some(20.25));
    assert_eq!(reset("1994-11-06T08:49:40Z"), Some(10.0));
    assert_eq!(reset("1994-11-06T08:49:00Z"), Some(0.0));
    let later = Timestamp::from_second(1_800_000_000).unwrap();
    for moment in ["1800000007", "1800000007000"] {
        let headers = headers(&[("x-ratelimit-reset", moment)]);
        assert_eq!(headers.limit_reset(later), Some(Duration::from_secs(7)));
    }
    for nonsense in ["", "soon", "5 parsecs", "-3", "s", "1.2.3s"] {
        assert_eq!(reset(nonsense), None, "{nonsense}");
    }
}

#[test]
fn the_limit_that_is_used_up_counts() {
    let openai = headers(&[
        ("x-ratelimit-limit-requests", "60"),
        ("x-ratelimit-remaining-requests", "59"),
        ("x-ratelimit-remaining-tokens", "0"),
        ("x-ratelimit-reset-requests", "1s"),
        ("x-ratelimit-reset-tokens", "6m0s"),
    ]);
    assert_eq!(openai.limit_reset(now()), Some(Duration::from_secs(360)));
    let anthropic = headers(&[
        ("anthropic-ratelimit-requests-remaining", "0"),
        ("anthropic-ratelimit-requests-reset", "1994-11-06T08:49:35Z"),
        ("anthropic-ratelimit-tokens-remaining", "2000"),
        ("anthropic-ratelimit-tokens-reset", "1994-11-06T08:50:00Z"),
    ]);
    assert_eq!(anthropic.limit_reset(now()), Some(Duration::from_secs(5)));
    // Too little was left of one of them, but it is not known of which.
    let unknown = headers(&[
        ("x-ratelimit-reset-requests", "1s"),
        ("x-ratelimit-reset-tokens", "6m0s"),
    ]);
    assert_eq!(unknown.limit_reset(now()), Some(Duration::from_secs(1)));
    assert_eq!(headers(&[("date", "x")]).limit_reset(now()), None);
}
