use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpStream;

use super::{Nats, NatsEnd, NatsOptions, Nkey, NkeyUser};
use crate::network::Network;

/// Reads the greeting and what the server answers to a connection without a key.
fn connect(nats: &Nats) -> (String, String) {
    let mut stream = BufReader::new(TcpStream::connect(nats.address()).unwrap());
    let mut greeting = String::new();
    stream.read_line(&mut greeting).unwrap();
    let hello = b"CONNECT {\"verbose\":false}\r\nPING\r\n";
    stream.get_mut().write_all(hello).unwrap();
    let mut answer = String::new();
    stream.read_line(&mut answer).unwrap();
    (greeting, answer)
}

#[test]
fn a_server_keeps_its_port_after_being_killed_and_leaves_nothing_behind() {
    let mut nats = Nats::with(NatsOptions {
        max_payload: Some(12_345),
        ..NatsOptions::default()
    });
    let address = nats.address();
    for end in [NatsEnd::Kill, NatsEnd::Stop] {
        let (greeting, answer) = connect(&nats);
        assert!(greeting.contains("\"max_payload\":12345"), "{greeting}");
        assert_eq!(answer, "PONG\r\n");
        let pid = nats.pid().unwrap();
        nats.stop(end);
        assert!(TcpStream::connect(address).is_err());
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
        nats.start_again();
        assert_eq!(nats.address(), address);
    }
    let path = nats.path().to_owned();
    drop(nats);
    assert!(!path.exists());
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_server_with_users_refuses_others() {
    let nats = Nats::with(NatsOptions {
        users: vec![NkeyUser {
            key: Nkey::new(),
            permissions: Some("publish: [\"a.>\"], subscribe: [\"b\"]".to_owned()),
        }],
        ..NatsOptions::default()
    });
    let (greeting, answer) = connect(&nats);
    assert!(greeting.contains("\"nonce\""), "{greeting}");
    assert_eq!(answer, "-ERR 'Authorization Violation'\r\n");
}

#[test]
fn servers_at_the_same_time_have_different_ports() {
    let servers = [Nats::start(), Nats::start(), Nats::start()];
    let mut ports: Vec<u16> = servers.iter().map(|nats| nats.address().port()).collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 3);
}

#[test]
fn a_server_on_a_host_is_reached_from_another() {
    let network = Network::new(2);
    let nats = Nats::with(NatsOptions {
        host: Some(network.host(0).clone()),
        ..NatsOptions::default()
    });
    assert_eq!(nats.address().ip(), network.host(0).address());
    let (_, answer) = network.host(1).run(|| connect(&nats));
    assert_eq!(answer, "PONG\r\n");
}
