use testkit::postgres::Postgres;

use super::*;
use crate::config::{Config, StoreUrl};
use crate::memory::Database;

#[tokio::test]
async fn a_database_that_does_not_answer_has_a_lag() {
    let postgres = Postgres::start();
    let database = postgres.database();
    let mut config = Config::default();
    config.store.url = Some(StoreUrl::new(&database.url));
    let migrated = Database::configured(&config).unwrap().unwrap();
    migrated.migrate().await.unwrap();
    let target = Target::new(&config.store, &config.store_url().unwrap()).unwrap();
    let pool = Pool::new(target, 1);
    let limit = Duration::from_secs(2);
    let effort = Effort {
        repeat: Repeat::Always,
        away: Duration::ZERO,
        limit,
    };
    pool.query("select 1", &[], effort).await.unwrap();
    // A value that no statement takes.
    metrics::STORE_LAG_MICROSECONDS.set(1);
    let silent = pool.query("select pg_sleep(600)::text", &[], effort).await;
    assert!(matches!(silent, Err(Refusal::Unavailable(_))));
    assert!(metrics::STORE_LAG_MICROSECONDS.value() > 1000);
}
