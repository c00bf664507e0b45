use std::io::{BufRead as _, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command, Stdio};

use super::{Host, Network};

const PORT: &str = "7000";

const SERVER: &str = "
import socket, sys
server = socket.create_server((sys.argv[1], int(sys.argv[2])))
print('ready', flush=True)
while True:
    connection, _ = server.accept()
    connection.sendall(b'hello')
    connection.close()
";

const CLIENT: &str = "
import socket, sys
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])), 1)
print(connection.recv(100).decode())
";

struct Server(Child);

impl Server {
    fn start(host: &Host) -> Self {
        let mut command = host.command("python3");
        command.args(["-c", SERVER, &host.address().to_string(), PORT]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self(child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns whether the second host reaches a server on the first.
fn reaches(network: &Network) -> bool {
    let server = network.host(0).address().to_string();
    let mut command = network.host(1).command("python3");
    let output = command
        .args(["-c", CLIENT, &server, PORT])
        .output()
        .unwrap();
    output.stdout == b"hello\n"
}

fn namespaces() -> String {
    let output = Command::new("ip").args(["netns", "list"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn hosts_reach_each_other_unless_a_cable_is_cut() {
    let network = Network::new(2);
    let _server = Server::start(network.host(0));
    assert!(reaches(&network));
    for cut in [0, 1] {
        network.host(cut).cut();
        assert!(!reaches(&network), "host {cut} is cut off");
        network.host(cut).heal();
        assert!(reaches(&network));
    }
}

#[test]
fn networks_do_not_see_each_other() {
    let (one, other) = (Network::new(2), Network::new(2));
    let _server = Server::start(one.host(0));
    assert!(reaches(&one));
    assert!(!reaches(&other));
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
