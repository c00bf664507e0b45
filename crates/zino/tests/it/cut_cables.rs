//! A cable that is cut: nothing reports it, and both sides notice.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use testkit::network::{Host, Network};
use zino::kind::ServiceKind::{Executor, Memory};
use zino::peer::{AddressFailure, CallError, LinkError, Peer};
use zot_wire::zino::executor::{Code, Request};
use zot_wire::zino::memory;

use crate::authority::{Authority, TLS};
use crate::installation::{BINARY, Installation, Process, eventually};
use crate::network::caller_at;
use crate::stack::TEST_TIMEOUT;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// Starts a service of an installation on a host.
fn start(host: &Host, installation: &Installation, service: &str) -> Process {
    let mut command = host.command(BINARY);
    command
        .args(["up", "--only", service])
        .current_dir(installation.path("."))
        .stdin(Stdio::null());
    installation.spawn(command, "up")
}

/// Runs a program over the network, and cuts the cable once it runs.
async fn lose_the_caller(peer: Peer<Request>, host: &Host, file: &Path) -> CallError {
    let request = Request::Execute(Code {
        executor: "bash".to_owned(),
        code: format!(
            "echo $$ > {0}.new; mv {0}.new {0}; sleep 60",
            file.display()
        ),
        ..Code::default()
    });
    let cut = async {
        while !file.exists() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        host.cut();
    };
    let (response, ()) = tokio::join!(peer.ask(request), cut);
    response.unwrap_err()
}

#[test]
fn both_sides_notice_that_a_cable_is_cut() {
    let network = Network::new(2);
    let (near, far) = (network.host(0), network.host(1));
    let address = format!("tls://{}:7443", far.address());
    let installation = Installation::new(
        "http://127.0.0.1:1/v1",
        &format!("{TLS}listen.exc = \"{address}\"\n"),
    );
    Authority::new().equip(&installation, &["exc", "agr"]);
    let process = start(far, &installation, "exc");
    installation.wait_for(Executor, &process);
    let file = installation.path("pid");
    let error = near.run(|| {
        let peer = caller_at(&installation, Executor, &[&address]);
        runtime().block_on(lose_the_caller(peer, near, &file))
    });
    let CallError::OutcomeUnknown(LinkError::Address(lost)) = &error else {
        panic!("{error}");
    };
    assert!(matches!(lost.failure, AddressFailure::Silent(_)), "{error}");
    let pid: i32 = fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    let pid = Pid::from_raw(pid).unwrap();
    eventually("the program ends", || test_kill_process(pid).is_err());
}

#[test]
fn calls_go_on_at_the_other_address() {
    let network = Network::new(3);
    let authority = Authority::new();
    let servers = [network.host(1), network.host(2)].map(|host| {
        let address = format!("tls://{}:7443", host.address());
        let more = format!("{TLS}listen.mem = \"{address}\"\n");
        let installation = Installation::new("http://127.0.0.1:1/v1", &more);
        authority.equip(&installation, &["mem", "daemon"]);
        let process = start(host, &installation, "mem");
        installation.wait_for(Memory, &process);
        (installation, process, address)
    });
    let ask_often = async |peer: &Peer<memory::Request>| {
        for _ in 0..10 {
            let response = peer.ask(memory::Request::GetSoft);
            tokio::time::timeout(TEST_TIMEOUT, response)
                .await
                .unwrap()
                .unwrap();
        }
    };
    network.host(0).run(|| {
        let addresses = [&*servers[0].2, &*servers[1].2];
        let peer = caller_at(&servers[0].0, Memory, &addresses);
        runtime().block_on(async {
            ask_often(&peer).await;
            network.host(1).cut();
            ask_often(&peer).await;
            network.host(1).heal();
            network.host(2).cut();
            ask_often(&peer).await;
        });
    });
}
