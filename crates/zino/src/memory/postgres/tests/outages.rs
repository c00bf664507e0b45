use std::io::Write as _;
use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::poll_until;
use testkit::postgres::{PgBouncer, RELEASE, Shutdown, lock_until_released};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{Setup, append, ask, config, hold, start, user_message};

fn requests() -> [Value; 6] {
    [
        json!({ "type": "get_history", "channel_id": "c", "limit": 5 }),
        json!({ "type": "get_history", "channel_id": "c" }),
        json!({ "type": "list_channels" }),
        json!({ "type": "search_hard", "query": "x" }),
        json!({ "type": "get_soft" }),
        json!({ "type": "set_soft", "content": "soft" }),
    ]
}

#[tokio::test]
async fn the_database_may_go_and_come_back() {
    let mut setup = Setup::new().await;
    let mem = setup.start();
    for shutdown in [Shutdown::Fast, Shutdown::Immediate] {
        assert_eq!(ask(&mem, append("c", "1", "one")).await["sequence"], 1);
        setup.postgres.stop(shutdown);
        let mut asked = JoinSet::new();
        for request in requests().into_iter().chain([append("c", "2", "two")]) {
            let mem = mem.clone();
            asked.spawn(async move { ask(&mem, request).await });
        }
        for response in asked.join_all().await {
            assert_eq!(response["code"], "store_unavailable", "{response}");
            let message = response["message"].as_str().unwrap();
            let place = format!("PostgreSQL at {}:5432/", setup.postgres.path().display());
            assert!(message.starts_with(&place), "{message}");
        }
        let (refused, _) = hold(&mem, "c", "me", None).await;
        assert_eq!(refused["code"], "store_unavailable", "{refused}");
        setup.postgres.start_again();
        for request in requests() {
            let response = ask(&mem, request).await;
            assert_ne!(response["type"], "error", "{response}");
        }
    }
}

#[tokio::test]
async fn an_append_waits_for_the_database() {
    let mut setup = Setup::new().await;
    let mem = setup.start();
    assert_eq!(ask(&mem, append("c", "1", "one")).await["sequence"], 1);
    setup.postgres.stop(Shutdown::Immediate);
    let restart = async {
        sleep(Duration::from_millis(200)).await;
        tokio::task::spawn_blocking(move || {
            setup.postgres.start_again();
            setup
        })
        .await
        .unwrap()
    };
    let memory = json!({ "type": "store_hard", "messages": [user_message("m")], "tag": "" });
    let (appended, stored, setup) = tokio::join!(
        ask(&mem, append("c", "2", "two")),
        ask(&mem, memory),
        restart
    );
    assert_eq!(appended, json!({ "sequence": 2, "type": "ok" }));
    assert_eq!(stored, json!({ "id": 0, "type": "ok" }));
    assert_eq!(setup.sql("select count(*) from zino_entry"), "2");
}

#[tokio::test]
async fn many_requests_share_few_connections_of_pgbouncer() {
    let setup = Setup::new().await;
    let pool = PgBouncer::start(&setup.postgres, 2);
    let mut config = config(&pool.url(&setup.database.name));
    config.store.connections = 8;
    let services = [start(&config), start(&config)];
    let (held, _call) = hold(&services[0], "held", "me", None).await;
    assert_eq!(held["type"], "held", "{held}");
    let mut appends = JoinSet::new();
    for number in 0..200 {
        let mem = services[number % 2].clone();
        let channel = format!("c{}", number % 10);
        appends.spawn(async move {
            let appended = ask(&mem, append(&channel, &number.to_string(), "x")).await;
            let read = json!({ "type": "get_history", "channel_id": channel, "limit": 3 });
            let read = ask(&mem, read).await;
            assert_eq!(read["type"], "history", "{read}");
            appended["sequence"].as_i64().unwrap()
        });
    }
    let mut sequences = appends.join_all().await;
    sequences.sort_unstable();
    let expected: Vec<i64> = (0..200).map(|index| index / 10 + 1).collect();
    assert_eq!(sequences, expected);
}

#[test]
fn a_full_pool_is_an_error_and_not_a_wait_without_end() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let setup = runtime.block_on(Setup::new());
    let mut config = config(&setup.database.url);
    config.store.connections = 1;
    config.wire.answer_timeout = 0.5;
    let mem = start(&config);
    let soft = || ask(&mem, json!({ "type": "get_soft" }));
    std::thread::scope(|scope| {
        // Every other statement waits for this lock.
        scope.spawn(|| setup.sql(&lock_until_released("zino_soft")));
        let locks = "select count(*) from pg_locks where mode = 'AccessExclusiveLock' and granted";
        poll_until("the table is locked", || setup.sql(locks) != "0");
        runtime.block_on(async {
            let (first, second) = tokio::join!(soft(), soft());
            for response in [first, second] {
                assert_eq!(response["code"], "store_unavailable", "{response}");
            }
        });
        setup.sql(RELEASE);
    });
    poll_until("the database is usable again", || {
        runtime.block_on(soft())["content"] == ""
    });
}

#[tokio::test]
async fn a_silent_server_and_one_of_another_kind_are_errors() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = |listener: &TcpListener| {
        let port = listener.local_addr().unwrap().port();
        format!("postgres://zino:secret@127.0.0.1:{port}/zino")
    };
    let [silent_url, other_url] = [&silent, &other].map(url);
    std::thread::spawn(move || {
        for stream in other.incoming() {
            let _ = stream
                .unwrap()
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    for (url, expected) in [(silent_url, "no answer within "), (other_url, "error ")] {
        let mem = start(&config(&url));
        let response = ask(&mem, json!({ "type": "get_soft" })).await;
        assert_eq!(response["code"], "store_unavailable", "{response}");
        let message = response["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains("secret"), "{message}");
    }
}
