//! The program on the bus.

use std::fs;
use std::process::Output;

use rustix::process::Signal;
use testkit::nats::{Nats, NatsEnd, NatsOptions, NatsTls};
use zino::bus::{Bus, BusError};
use zino::kind::ServiceKind::Executor;
use zino::peer::Peer;
use zot_wire::zino::executor::Response;

use super::worker::{LOG, config, connect, execute, peer, request_for, until};
use crate::authority::{Authority, Validity};
use crate::installation::{Installation, Process, eventually, text};

const OFFLINE: &str = "api.provider = \"offline\"\n";

fn installation(nats: &Nats) -> Installation {
    let bus = format!("{OFFLINE}bus.url = \"{}\"\n", nats.url());
    Installation::new("", &bus)
}

fn up(installation: &Installation, services: &str) -> Process {
    installation.spawn(installation.command(&["up", "--only", services]), "up")
}

fn ask(installation: &Installation) -> Output {
    installation.run(&["cli", "--no-stdin", "--stream", "run: echo one-$((1 + 1))"])
}

#[test]
fn services_find_each_other_on_the_bus() {
    let nats = Nats::start();
    let (left, right) = (installation(&nats), installation(&nats));
    let _left = up(&left, "daemon,sys,ctx,mem");
    let _right = up(&right, "rtr,agr,exc");
    eventually("the agent answers", || {
        let output = ask(&left);
        output.status.success() && text(&output.stdout).contains("one-2")
    });
    // From anywhere, since the client also uses the bus.
    assert!(ask(&right).status.success());
    let checked = right.run(&["check"]);
    assert!(
        text(&checked.stdout).contains("bus      NATS "),
        "{checked:?}"
    );
}

#[tokio::test]
async fn sigterm_lets_running_work_finish() {
    let nats = Nats::start();
    let installation = installation(&nats);
    let mut process = up(&installation, "exc");
    let client = connect(&nats, "agr").await;
    let peer: Peer<_> = Peer::on_bus(&client, Executor.name());
    until(async || peer.ask(execute("")).await.is_ok()).await;
    let code = "touch began; while [ ! -e go ]; do sleep 0.01; done; echo done";
    let mut call = peer.call(request_for("bash", code)).await.unwrap();
    until(async || installation.path("began").exists()).await;
    process.signal(Signal::TERM);
    until(async || {
        let instances = client.instances(std::time::Duration::ZERO).await;
        instances.iter().all(|instance| instance.draining)
    })
    .await;
    fs::write(installation.path("go"), "").unwrap();
    let Some(Response::Result(result)) = call.next().await.unwrap() else {
        panic!("expected a result");
    };
    assert_eq!(result.stdout.trim(), "done");
    assert!(process.wait().success(), "{}", process.log());
}

/// The default drain would take longer than a test may.
#[tokio::test]
async fn an_idle_process_ends_while_the_bus_is_away() {
    let mut nats = Nats::start();
    let installation = installation(&nats);
    let mut process = up(&installation, "exc");
    let client = connect(&nats, "agr").await;
    let peer: Peer<_> = Peer::on_bus(&client, Executor.name());
    until(async || peer.ask(execute("")).await.is_ok()).await;
    nats.stop(NatsEnd::Kill);
    process.signal(Signal::TERM);
    assert!(process.wait().success(), "{}", process.log());
}

#[tokio::test]
async fn programs_do_not_see_the_address_of_the_bus() {
    let nats = Nats::start();
    let installation = installation(&nats);
    let mut command = installation.command(&["up", "--only", "exc"]);
    command.env("ZINO_BUS_URL", nats.url());
    let _process = installation.spawn(command, "up");
    let client = connect(&nats, "agr").await;
    let peer: Peer<_> = Peer::on_bus(&client, Executor.name());
    until(async || peer.ask(execute("")).await.is_ok()).await;
    let asked = peer.ask(request_for("bash", "env")).await.unwrap();
    let Response::Result(result) = asked else {
        panic!("expected a result");
    };
    assert!(result.stdout.contains("PATH="), "{result:?}");
    assert!(!result.stdout.contains("ZINO_BUS_URL"), "{result:?}");
}

#[tokio::test]
async fn a_second_signal_ends_the_process_at_once() {
    let nats = Nats::start();
    let installation = installation(&nats);
    let mut process = up(&installation, "exc");
    let client = connect(&nats, "agr").await;
    let peer: Peer<_> = Peer::on_bus(&client, Executor.name());
    until(async || peer.ask(execute("")).await.is_ok()).await;
    let request = request_for("bash", "touch began; sleep 1000");
    let _call = peer.call(request).await.unwrap();
    until(async || installation.path("began").exists()).await;
    process.signal(Signal::TERM);
    until(async || {
        let instances = client.instances(std::time::Duration::ZERO).await;
        instances.iter().all(|instance| instance.draining)
    })
    .await;
    process.signal(Signal::TERM);
    assert!(process.wait().success(), "{}", process.log());
}

#[test]
fn a_bus_that_cannot_be_reached_is_named() {
    let unreachable = format!("{OFFLINE}bus.url = \"nats://me:secret@127.0.0.1:1\"\n");
    let installation = Installation::new("", &unreachable);
    for arguments in [&["rtr"][..], &["cli", "--no-stdin", "hello"]] {
        let output = installation.run(arguments);
        assert!(!output.status.success());
        let error = text(&output.stderr);
        assert!(
            error.contains("cannot connect to the bus at 127.0.0.1:1: "),
            "{error}"
        );
        assert!(!error.contains("secret"), "{error}");
    }
    let checked = installation.run(&["check"]);
    assert!(
        text(&checked.stdout).contains("FAIL bus      cannot connect"),
        "{checked:?}"
    );
}

#[tokio::test]
async fn the_certificate_of_the_server_must_be_trusted() {
    let authority = Authority::new();
    let (certificate, key) = authority.issue(vec!["127.0.0.1".to_owned()], Validity::Present);
    let nats = Nats::with(NatsOptions {
        tls: Some(NatsTls { certificate, key }),
        ..NatsOptions::default()
    });
    let directory = tempfile::tempdir().unwrap();
    let ca = directory.path().join("ca.pem");
    fs::write(&ca, authority.pem()).unwrap();
    let mut trusting = config(&nats);
    trusting.bus.ca = Some(ca);
    assert!(Bus::connect(&trusting, "exc", LOG).await.unwrap().is_some());
    let error = Bus::connect(&config(&nats), "exc", LOG)
        .await
        .err()
        .unwrap();
    assert!(matches!(error, BusError::Tls { .. }), "{error}");
}

#[test]
fn the_permissions_that_init_writes_are_enough_and_no_more() {
    let keys = "bus.nkey = \"bus/keys/node.nk\"\nbus.identity = \"node\"\n";
    let installation = Installation::new("", &format!("{OFFLINE}{keys}"));
    let written = installation.run(&["bus", "init", "--listen", "127.0.0.1:4222"]);
    assert!(written.status.success(), "{written:?}");
    let server = fs::read_to_string(installation.path("bus/nats-server.conf")).unwrap();
    let (_, users) = server.split_once("authorization {").unwrap();
    let nats = Nats::with(NatsOptions {
        settings: format!("authorization {{{users}"),
        ..NatsOptions::default()
    });
    let own = fs::read_to_string(installation.path("ZINO.toml")).unwrap();
    let client = own.replace("node", "client");
    fs::write(installation.path("client.toml"), client).unwrap();
    let command = |arguments: &[&str]| {
        let mut command = installation.command(arguments);
        command.env("ZINO_BUS_URL", nats.url());
        command
    };
    let _node = installation.spawn(command(&["up"]), "up");
    eventually("the agent answers", || {
        let message = "run: echo one-$((1 + 1))";
        let output = command(&["cli", "-c", "client.toml", "--no-stdin", message]).output();
        let output = output.unwrap();
        output.status.success() && text(&output.stdout).contains("one-2")
    });
    let log = nats.log();
    assert!(!log.contains("Violation"), "{log}");
    runtime().block_on(async {
        let mut config = config(&nats);
        config.bus.nkey = Some(installation.path("bus/keys/client.nk"));
        let client = Bus::connect(&config, "client", LOG).await.unwrap().unwrap();
        let error = peer(&client).ask(execute("")).await.unwrap_err();
        assert!(
            error
                .to_string()
                .contains("publish to \"zino.default.exc\""),
            "{error}"
        );
    });
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}
