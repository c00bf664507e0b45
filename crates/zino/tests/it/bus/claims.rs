//! Code runs once, wherever it is asked for.

use std::fs;
use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::nats::Nats;
use testkit::postgres::Postgres;
use zino::kind::ServiceKind::Daemon;
use zino::peer::Peer;
use zot_wire::zino::Response as _;
use zot_wire::zino::claims::{self, Claim};
use zot_wire::zino::memory::{Request, Response};

use super::worker::connect;
use crate::installation::{Installation, Process, eventually};

fn installation(nats: &Nats, more: &str) -> Installation {
    let config = format!(
        "api.provider = \"offline\"\nbus.url = \"{}\"\n{more}",
        nats.url()
    );
    Installation::new("", &config)
}

/// Starts services and waits until they are on the bus.
fn up(installation: &Installation, services: &str) -> Process {
    let process = installation.spawn(installation.command(&["up", "--only", services]), "up");
    let count = services.split(',').count();
    eventually(&format!("{services} listen"), || {
        process.log().matches("listening on the bus").count() == count
    });
    process
}

fn run(installation: &Installation, code: &str) -> Value {
    let request = json!({ "message": format!("run: {code}") });
    installation.ask_one(Daemon, &request)
}

#[test]
fn code_whose_executor_is_killed_is_not_run_again() {
    let (nats, postgres) = (Nats::start(), Postgres::start());
    let database = postgres.database();
    // Only `mem` knows the database.
    let store = format!("[store]\nurl = {:?}\n", database.url);
    let main = installation(&nats, &store);
    assert!(main.run(&["store", "migrate"]).status.success());
    let (one, two) = (installation(&nats, ""), installation(&nats, ""));
    let _main = up(&main, "daemon,sys,ctx,mem,rtr,agr");
    let mut first = up(&one, "exc");
    let traces = main.path("traces");
    let lines = || fs::read_to_string(&traces).map_or(0, |traces| traces.lines().count());
    let report = run(
        &main,
        &format!("echo ran >> {}; echo out", traces.display()),
    );
    assert_eq!(lines(), 1, "{report}");
    let sql = |statements: &str| postgres.sql(&database.name, statements);
    assert_eq!(sql("select state from zino_claim"), "finished");
    let code = format!("echo ran >> {}; sleep 100", traces.display());
    thread::scope(|scope| {
        let asked = scope.spawn(|| run(&main, &code));
        eventually("the code runs", || lines() == 2);
        let _second = up(&two, "exc");
        first.signal(Signal::KILL);
        first.wait();
        // As if the time of the lease had passed.
        sql("update zino_claim set lease_until = '-infinity' where state = 'running'");
        let report = asked.join().unwrap();
        let text = report["content"].as_str().unwrap_or_default();
        assert!(text.contains("interrupted, outcome unknown"), "{report}");
    });
    assert_eq!(lines(), 2);
}

#[tokio::test]
async fn only_claims_are_served_under_their_name() {
    let nats = Nats::start();
    let installation = installation(&nats, "");
    let _process = up(&installation, "mem");
    let client = connect(&nats, "exc").await;
    let peer: Peer<Request> = Peer::on_bus(&client, "claims");
    let claim = Request::Claim(claims::Request::Take {
        call: "1".to_owned(),
        owner: "me".to_owned(),
    });
    let claimed = peer.ask(claim).await.unwrap();
    assert_eq!(claimed, Response::Claim(Claim::Unshared));
    let refused = peer.ask(Request::GetSoft).await.unwrap();
    assert_eq!(refused, Response::error("Unknown message type: get_soft"));
}
