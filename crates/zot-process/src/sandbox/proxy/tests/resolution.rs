use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use super::super::route::{Answer, MAX_PROXY_LOOKUPS, Network, OwnNetwork};
use super::{Limits, PATIENCE, TestNetwork, greeter, running, running_in};
use crate::sandbox::host::HostName;

fn get(target: &str) -> String {
    format!("GET http://{target}/ HTTP/1.1\r\n\r\n")
}

#[test]
fn a_name_is_resolved_once_and_the_answer_is_connected_to() {
    let server = greeter("public");
    let proxy = running(&["allowed.example", "*.below.example"]);
    // The second answer would lead into the machine itself.
    let answers: [&[&str]; 2] = [&["93.184.215.14"], &["127.0.0.1"]];
    proxy.network.name("allowed.example", &answers);
    proxy.network.place("93.184.215.14:80", server);
    let answer = proxy.answer(get("Allowed.Example."));
    assert!(answer.ends_with("public"), "{answer}");
    assert_eq!(proxy.network.resolved(), ["allowed.example"]);
    assert_eq!(proxy.network.connected(), ["93.184.215.14:80"]);
    assert_eq!(proxy.contacts(), ["+allowed.example:80"]);
    let answer = proxy.answer(get("allowed.example"));
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert_eq!(proxy.network.resolved().len(), 2);
    assert_eq!(proxy.network.connected().len(), 1);
}

#[test]
fn an_allowed_name_does_not_lead_into_the_network_of_the_user() {
    let server = greeter("private");
    let port = server.port();
    let proxy = running(&["*.allowed.example:*"]);
    let private = [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "::",
        "::1",
        "fd00::1",
        "fe80::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ];
    for (number, address) in private.into_iter().enumerate() {
        let name = format!("name-{number}.allowed.example");
        proxy.network.name(&name, &[&[address]]);
        for request in [
            format!("CONNECT {name}:{port} HTTP/1.1\r\n\r\n"),
            get(&format!("{name}:{port}")),
        ] {
            let answer = proxy.answer(request);
            assert!(answer.starts_with("HTTP/1.1 403 "), "{address}: {answer}");
            assert!(answer.contains("which is not a public address"), "{answer}");
        }
        let contact = proxy.log.all().pop().unwrap();
        assert_eq!((contact.host.as_str(), contact.times), (name.as_str(), 2));
        assert!(!contact.is_allowed);
        let address: IpAddr = address.parse().unwrap();
        assert_eq!(contact.private_address, Some(address.to_canonical()));
    }
    assert!(proxy.network.connected().is_empty());
    // The rule that the contact proposes allows it.
    let contact = proxy.log.all().remove(0);
    let rule = contact.rule().unwrap().to_string();
    assert_eq!(rule, server.to_string());
    proxy.set_rules(&["*.allowed.example:*", &rule]);
    let answer = proxy.answer(get(&format!("name-0.allowed.example:{port}")));
    assert!(answer.ends_with("private"), "{answer}");
    // A rule for another port of the address does not.
    proxy.set_rules(&["*.allowed.example:*", "127.0.0.1:1"]);
    let answer = proxy.answer(get(&format!("name-0.allowed.example:{port}")));
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    // Nor does the name alone if the address is what the rule names.
    proxy.set_rules(&[&rule]);
    let answer = proxy.answer(get(&format!("name-0.allowed.example:{port}")));
    assert!(answer.contains("it is not in `connect`"), "{answer}");
}

#[test]
fn addresses_are_tried_in_their_order_and_private_ones_left_out() {
    let server = greeter("third");
    let proxy = running(&["allowed.example"]);
    let addresses = ["10.0.0.1", "1.1.1.1", "127.0.0.1", "2a00::1", "9.9.9.9"];
    proxy.network.name("allowed.example", &[&addresses]);
    proxy.network.place("[2a00::1]:80", server);
    let answer = proxy.answer(get("allowed.example"));
    assert!(answer.ends_with("third"), "{answer}");
    assert_eq!(proxy.network.connected(), ["1.1.1.1:80", "[2a00::1]:80"]);
}

#[test]
fn not_every_address_of_a_long_answer_is_tried() {
    let proxy = running(&["allowed.example"]);
    let addresses = ["1.1.1.1"; 1000];
    proxy.network.name("allowed.example", &[&addresses]);
    let answer = proxy.answer(get("allowed.example"));
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert_eq!(proxy.network.connected().len(), 4);
    proxy.network.name("allowed.example", &[&[]]);
    let answer = proxy.answer(get("allowed.example"));
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
}

#[test]
fn localhost_means_this_machine_if_it_is_named() {
    let server = greeter("here");
    let target = format!("localhost:{}", server.port());
    let network = Arc::new(TestNetwork::default());
    let proxy = running_in(
        Box::new(OwnNetwork::new()),
        network,
        &[&target],
        Limits::default(),
    );
    // The real resolver.
    let answer = proxy.answer(get(&target));
    assert!(answer.ends_with("here"), "{answer}");
    assert_eq!(proxy.contacts(), [format!("+{target}")]);
    // Not whatever else a resolver says it is.
    let proxy = running(&["localhost"]);
    proxy.network.name("localhost", &[&["10.0.0.1"]]);
    let answer = proxy.answer(get("localhost"));
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(proxy.network.connected().is_empty());
}

#[test]
fn every_host_means_every_host() {
    let server = greeter("anything");
    let proxy = running(&["*"]);
    proxy.network.name("any.example", &[&["127.0.0.1"]]);
    let answer = proxy.answer(get(&format!("any.example:{}", server.port())));
    assert!(answer.ends_with("anything"), "{answer}");
}

/// A network that does not answer.
#[derive(Debug)]
struct Silent {
    resolves: bool,
}

impl Network for Silent {
    fn resolve<'a>(&'a self, _: &'a HostName) -> Answer<'a, Vec<IpAddr>> {
        let resolves = self.resolves;
        Box::pin(async move {
            match resolves {
                true => Ok(vec![[1, 1, 1, 1].into()]),
                false => std::future::pending().await,
            }
        })
    }

    fn connect(&self, _: std::net::SocketAddr) -> Answer<'_, tokio::net::TcpStream> {
        Box::pin(std::future::pending())
    }
}

#[test]
fn a_network_that_does_not_answer_is_given_up() {
    for resolves in [true, false] {
        let limits = Limits {
            resolution_time: Duration::from_millis(100),
            connection_time: Duration::from_millis(100),
            ..Limits::default()
        };
        let network = Arc::new(TestNetwork::default());
        let silent = Box::new(Silent { resolves });
        let proxy = running_in(silent, network, &["allowed.example"], limits);
        let answer = proxy.answer("CONNECT allowed.example:443 HTTP/1.1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
        assert!(answer.contains("allowed.example:443 did not answer in time"));
        assert_eq!(proxy.contacts(), ["+allowed.example:443"]);
    }
}

/// Held by the test for as long as lookups of slow names last.
static SLOW: RwLock<()> = RwLock::new(());
static LOOKUPS: AtomicUsize = AtomicUsize::new(0);

fn look_up(name: &str) -> std::io::Result<Vec<IpAddr>> {
    LOOKUPS.fetch_add(1, Ordering::SeqCst);
    if name.starts_with("slow") {
        drop(SLOW.read().unwrap());
    }
    LOOKUPS.fetch_sub(1, Ordering::SeqCst);
    Ok(vec![[127, 0, 0, 1].into()])
}

#[test]
fn slow_names_do_not_take_every_thread() {
    let server = greeter("found");
    let limits = Limits {
        resolution_time: Duration::from_millis(700),
        ..Limits::default()
    };
    let own = Box::new(OwnNetwork::with(look_up));
    let rules = ["*.allowed.example:*", "127.0.0.1:*"];
    let proxy = running_in(own, Arc::default(), &rules, limits);
    let get = |name: &str| get(&format!("{name}.allowed.example:{}", server.port()));
    assert!(proxy.answer(get("fast")).ends_with("found"));
    let slow = SLOW.write().unwrap();
    for _ in 0..2 {
        let mut waiting: Vec<_> = (0..MAX_PROXY_LOOKUPS)
            .map(|number| proxy.sent(get(&format!("slow-{number}"))))
            .collect();
        waiting.push(proxy.sent(get("fast")));
        for client in &mut waiting {
            // Those of the first round have ended for their children, but their threads have not.
            let answer = super::rest(client);
            assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
        }
        assert_eq!(LOOKUPS.load(Ordering::SeqCst), MAX_PROXY_LOOKUPS);
    }
    drop(slow);
    let start = Instant::now();
    while LOOKUPS.load(Ordering::SeqCst) > 0 {
        assert!(start.elapsed() < PATIENCE, "lookups have not ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(proxy.answer(get("fast")).ends_with("found"));
}
