mod claims;
mod directories;
mod holds;
mod outages;
mod reaching;
mod requests;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::postgres::{Database as TestDatabase, Postgres};
use zot_wire::zino::memory::{Request, Response};

use super::{Database, HoldTimes, PostgresStore};
use crate::config::{Config, StoreUrl};
use crate::exchange::exchange;
use crate::logging::{Level, Log};
use crate::memory::{MemoryService, Store};
use crate::peer::{Call, Peer};

/// A cluster with one database that has the tables.
struct Setup {
    postgres: Postgres,
    database: TestDatabase,
}

impl Setup {
    async fn new() -> Self {
        let postgres = Postgres::start();
        let database = postgres.database();
        migrate(&database.url).await;
        Self { postgres, database }
    }

    fn sql(&self, statements: &str) -> String {
        self.postgres.sql(&self.database.name, statements)
    }

    /// Starts a service with its own connections and its own index.
    fn start(&self) -> Peer<Request> {
        start(&config(&self.database.url))
    }
}

async fn migrate(url: &str) {
    database(&config(url)).migrate().await.unwrap();
}

fn database(config: &Config) -> Database {
    Database::configured(config).unwrap().unwrap()
}

fn config(url: &str) -> Config {
    let mut config = Config::default();
    config.store.url = Some(StoreUrl::new(url));
    config
}

fn start(config: &Config) -> Peer<Request> {
    local(MemoryService::new(config).unwrap())
}

/// Starts a service whose leases are short.
fn start_with(config: &Config, times: HoldTimes) -> Peer<Request> {
    let mut store = PostgresStore::new(config, &config.store_url().unwrap()).unwrap();
    store.times = times;
    local(MemoryService(Store::Postgres(store)))
}

fn short_times() -> HoldTimes {
    HoldTimes {
        lease: Duration::from_millis(1500),
        renewal: Duration::from_millis(200),
        wait: Duration::from_millis(400),
    }
}

fn local(service: MemoryService) -> Peer<Request> {
    Peer::local(Arc::new(service), Log::new("mem", Level::Error))
}

async fn ask(peer: &Peer<Request>, request: Value) -> Value {
    let mut frames = exchange(peer, &request).await;
    assert_eq!(frames.len(), 1, "{frames:?}");
    frames.remove(0)
}

fn user_message(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn append(channel: &str, call: &str, text: &str) -> Value {
    json!({
        "type": "append_history", "channel_id": channel, "call": call,
        "messages": [user_message(text)],
    })
}

/// Asks for a hold; returns its first frame and the call that keeps it.
async fn hold(
    peer: &Peer<Request>,
    channel: &str,
    owner: &str,
    fence: Option<i64>,
) -> (Value, Call<Response>) {
    let request = Request::HoldChannel {
        channel_id: channel.to_owned(),
        owner: owner.to_owned(),
        fence,
    };
    let mut call = peer.call(request).await.unwrap();
    let first = call.next().await.unwrap().unwrap();
    (serde_json::to_value(first).unwrap(), call)
}
