use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Host, Network};

const PORT: u16 = 7000;

/// Greets everyone who connects, until it is stopped.
struct Server {
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(host: &Host) -> Self {
        let address = SocketAddr::from((host.address(), PORT));
        let listener = host.run(|| TcpListener::bind(address)).unwrap();
        let thread = std::thread::spawn(move || {
            for connection in listener.incoming() {
                let mut connection = connection.unwrap();
                connection.write_all(b"hello").unwrap();
                let mut answer = Vec::new();
                let _ = connection.read_to_end(&mut answer);
                if answer == b"stop" {
                    return;
                }
            }
        });
        Self {
            address,
            thread: Some(thread),
        }
    }

    fn stop(mut self, network: &Network) {
        let address = self.address;
        let connection = network.host(0).run(|| TcpStream::connect(address));
        connection.unwrap().write_all(b"stop").unwrap();
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Returns whether the second host reaches a server on the first.
fn reaches(network: &Network) -> bool {
    let address = SocketAddr::from((network.host(0).address(), PORT));
    let greeting = network.host(1).run(|| {
        let mut connection = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
        let mut greeting = [0; 5];
        connection.read_exact(&mut greeting).ok()?;
        Some(greeting)
    });
    greeting == Some(*b"hello")
}

fn namespaces() -> String {
    let output = Command::new("ip").args(["netns", "list"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn hosts_reach_each_other_unless_a_cable_is_cut() {
    let network = Network::new(2);
    let server = Server::start(network.host(0));
    assert!(reaches(&network));
    for cut in [0, 1] {
        network.host(cut).cut();
        assert!(!reaches(&network), "host {cut} is cut off");
        network.host(cut).heal();
        assert!(reaches(&network));
    }
    let mut command = network.host(1).command("ip");
    let output = command.args(["address", "show"]).output().unwrap();
    let addresses = String::from_utf8(output.stdout).unwrap();
    assert!(addresses.contains("10.77.0.2/24"), "{addresses}");
    server.stop(&network);
}

#[test]
fn networks_do_not_see_each_other() {
    let (one, other) = (Network::new(2), Network::new(2));
    let server = Server::start(one.host(0));
    assert!(reaches(&one));
    assert!(!reaches(&other));
    server.stop(&one);
}

#[test]
fn a_network_is_removed_even_after_a_panic() {
    let mut names = Vec::new();
    let result = catch_unwind(AssertUnwindSafe(|| {
        let network = Network::new(2);
        names.push(network.switch.clone());
        names.extend(network.hosts.iter().map(|host| host.namespace.clone()));
        let existing = namespaces();
        assert!(names.iter().all(|name| existing.contains(name)));
        panic!("on purpose");
    }));
    assert!(result.is_err());
    assert_eq!(names.len(), 3);
    let existing = namespaces();
    assert!(!names.iter().any(|name| existing.contains(name)));
}
