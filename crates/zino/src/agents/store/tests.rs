use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use testkit::poll_until;
use testkit::postgres::{
    Database as TestDatabase, Postgres, RELEASE, Shutdown, lock_until_released,
};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use zino_agent::{Opening, SessionLease, SessionStore, StoreError, TakenSession};

use super::{LeaseTimes, PostgresSessions};
use crate::config::{Config, StoreUrl};
use crate::logging::{Level, Log};
use crate::memory::Database;

/// A cluster with one database that has the tables.
struct Setup {
    postgres: Postgres,
    database: TestDatabase,
}

impl Setup {
    async fn new() -> Self {
        let postgres = Postgres::start();
        let database = postgres.database();
        let setup = Self { postgres, database };
        let database = Database::configured(&setup.config()).unwrap().unwrap();
        database.migrate().await.unwrap();
        setup
    }

    fn config(&self) -> Config {
        let mut config = Config::default();
        config.store.url = Some(StoreUrl::new(&self.database.url));
        config
    }

    fn sql(&self, statements: &str) -> String {
        self.postgres.sql(&self.database.name, statements)
    }

    /// A worker that renews its leases all the time.
    fn worker(&self, owner: &str) -> PostgresSessions {
        self.worker_with(
            owner,
            LeaseTimes {
                renewal: Duration::from_millis(20),
                ..LeaseTimes::default()
            },
        )
    }

    fn worker_with(&self, owner: &str, times: LeaseTimes) -> PostgresSessions {
        let config = self.config();
        PostgresSessions::with_times(
            &config,
            &config.store_url().unwrap(),
            owner.to_owned(),
            Handle::current(),
            Log::new("agent", Level::Error),
            times,
        )
        .unwrap()
    }

    /// Makes all leases look as if nobody had renewed them.
    fn expire(&self) {
        self.sql("update zino_session set lease_until = '-infinity'");
    }
}

async fn take(
    worker: &PostgresSessions,
    session: &str,
    opening: Opening,
) -> Result<TakenSession, StoreError> {
    worker.take(session, "coder", opening).await
}

async fn append(
    lease: &Arc<dyn SessionLease>,
    position: u64,
    bytes: &str,
) -> Result<(), StoreError> {
    let bytes = Bytes::copy_from_slice(bytes.as_bytes());
    lease.append(position, bytes).await
}

fn error<T>(result: Result<T, StoreError>) -> StoreError {
    result.err().unwrap()
}

#[tokio::test]
async fn a_session_has_one_worker_at_a_time() {
    let setup = Setup::new().await;
    let (first, second) = (setup.worker("one"), setup.worker("two"));
    assert_eq!(
        error(take(&first, "s", Opening::Existing).await),
        StoreError::NoSession
    );
    let taken = take(&first, "s", Opening::New).await.unwrap();
    assert!(taken.records.is_empty());
    append(&taken.lease, 0, "{\"one\":1}\n").await.unwrap();
    append(&taken.lease, 10, "").await.unwrap();
    append(&taken.lease, 10, "\0\u{1}ü\n").await.unwrap();
    let busy = StoreError::Busy {
        owner: "one".to_owned(),
    };
    for worker in [&first, &second] {
        for opening in [Opening::New, Opening::Existing] {
            assert_eq!(error(take(worker, "s", opening).await), busy);
        }
    }
    taken.lease.release().await;
    assert_eq!(
        error(append(&taken.lease, 15, "late\n").await),
        StoreError::Moved
    );
    let other_profile = second.take("s", "writer", Opening::Existing).await;
    assert_eq!(error(other_profile), StoreError::NoSession);
    let taken = take(&second, "s", Opening::Existing).await.unwrap();
    assert_eq!(taken.records, "{\"one\":1}\n\0\u{1}ü\n".as_bytes());
    // An id that exists is not new, no matter which worker had it.
    taken.lease.release().await;
    assert!(matches!(
        error(take(&second, "s", Opening::New).await),
        StoreError::Busy { .. }
    ));
    let long = "s".repeat(300);
    assert_eq!(
        error(take(&second, &long, Opening::Existing).await),
        StoreError::NoSession
    );
}

#[tokio::test]
async fn an_expired_session_goes_to_another_worker_and_the_first_is_told() {
    let setup = Setup::new().await;
    let never = LeaseTimes {
        renewal: Duration::from_secs(3600),
        lost: Duration::from_secs(3600),
        ..LeaseTimes::default()
    };
    let (sleeping, other) = (setup.worker_with("one", never), setup.worker("two"));
    let old = take(&sleeping, "s", Opening::New).await.unwrap();
    append(&old.lease, 0, "one\n").await.unwrap();
    setup.expire();
    // Nobody has taken it: it can still be written to.
    append(&old.lease, 4, "two\n").await.unwrap();
    setup.expire();
    let new = take(&other, "s", Opening::Existing).await.unwrap();
    assert_eq!(new.records, b"one\ntwo\n");
    assert_eq!(
        error(append(&old.lease, 8, "late\n").await),
        StoreError::Moved
    );
    // Not even what is already there counts as stored by it.
    assert_eq!(
        error(append(&old.lease, 4, "two\n").await),
        StoreError::Moved
    );
    assert_eq!(old.lease.lost().await, StoreError::Moved);
    old.lease.release().await;
    append(&new.lease, 8, "three\n").await.unwrap();
    assert_eq!(setup.sql("select owner from zino_session"), "two");
    assert_eq!(
        setup.sql("select convert_from(string_agg(bytes, '' order by position), 'UTF8') from zino_session_record"),
        "one\ntwo\nthree"
    );
}

#[tokio::test]
async fn leases_are_renewed_together_and_a_stolen_one_is_lost() {
    let setup = Setup::new().await;
    let worker = setup.worker("one");
    let mut taken = Vec::new();
    for session in ["a", "b", "c"] {
        taken.push(take(&worker, session, Opening::New).await.unwrap().lease);
    }
    setup.expire();
    let is_current = "select bool_and(lease_until > now()) from zino_session";
    poll_until_async("all leases are renewed", || setup.sql(is_current) == "t").await;
    setup.sql("update zino_session set holder = 'thief', fence = fence + 1 where id = 'b'");
    taken[1].lost().await;
    setup.expire();
    let still = "select string_agg(id, '' order by id) from zino_session where lease_until > now()";
    poll_until_async("the others are renewed", || setup.sql(still) == "ac").await;
    // A dropped lease is not renewed any more.
    drop(taken.remove(0));
    setup.expire();
    poll_until_async("the last one is renewed", || setup.sql(still) == "c").await;
}

#[tokio::test]
async fn a_locked_row_costs_no_other_session() {
    let setup = Setup::new().await;
    let worker = setup.worker_with(
        "one",
        LeaseTimes {
            renewal: Duration::from_millis(20),
            lost: Duration::from_secs(3),
            ..LeaseTimes::default()
        },
    );
    let mut taken = Vec::new();
    for session in ["a", "b", "c"] {
        taken.push(take(&worker, session, Opening::New).await.unwrap().lease);
    }
    let mut locking = worker.0.pool.open().await.unwrap();
    locking.query("begin", &[]).await.unwrap();
    let lock = "select from zino_session where id <> 'c' for update";
    locking.query(lock, &[]).await.unwrap();
    setup.sql("update zino_session set lease_until = '-infinity' where id = 'c'");
    let renewed = "select lease_until > now() from zino_session where id = 'c'";
    poll_until_async("the other is renewed", || setup.sql(renewed) == "t").await;
    taken[0].release().await;
    assert_eq!(taken[1].lost().await, StoreError::Lost);
    append(&taken[2], 0, "one\n").await.unwrap();
    locking.query("rollback", &[]).await.unwrap();
    let held = "select string_agg(id, '' order by id) from zino_session where holder is not null";
    poll_until_async("the first is free", || setup.sql(held) == "bc").await;
}

#[tokio::test]
async fn leases_are_renewed_and_released_while_the_store_is_busy() {
    let setup = Setup::new().await;
    let worker = setup.worker("one");
    let lease = take(&worker, "s", Opening::New).await.unwrap().lease;
    let mut busy = JoinSet::new();
    for _ in 0..setup.config().store.connections {
        let shared = Arc::clone(&worker.0);
        busy.spawn(async move {
            let effort = shared.efforts.long_read();
            let sleep = shared.pool.query("select pg_sleep(600)::text", &[], effort);
            sleep.await.map(drop)
        });
    }
    let asleep = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'";
    poll_until_async("all connections are used", || setup.sql(asleep) == "8").await;
    setup.expire();
    let renewed = "select lease_until > now() from zino_session";
    poll_until_async("the lease is renewed", || setup.sql(renewed) == "t").await;
    lease.release().await;
    let held = "select count(*) from zino_session where holder is not null";
    assert_eq!(setup.sql(held), "0");
    busy.shutdown().await;
}

#[tokio::test]
async fn an_append_extends_the_lease() {
    let setup = Setup::new().await;
    let never = LeaseTimes {
        renewal: Duration::from_secs(3600),
        lost: Duration::from_secs(3600),
        ..LeaseTimes::default()
    };
    let worker = setup.worker_with("one", never);
    let lease = take(&worker, "s", Opening::New).await.unwrap().lease;
    // The second time it is there already.
    for _ in 0..2 {
        setup.expire();
        append(&lease, 0, "one\n").await.unwrap();
        let renewed = "select lease_until > now() from zino_session";
        assert_eq!(setup.sql(renewed), "t");
    }
}

#[tokio::test]
async fn a_repeated_append_is_stored_once() {
    let setup = Setup::new().await;
    let worker = setup.worker("one");
    let lease = take(&worker, "s", Opening::New).await.unwrap().lease;
    for position in 0..20 {
        let mut appends = JoinSet::new();
        for _ in 0..4 {
            let lease = Arc::clone(&lease);
            appends.spawn(async move { append(&lease, position * 2, "x\n").await });
        }
        for stored in appends.join_all().await {
            stored.unwrap();
        }
    }
    assert_eq!(setup.sql("select bytes from zino_session"), "40");
    assert_eq!(setup.sql("select count(*) from zino_session_record"), "20");
    for (position, bytes) in [(38, "y\n"), (38, "x\nx\n"), (39, "\n"), (42, "x\n")] {
        let StoreError::Unavailable { reason } = error(append(&lease, position, bytes).await)
        else {
            panic!("{position}");
        };
        assert!(reason.contains("the session has 40 bytes"), "{reason}");
    }
    assert_eq!(setup.sql("select bytes from zino_session"), "40");
}

#[tokio::test]
async fn an_append_survives_a_lost_connection() {
    let setup = Arc::new(Setup::new().await);
    let worker = setup.worker("one");
    let lease = take(&worker, "s", Opening::New).await.unwrap().lease;
    append(&lease, 0, "one\n").await.unwrap();
    let locking = Arc::clone(&setup);
    let lock = std::thread::spawn(move || locking.sql(&lock_until_released("zino_session_record")));
    let locks = "select count(*) from pg_locks where mode = 'AccessExclusiveLock' and granted";
    poll_until_async("the table is locked", || setup.sql(locks) != "0").await;
    let appending = append(&lease, 4, "two\n");
    let killing = async {
        let kill = "select count(pg_terminate_backend(pid)) from pg_stat_activity \
                    where application_name = 'zino' and query like '%zino_append_session%' \
                    and wait_event_type = 'Lock'";
        poll_until_async("the append is cut off", || setup.sql(kill) != "0").await;
        setup.sql(RELEASE);
    };
    let (appended, ()) = tokio::join!(appending, killing);
    appended.unwrap();
    lock.join().unwrap();
    lease.release().await;
    let taken = take(&worker, "s", Opening::Existing).await.unwrap();
    assert_eq!(taken.records, b"one\ntwo\n");
}

#[tokio::test]
async fn a_session_is_lost_when_the_database_stays_away() {
    let mut setup = Setup::new().await;
    let worker = setup.worker_with(
        "one",
        LeaseTimes {
            renewal: Duration::from_millis(20),
            lost: Duration::from_millis(500),
            lease: Duration::from_secs(3600),
        },
    );
    let lease = take(&worker, "s", Opening::New).await.unwrap().lease;
    setup.postgres.stop(Shutdown::Immediate);
    let (stored, reason) = tokio::join!(append(&lease, 0, "one\n"), lease.lost());
    assert_eq!(
        (error(stored), reason),
        (StoreError::Lost, StoreError::Lost)
    );
    assert!(matches!(
        error(take(&worker, "s", Opening::Existing).await),
        StoreError::Unavailable { .. }
    ));
    lease.release().await;
    setup.postgres.start_again();
    // Long before the lease expires.
    while let Err(refused) = take(&worker, "s", Opening::Existing).await {
        assert!(!matches!(refused, StoreError::NoSession), "{refused}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_session_may_append_from_a_thread_of_its_own() {
    let setup = Setup::new().await;
    let worker = setup.worker("one");
    let lease = take(&worker, "s", Opening::New).await.unwrap().lease;
    for position in 0..3 {
        let lease = Arc::clone(&lease);
        let appended = tokio::task::spawn_blocking(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.build().unwrap();
            runtime.block_on(append(&lease, position * 2, "x\n"))
        });
        appended.await.unwrap().unwrap();
    }
    assert_eq!(setup.sql("select bytes from zino_session"), "6");
}

#[tokio::test]
async fn missing_records_are_noticed() {
    let setup = Setup::new().await;
    let worker = setup.worker("one");
    let lease = take(&worker, "s", Opening::New).await.unwrap().lease;
    for position in 0..3 {
        append(&lease, position * 2, "x\n").await.unwrap();
    }
    lease.release().await;
    for (removed, expected) in [(4, "after byte 4"), (0, "after byte 0")] {
        setup.sql(&format!(
            "delete from zino_session_record where position = {removed}"
        ));
        let StoreError::Unavailable { reason } = error(take(&worker, "s", Opening::Existing).await)
        else {
            panic!("{removed}");
        };
        assert!(reason.contains(expected), "{reason}");
        assert_eq!(
            setup.sql("select count(*) from zino_session where holder is not null"),
            "0"
        );
    }
}

/// Lets the tasks of the worker run between attempts.
async fn poll_until_async(what: &str, mut is_true: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if is_true() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    poll_until(what, is_true);
}
