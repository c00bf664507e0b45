//! Installations that call each other over TLS and TCP.

use std::fs;

use serde_json::json;
use testkit::{ModelServer, Wire};
use zino::config::Config;
use zino::kind::ServiceKind::{self, Daemon, Memory};
use zino::network::identity::LiveIdentity;
use zino::peer::Peer;
use zot_wire::zino::Request;

use crate::authority::{Authority, TLS};
use crate::installation::{Installation, Process, eventually, text};

/// Starts `zino up` with these arguments and waits until it listens on `count` network addresses.
pub(crate) fn up(installation: &Installation, arguments: &[&str], count: usize) -> Process {
    let command = installation.command(&[&["up"], arguments].concat());
    let process = installation.spawn(command, "up");
    eventually(&format!("it listens; {}", process.log()), || {
        ports(&process).len() == count
    });
    process
}

/// The ports it listens on, in the order of its services.
pub(crate) fn ports(process: &Process) -> Vec<u16> {
    let log = process.log();
    let addresses = log.lines().filter(|line| line.contains("://"));
    let port = |line: &str| line.rsplit_once(':')?.1.parse().ok();
    addresses.filter_map(port).collect()
}

/// The line of `[peers]` for a service that is elsewhere.
pub(crate) fn peer(name: &str, scheme: &str, ports: &[u16]) -> String {
    let addresses = ports
        .iter()
        .map(|port| format!("\"{scheme}://127.0.0.1:{port}\""))
        .collect::<Vec<_>>();
    format!("peers.{name} = [{}]\n", addresses.join(", "))
}

/// Calls a service on loopback from this process, with the certificate of an installation.
pub(crate) fn caller<R: Request>(
    installation: &Installation,
    kind: ServiceKind,
    scheme: &str,
    ports: &[u16],
) -> Peer<R> {
    let addresses: Vec<String> = ports
        .iter()
        .map(|port| format!("{scheme}://127.0.0.1:{port}"))
        .collect();
    let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
    caller_at(installation, kind, &addresses)
}

pub(crate) fn caller_at<R: Request>(
    installation: &Installation,
    kind: ServiceKind,
    addresses: &[&str],
) -> Peer<R> {
    let text = fs::read_to_string(installation.path("ZINO.toml")).unwrap();
    let peers = format!("peers.{} = {addresses:?}\n", kind.name());
    let mut config = Config::parse(&(text + &peers)).unwrap().config;
    for file in [
        &mut config.tls.ca,
        &mut config.tls.certificate,
        &mut config.tls.key,
    ] {
        *file = file.take().map(|name| installation.path(name));
    }
    let identity = LiveIdentity::of(&config).unwrap();
    Peer::configured(&config, kind, identity.as_ref(), None)
}

#[test]
fn two_installations_are_one_agent() {
    for scheme in ["tls", "tcp"] {
        let model = ModelServer::start();
        let authority = Authority::new();
        let far = Installation::new(
            &model.url(Wire::OpenAi),
            &format!(
                "{TLS}listen.mem = \"{scheme}://127.0.0.1:0\"\nlisten.rtr = \"{scheme}://127.0.0.1:0\"\n"
            ),
        );
        authority.equip(&far, &["rtr", "mem"]);
        let far_process = up(&far, &["--only", "rtr,mem"], 2);
        let [router, memory] = ports(&far_process)[..] else {
            panic!("{}", far_process.log());
        };
        let near = Installation::new(
            "http://127.0.0.1:1/v1",
            &format!(
                "{TLS}{}{}",
                peer("rtr", scheme, &[router]),
                peer("mem", scheme, &[memory])
            ),
        );
        authority.equip(&near, &["daemon", "ctx", "agr"]);
        let near_process = up(&near, &[], 0);
        near.wait_for(Daemon, &near_process);
        let request = json!({ "message": "say:2", "channel_id": "c", "stream": true });
        let response = near.ask(Daemon, &request);
        assert_eq!(
            response.last().unwrap()["full_text"],
            "alpha beta ",
            "{}",
            near_process.log()
        );
        let history = far.ask_one(Memory, &json!({ "type": "get_history", "channel_id": "c" }));
        assert_eq!(history["messages"].as_array().unwrap().len(), 2);
        let status = near.run(&["status"]);
        assert!(status.status.success(), "{}", text(&status.stdout));
        assert!(text(&status.stdout).contains(&format!("{scheme}://127.0.0.1:{router}")));
    }
}
