use std::time::Duration;

use serde_json::{Value, json};
use testkit::postgres::Shutdown;
use tokio::time::sleep;

use super::{HoldTimes, Setup, append, ask, config, hold, short_times, start, start_with};

fn held_append(channel: &str, call: &str, owner: &str, fence: i64) -> Value {
    let mut request = append(channel, call, call);
    request["owner"] = json!(owner);
    request["fence"] = json!(fence);
    request
}

#[tokio::test]
async fn only_the_owner_writes_and_hanging_up_releases() {
    let setup = Setup::new().await;
    // Long enough that it never expires here.
    let times = HoldTimes {
        lease: Duration::from_secs(60),
        ..short_times()
    };
    let mem = start_with(&config(&setup.database.url), times);
    let other = start_with(&config(&setup.database.url), times);
    let (held, call) = hold(&mem, "c", "me", None).await;
    assert_eq!(held, json!({ "fence": 1, "type": "held" }));
    for _ in 0..2 {
        let lease = || setup.sql("select lease_until from zino_channel");
        let before = lease();
        while lease() == before {
            sleep(Duration::from_millis(20)).await;
        }
    }
    let (refused, _) = hold(&other, "c", "you", None).await;
    assert_eq!(refused["code"], "channel_busy", "{refused}");
    let stale = ask(&other, held_append("c", "1", "you", 1)).await;
    assert_eq!(stale["code"], "moved", "{stale}");
    let stale = ask(&other, held_append("c", "1", "me", 2)).await;
    assert_eq!(stale["code"], "moved", "{stale}");
    let stored = ask(&other, held_append("c", "1", "me", 1)).await;
    assert_eq!(stored, json!({ "sequence": 1, "type": "ok" }));
    drop(call);
    let (held, call) = hold(&other, "c", "you", None).await;
    assert_eq!(held, json!({ "fence": 3, "type": "held" }));
    let stale = ask(&mem, held_append("c", "2", "me", 1)).await;
    assert_eq!(stale["code"], "moved");
    // What was stored is stored: the same call gets the same answer.
    let again = ask(&mem, held_append("c", "1", "me", 1)).await;
    assert_eq!(again, json!({ "sequence": 1, "type": "ok" }));
    drop(call);
    let messages = "select count(*), max(sequence) from zino_entry";
    assert_eq!(setup.sql(messages), "1|1");
}

#[tokio::test]
async fn an_expired_lease_is_refused_even_before_it_is_taken_over() {
    let setup = Setup::new().await;
    setup.sql("select zino_take('c', 'me', null, 'dead', '50 ms')");
    sleep(Duration::from_millis(100)).await;
    let mem = setup.start();
    let late = ask(&mem, held_append("c", "1", "me", 1)).await;
    assert_eq!(late["code"], "moved", "{late}");
    // Its owner may continue it through another service, since nobody has taken it over.
    let (held, call) = hold(&mem, "c", "me", Some(1)).await;
    assert_eq!(held, json!({ "fence": 1, "type": "held" }));
    let stored = ask(&mem, held_append("c", "1", "me", 1)).await;
    assert_eq!(stored, json!({ "sequence": 1, "type": "ok" }));
    drop(call);
    let (held, _call) = hold(&mem, "c", "you", None).await;
    assert_eq!(held["fence"], 3);
    let (moved, _) = hold(&mem, "c", "me", Some(1)).await;
    assert_eq!(moved["code"], "moved", "{moved}");
}

#[tokio::test]
async fn the_append_of_a_hold_ends_it() {
    let setup = Setup::new().await;
    let mem = setup.start();
    let (_, _still_open) = hold(&mem, "c", "me", None).await;
    let stored = ask(&mem, held_append("c", "1", "me", 1)).await;
    assert_eq!(stored["sequence"], 1, "{stored}");
    let (held, _call) = hold(&mem, "c", "you", None).await;
    assert_eq!(held, json!({ "fence": 3, "type": "held" }));
    let late = ask(&mem, held_append("c", "2", "me", 1)).await;
    assert_eq!(late["code"], "moved", "{late}");
}

#[tokio::test]
async fn a_plain_write_over_an_expired_lease_ends_the_hold() {
    let setup = Setup::new().await;
    let mem = setup.start();
    let plain = json!({
        "type": "append_history", "channel_id": "c",
        "messages": [{ "role": "user", "content": "plain" }],
    });
    let clear = json!({ "type": "clear_history", "channel_id": "c" });
    for write in [plain, clear] {
        setup.sql("select zino_take('c', 'me', null, 'dead', '1 ms')");
        let fence = setup.sql("select fence from zino_channel");
        sleep(Duration::from_millis(20)).await;
        assert_eq!(ask(&mem, write).await, json!({ "type": "ok" }));
        let (moved, _) = hold(&mem, "c", "me", fence.parse().ok()).await;
        assert_eq!(moved["code"], "moved", "{moved}");
    }
}

#[tokio::test]
async fn a_dead_owner_is_waited_for_and_taken_over() {
    let setup = Setup::new().await;
    setup.sql("select zino_take('c', 'dead', null, 'dead', '500 ms')");
    let mem = setup.start();
    let (held, _call) = hold(&mem, "c", "me", None).await;
    assert_eq!(held, json!({ "fence": 2, "type": "held" }));
}

#[tokio::test]
async fn a_holder_that_was_stopped_learns_that_it_has_lost_the_channel() {
    let setup = Setup::new().await;
    let mem = start_with(&config(&setup.database.url), short_times());
    let (held, mut call) = hold(&mem, "c", "me", None).await;
    assert_eq!(held["fence"], 1);
    // As if the process had been stopped for longer than the lease, and another had come.
    setup.sql(
        "update zino_channel set lease_until = '-infinity';
         select zino_take('c', 'you', null, 'other', '1 minute')",
    );
    let lost = call.next().await.unwrap().unwrap();
    let lost = serde_json::to_value(lost).unwrap();
    assert_eq!(lost["code"], "moved", "{lost}");
}

#[tokio::test]
async fn a_hold_that_has_expired_goes_on_if_nobody_has_come() {
    let setup = Setup::new().await;
    let mem = start_with(&config(&setup.database.url), short_times());
    let (_, _call) = hold(&mem, "c", "me", None).await;
    setup.sql("update zino_channel set lease_until = '-infinity'");
    let stored = loop {
        let stored = ask(&mem, held_append("c", "1", "me", 1)).await;
        if stored["code"] != "moved" {
            break stored;
        }
        sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(stored["sequence"], 1, "{stored}");
}

#[tokio::test]
async fn a_hold_that_was_released_is_continued_at_another_mem() {
    let setup = Setup::new().await;
    let first = setup.start();
    let second = setup.start();
    let (_, call) = hold(&first, "c", "me", None).await;
    // As when the first is restarted.
    drop(call);
    while !setup.sql("select owner from zino_channel").is_empty() {
        sleep(Duration::from_millis(10)).await;
    }
    let (held, call) = hold(&second, "c", "me", Some(1)).await;
    assert_eq!(held, json!({ "fence": 1, "type": "held" }));
    drop(call);
    let (held, _call) = hold(&second, "c", "you", None).await;
    assert_eq!(held["fence"], 2);
    let (moved, _) = hold(&second, "c", "me", Some(1)).await;
    assert_eq!(moved["code"], "moved", "{moved}");
}

#[tokio::test]
async fn a_continued_hold_is_not_released_by_the_request_before() {
    let setup = Setup::new().await;
    let first = start_with(&config(&setup.database.url), short_times());
    let second = start_with(&config(&setup.database.url), short_times());
    let (_, old_call) = hold(&first, "c", "me", None).await;
    let (held, _call) = hold(&second, "c", "me", Some(1)).await;
    assert_eq!(held["fence"], 1);
    drop(old_call);
    sleep(Duration::from_millis(400)).await;
    let stored = ask(&first, held_append("c", "1", "me", 1)).await;
    assert_eq!(stored["type"], "ok", "{stored}");
}

#[tokio::test]
async fn plain_writes_wait_for_the_end_of_a_hold() {
    let setup = Setup::new().await;
    let mem = setup.start();
    let mut impatient = config(&setup.database.url);
    impatient.wire.answer_timeout = 1.0;
    let impatient = start(&impatient);
    let (_, call) = hold(&mem, "c", "me", None).await;
    let plain = json!({
        "type": "append_history", "channel_id": "c",
        "messages": [{ "role": "user", "content": "plain" }],
    });
    let clear = json!({ "type": "clear_history", "channel_id": "c" });
    for request in [&plain, &clear] {
        let refused = ask(&impatient, request.clone()).await;
        assert_eq!(refused["code"], "channel_busy", "{refused}");
    }
    let (appended, ()) = tokio::join!(ask(&mem, plain), async {
        sleep(Duration::from_millis(100)).await;
        drop(call);
    });
    assert_eq!(appended, json!({ "type": "ok" }));
    assert_eq!(ask(&mem, clear).await, json!({ "type": "ok" }));
}

#[tokio::test]
async fn a_hold_survives_a_restart_of_the_database() {
    let mut setup = Setup::new().await;
    let mem = start_with(&config(&setup.database.url), short_times());
    let (_, mut call) = hold(&mem, "c", "me", None).await;
    // Holds are committed asynchronously: another commit makes this one survive the crash.
    setup.sql("create table flushed ()");
    setup.postgres.stop(Shutdown::Immediate);
    // Longer than the lease.
    sleep(Duration::from_millis(2000)).await;
    setup.postgres.start_again();
    let stored = tokio::select! {
        lost = call.next() => panic!("lost: {lost:?}"),
        stored = async {
            loop {
                let stored = ask(&mem, held_append("c", "1", "me", 1)).await;
                if stored["type"] == "ok" {
                    break stored;
                }
                sleep(Duration::from_millis(50)).await;
            }
        } => stored,
    };
    assert_eq!(stored, json!({ "sequence": 1, "type": "ok" }));
}

#[tokio::test]
async fn a_takeover_is_counted_and_a_released_channel_is_none() {
    let setup = Setup::new().await;
    let mem = setup.start();
    let takeovers = || crate::metrics::LEASE_TAKEOVERS.value();
    let before = takeovers();
    let (_, call) = hold(&mem, "c", "me", None).await;
    assert_eq!(takeovers(), before);
    drop(call);
    setup.sql("select zino_take('d', 'gone', null, 'dead', '0 s')");
    let (held, _call) = hold(&mem, "d", "me", None).await;
    assert_eq!(held["type"], "held", "{held}");
    assert_eq!(takeovers(), before + 1);
}
