use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::{Limits, all, echo, head, running, running_with, server};

#[test]
fn a_tunnel_carries_everything_and_its_ends() {
    let server = echo();
    let proxy = running(&[&server.to_string()]);
    let mut client = proxy.tunnel(server);
    let sent: Vec<u8> = (0..3_000_000_u32)
        .map(|number| (number % 251) as u8)
        .collect();
    client.write_all(&sent).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let received = all(&mut client).unwrap();
    assert!(received == sent, "{} bytes", received.len());
    assert_eq!(proxy.contacts(), [format!("+{server}")]);
    assert!(proxy.network.resolved().is_empty());
    assert_eq!(proxy.network.connected(), [server.to_string()]);
}

#[test]
fn both_directions_work_at_once() {
    let server = server(|mut connection| {
        let mut sink = connection.try_clone().unwrap();
        std::thread::spawn(move || sink.write_all(&vec![b's'; 4_000_000]).unwrap());
        let mut received = vec![0; 4_000_000];
        connection.read_exact(&mut received).unwrap();
    });
    let proxy = running(&["127.0.0.1:*"]);
    let mut client = proxy.tunnel(server);
    let mut sink = client.try_clone().unwrap();
    let sending = std::thread::spawn(move || sink.write_all(&vec![b'c'; 4_000_000]));
    let mut received = vec![0; 4_000_000];
    client.read_exact(&mut received).unwrap();
    sending.join().unwrap().unwrap();
}

#[test]
fn what_comes_with_the_head_is_passed_on() {
    let server = echo();
    let proxy = running(&[&server.to_string()]);
    let request = format!("CONNECT {server} HTTP/1.0\r\n\r\nhello\0\n");
    let mut client = proxy.sent(request);
    client.shutdown(Shutdown::Write).unwrap();
    assert!(head(&mut client).starts_with("HTTP/1.1 200 "));
    assert_eq!(all(&mut client).unwrap(), b"hello\0\n");
}

#[test]
fn a_server_can_end_first() {
    let (sender, received) = mpsc::channel();
    let server = server(move |mut connection: TcpStream| {
        connection.write_all(b"bye").unwrap();
        connection.shutdown(Shutdown::Write).unwrap();
        sender.send(all(&mut connection).unwrap()).unwrap();
    });
    let proxy = running(&[&server.to_string()]);
    let mut client = proxy.tunnel(server);
    assert_eq!(all(&mut client).unwrap(), b"bye");
    client.write_all(b"still there").unwrap();
    drop(client);
    assert_eq!(
        received.recv_timeout(super::PATIENCE).unwrap(),
        b"still there"
    );
}

#[test]
fn a_reset_does_not_look_like_an_end() {
    let server = server(|connection: TcpStream| {
        // A connection that is closed with something unread is reset.
        connection.peek(&mut [0]).unwrap();
    });
    let proxy = running(&[&server.to_string()]);
    let mut client = proxy.tunnel(server);
    client.write_all(b"nobody reads this").unwrap();
    let error = client.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_silent_tunnel_is_closed_and_a_busy_one_is_not() {
    let limits = Limits {
        idle_time: Duration::from_millis(1500),
        ..Limits::default()
    };
    let server = server(|mut connection| {
        let mut byte = [0];
        while connection.read(&mut byte).is_ok_and(|count| count == 1) {
            connection.write_all(&byte).unwrap();
        }
    });
    let proxy = running_with(&[&server.to_string()], limits);
    let mut client = proxy.tunnel(server);
    for byte in 0..20 {
        client.write_all(&[byte]).unwrap();
        let mut answer = [0];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(answer, [byte]);
        std::thread::sleep(Duration::from_millis(100));
    }
    let start = Instant::now();
    client.read(&mut [0]).expect_err("a reset");
    assert!(start.elapsed() < Duration::from_secs(5));
    // One direction that has ended does not keep the other open.
    let mut client = proxy.tunnel(server);
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
}

#[test]
fn a_peer_that_reads_nothing_is_given_up_without_holding_its_bytes() {
    let limits = Limits {
        idle_time: Duration::from_millis(500),
        ..Limits::default()
    };
    let server = server(|connection| {
        std::thread::sleep(super::PATIENCE);
        drop(connection);
    });
    let proxy = running_with(&[&server.to_string()], limits);
    let mut client = proxy.tunnel(server);
    client.set_write_timeout(Some(super::PATIENCE)).unwrap();
    let mut written = 0_usize;
    let error = loop {
        match client.write(&[0; 65536]) {
            Ok(count) => written += count,
            Err(error) => break error,
        }
    };
    assert_ne!(error.kind(), ErrorKind::WouldBlock, "it must be reset");
    // The buffers of the kernel, not ours.
    assert!(written < 64_000_000, "{written}");
}
