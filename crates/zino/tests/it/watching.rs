//! What operators see of services on the bus: `zino status`, `zino events`, and both in Glasspane.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use glasspane::attach::{Launch, run_agent};
use glasspane::{AgentState, Hub, Record, Status};
use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::nats::{Nats, NatsEnd};
use testkit::postgres::{Postgres, Shutdown as DatabaseEnd};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use zino::kind::ServiceKind;

use crate::installation::{BINARY, Installation, Process, eventually, text};
use crate::stack::TEST_TIMEOUT;

/// A `zino up` with the offline model, on a bus.
fn node(nats: &Nats, more: &str) -> (Installation, Process) {
    let settings = format!(
        "api.provider = \"offline\"\nbus.url = \"{}\"\n{more}",
        nats.url()
    );
    let installation = Installation::new("", &settings);
    let process = installation.up();
    (installation, process)
}

fn instances(installation: &Installation) -> Vec<Value> {
    let output = installation.run(&["status", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = report["instances"].as_array();
    let mut found = found.unwrap_or_else(|| panic!("{report}")).clone();
    // `mem` is there under two names.
    found.retain(|instance| instance["service"] != "claims");
    found
}

#[test]
fn status_shows_the_instances_on_the_bus() {
    let nats = Nats::start();
    let (installation, mut first) = node(&nats, "");
    let (_, _second) = node(&nats, "");
    let client = Installation::new("", &format!("bus.url = \"{}\"\n", nats.url()));
    eventually("both nodes are seen", || instances(&client).len() == 14);
    let found = instances(&client);
    assert!(found.iter().any(|instance| instance["pid"] == first.id()));
    let executor = found.iter().find(|instance| instance["service"] == "exc");
    assert_eq!(executor.unwrap()["capacity"], 16, "as in the metrics");
    let output = client.run(&["status"]);
    assert!(output.status.success(), "{}", text(&output.stdout));
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    assert!(lines[0].starts_with("SERVICE"), "none runs here: {lines:?}");
    assert_eq!(
        lines.iter().filter(|line| line.starts_with("rtr ")).count(),
        2
    );
    let here = installation.run(&["status"]);
    assert!(
        text(&here.stdout).starts_with("rtr     answers"),
        "{}",
        text(&here.stdout)
    );

    first.signal(Signal::TERM);
    assert!(first.wait().success());
    assert_eq!(instances(&client).len(), 7, "it has said that it ends");
}

#[test]
fn status_without_a_bus_that_answers_fails() {
    let mut nats = Nats::start();
    let client = Installation::new("", &format!("bus.url = \"{}\"\n", nats.url()));
    nats.stop(NatsEnd::Stop);
    let output = client.run(&["status"]);
    assert_eq!(output.status.code(), Some(1));
    let last = text(&output.stdout).lines().last().unwrap().to_owned();
    assert!(last.starts_with("bus     down "), "{last}");
}

#[test]
fn events_need_a_bus() {
    let output = Installation::new("", "").run(&["events"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        text(&output.stderr),
        "zino: there is no bus to watch: set [bus] url\n"
    );
}

#[test]
fn a_node_that_loses_the_bus_is_not_ready() {
    let mut nats = Nats::start();
    let (_installation, process) = node(&nats, "metrics.listen = \"127.0.0.1:0\"\n");
    let monitor = crate::monitor::monitor_of(&process);
    let ready = || crate::monitor::get(monitor, "/readyz");
    assert_eq!(ready().status, 200);
    nats.stop(NatsEnd::Kill);
    eventually("it is not ready", || ready().status == 503);
    assert_eq!(ready().body, "the bus is not connected\n");
    nats.start_again();
    eventually("it is ready again", || ready().status == 200);
    let scrape = crate::monitor::scrape(monitor);
    assert_eq!(scrape.value("zino_bus_reconnects_total", &[]), 1.0);
    assert_eq!(scrape.value("zino_bus_connected", &[]), 1.0);
}

/// Reads records on a thread of its own, which ends with the program.
fn records(installation: &Installation) -> (std::process::Child, mpsc::Receiver<Record>) {
    let mut command = installation.command(&["events"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            let record = serde_json::from_str(&line).unwrap();
            if sender.send(record).is_err() {
                return;
            }
        }
    });
    (child, receiver)
}

#[test]
fn events_are_records_of_every_turn() {
    let nats = Nats::start();
    let (installation, _process) = node(&nats, "");
    let (mut child, records) = records(&installation);
    let first = records.recv_timeout(TEST_TIMEOUT).unwrap();
    assert!(first.attached.unwrap().label.starts_with("node "));
    let request = json!({"message": "run: echo hello", "channel_id": "ada", "stream": true});
    installation.ask(ServiceKind::Daemon, &request);
    let mut channel = None;
    let mut kinds = Vec::new();
    while kinds.last().map(String::as_str) != Some("agent_end") {
        let record = records.recv_timeout(TEST_TIMEOUT).unwrap();
        if let Some(attached) = &record.attached
            && attached.label == "channel ada"
        {
            channel = Some(record.agent.clone());
        }
        if Some(&record.agent) == channel.as_ref()
            && let Some(event) = &record.event
        {
            let kind = serde_json::to_value(event.kind).unwrap();
            kinds.push(kind.as_str().unwrap().to_owned());
        }
    }
    kinds.dedup();
    assert_eq!(
        kinds,
        [
            "message_update",
            "agent_start",
            "turn_start",
            "message_update",
            "tool_execution_start",
            "tool_execution_end",
            "message_update",
            "message_end",
            "turn_end",
            "agent_end"
        ]
    );
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_worker_counts_its_sessions_and_needs_its_store() {
    let nats = Nats::start();
    let mut postgres = Postgres::start();
    let settings = format!(
        "bus.url = \"{}\"\nstore.url = \"{}\"\nmetrics.listen = \"127.0.0.1:0\"\n\
         [agents.coder]\ndirectory = \"work\"\nprovider = \"offline\"\nmodel = \"offline\"\nsessions = 7\n",
        nats.url(),
        postgres.database().url
    );
    let installation = Installation::new("", &settings);
    std::fs::create_dir(installation.path("work")).unwrap();
    assert!(installation.run(&["store", "migrate"]).status.success());
    let command = |arguments: &[&str]| {
        let mut command = installation.command(arguments);
        command.env("ZOT_HOME", installation.path("home"));
        command
    };
    let worker = installation.spawn(command(&["agent"]), "agent");
    let monitor = crate::monitor::monitor_of(&worker);
    let ready = || crate::monitor::get(monitor, "/readyz");
    eventually("it is ready", || ready().status == 200);
    let (mut events, records) = records(&installation);
    let first = records.recv_timeout(TEST_TIMEOUT).unwrap();
    assert!(first.attached.unwrap().label.starts_with("node "));

    let mut client = command(&["attach"]);
    client.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut client = client.spawn().unwrap();
    let mut input = client.stdin.take().unwrap();
    writeln!(
        input,
        "{}",
        json!({"id": "1", "type": "prompt", "message": "run: echo hello"})
    )
    .unwrap();
    let labels = || {
        let labels = records.try_iter().filter_map(|record| record.attached);
        labels.map(|attached| attached.label).collect::<Vec<_>>()
    };
    eventually("the session is seen", || {
        labels().iter().any(|label| label.starts_with("session "))
    });
    let value = |name: &str| {
        let service = [("service", "agent.coder")];
        crate::monitor::scrape(monitor).value(name, &service)
    };
    assert_eq!(value("zino_in_flight"), 1.0);
    assert_eq!(value("zino_capacity"), 7.0);
    drop(input);
    assert!(client.wait_with_output().unwrap().status.success());
    eventually("the session is closed", || value("zino_in_flight") == 0.0);
    assert_eq!(value("zino_requests_total"), 1.0);
    let open = crate::monitor::scrape(monitor).value("zino_sessions_open", &[]);
    assert_eq!(open, 0.0);

    postgres.stop(DatabaseEnd::Immediate);
    let unready = ready();
    assert_eq!(unready.status, 503);
    assert!(unready.body.contains("PostgreSQL at"), "{}", unready.body);
    events.kill().unwrap();
    events.wait().unwrap();
}

async fn until(hub: &Hub, what: &str, matches: impl Fn(&AgentState) -> bool) -> AgentState {
    let found = async {
        loop {
            let mut agents = hub.snapshot().agents.into_iter();
            if let Some(agent) = agents.find(&matches) {
                return agent;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    let found = timeout(TEST_TIMEOUT, found).await;
    found.unwrap_or_else(|_| panic!("{what}: {:#?}", hub.snapshot().agents))
}

#[tokio::test]
async fn glasspane_shows_the_fleet() {
    let nats = Nats::start();
    let (installation, process) = node(&nats, "");
    let hub = Hub::new();
    let cancel = CancellationToken::new();
    let line = format!(
        "{BINARY} events --config {}",
        installation.path("ZINO.toml").display()
    );
    let launch = Launch::shell(&line).unwrap();
    let mut watching = JoinSet::new();
    let (shown, cancelled) = (hub.clone(), cancel.clone());
    watching.spawn(async move { run_agent(&shown, launch, cancelled).await });
    let node = until(&hub, "the node", |agent| agent.label.starts_with("node ")).await;
    assert!(node.label.ends_with(&format!("/{}", process.id())));
    let executor = format!("exc {}", node.label.trim_start_matches("node "));
    until(&hub, "exc is idle", |agent| {
        agent.label == executor && agent.status == Status::Idle
    })
    .await;

    let go = installation.path("go");
    let code = format!(
        "until [ -e {} ]; do sleep 0.01; done; echo gone",
        go.display()
    );
    let request = json!({"message": format!("run: {code}"), "channel_id": "ada", "stream": true});
    let turn = installation.begin(ServiceKind::Daemon, &request);
    until(&hub, "exc is busy", |agent| {
        agent.label == executor && agent.status == Status::RunningTool
    })
    .await;
    let channel = until(&hub, "the channel", |agent| agent.label == "channel ada").await;
    assert!(channel.status.is_working(), "{:?}", channel.status);
    std::fs::write(go, "").unwrap();
    let done = until(&hub, "the turn is over", |agent| {
        agent.label == "channel ada" && agent.status == Status::Done
    })
    .await;
    assert!(done.last_text.contains("gone"), "{}", done.last_text);
    drop(turn);

    process.signal(Signal::KILL);
    let lost = until(&hub, "the node is lost", |agent| {
        agent.id == node.id && agent.status == Status::Failed
    })
    .await;
    assert_eq!(lost.error.as_deref(), Some("not heard of for 3.5 s"));
    for agent in hub.snapshot().agents {
        assert_eq!(agent.violations, Vec::<String>::new(), "{}", agent.label);
        assert_ne!(agent.label, line, "the stream is not an agent");
    }
    cancel.cancel();
    watching.join_next().await.unwrap().unwrap().unwrap();
}
