use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::super::MAX_PROXIED_HEAD_BYTES;
use super::{
    ContactLog, Limits, PATIENCE, Proxy, all, echo, greeter, head, rest, running, running_with,
    server,
};

#[test]
fn a_slow_head_is_given_up() {
    let limits = Limits {
        head_time: Duration::from_millis(400),
        ..Limits::default()
    };
    let proxy = running_with(&["127.0.0.1:*"], limits);
    let mut slow = proxy.sent("CONNECT 127.0.0.1:1 HTTP/1.1\r\n");
    let mut silent = proxy.sent("");
    let mut reader = slow.try_clone().unwrap();
    let answer = std::thread::spawn(move || rest(&mut reader));
    // Single bytes do not prolong it. Late ones may find the connection closed.
    while !answer.is_finished() {
        let _ = slow.write_all(b"x");
        std::thread::sleep(Duration::from_millis(50));
    }
    let answer = answer.join().unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert_eq!(rest(&mut silent), "");
    assert!(proxy.log.all().is_empty());
}

#[test]
fn a_long_head_is_refused() {
    let server = greeter("hello");
    let proxy = running(&["127.0.0.1:*"]);
    let start = format!("GET http://{server}/ HTTP/1.1\r\nX: ");
    let padding = MAX_PROXIED_HEAD_BYTES - start.len() - 4;
    let request = |padding| format!("{start}{}\r\n\r\n", "x".repeat(padding));
    let answer = proxy.answer(request(padding));
    assert!(answer.ends_with("hello"), "{answer}");
    let answer = proxy.answer(request(padding + 1));
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(answer.contains("it is too long"), "{answer}");
    // Without an end, too.
    let mut client = proxy.sent(&start);
    client.set_write_timeout(Some(PATIENCE)).unwrap();
    while client.write_all(&[b'x'; 1024]).is_ok() {}
    // Only that much was accepted although the client went on.
    assert_eq!(proxy.network.connected().len(), 1);
}

#[test]
fn further_connections_wait_for_a_place() {
    let server = echo();
    let limits = Limits {
        connections: 2,
        ..Limits::default()
    };
    let proxy = running_with(&[&server.to_string()], limits);
    let first = proxy.tunnel(server);
    let _second = proxy.tunnel(server);
    let mut third = proxy.sent(format!("CONNECT {server} HTTP/1.1\r\n\r\n"));
    third
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    third.read(&mut [0]).expect_err("it waits");
    assert_eq!(proxy.network.connected().len(), 2);
    drop(first);
    third.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(head(&mut third).starts_with("HTTP/1.1 200 "));
}

/// A server that never ends a connection, and reads nothing.
fn deaf() -> std::net::SocketAddr {
    server(|connection| {
        std::thread::sleep(PATIENCE);
        drop(connection);
    })
}

#[test]
fn connections_of_a_child_that_is_gone_make_room() {
    let deaf = deaf();
    let limits = Limits {
        connections: 6,
        ended_time: Duration::from_millis(500),
        stall_time: Duration::from_millis(500),
        ..Limits::default()
    };
    let proxy = running_with(&["127.0.0.1:*"], limits);
    let server = greeter("hello");
    let get = |target| format!("GET http://{target}/ HTTP/1.1\r\n\r\n");
    let fill = |mut client: TcpStream| {
        let limit = Some(Duration::from_millis(300));
        client.set_write_timeout(limit).unwrap();
        while client.write_all(&[b'x'; 65536]).is_ok() {}
        client
    };
    let post = format!("POST http://{deaf}/ HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n");
    let gone = [
        proxy.tunnel(deaf),
        // What they sent cannot be delivered.
        fill(proxy.tunnel(deaf)),
        fill(proxy.sent(post)),
        proxy.sent(get(deaf)),
        // A second request, which is not read.
        proxy.sent(get(deaf) + &get(deaf)),
    ];
    let mut here = proxy.tunnel(deaf);
    assert_eq!(proxy.network.connected().len(), 6);
    drop(gone);
    // All of them make room, not only one.
    let waiting = [(); 5].map(|()| proxy.tunnel(deaf));
    drop(waiting);
    assert!(proxy.answer(get(server)).ends_with("hello"));
    // That of a child that is there stays.
    here.set_read_timeout(Some(Duration::from_millis(700)))
        .unwrap();
    let error = here.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn a_child_that_ends_its_side_first_gets_what_still_comes() {
    let server = server(|mut connection| {
        all(&mut connection).unwrap();
        for _ in 0..8 {
            std::thread::sleep(Duration::from_millis(200));
            connection.write_all(b"x").unwrap();
        }
    });
    let limits = Limits {
        ended_time: Duration::from_millis(800),
        ..Limits::default()
    };
    let proxy = running_with(&["127.0.0.1:*"], limits);
    let mut client = proxy.tunnel(server);
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(all(&mut client).unwrap(), b"xxxxxxxx");
}

#[test]
fn many_requests_at_once_are_all_served() {
    let server = greeter("hello");
    let proxy = running(&[&server.to_string()]);
    let proxy = &proxy;
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(move || {
                for _ in 0..25 {
                    let request = format!("GET http://{server}/ HTTP/1.1\r\n\r\n");
                    assert!(proxy.answer(request).ends_with("hello"));
                }
            });
        }
    });
    let contacts = proxy.log.all();
    assert_eq!(contacts.len(), 1);
    assert_eq!(contacts[0].times, 400);
}

#[test]
fn dropping_the_proxy_ends_its_connections() {
    let server = echo();
    for is_awaited in [false, true] {
        let mut proxy = running(&[&server.to_string()]);
        let mut client = proxy.tunnel(server);
        let mut waiting = proxy.sent("GET ");
        let inner = proxy.proxy.take().unwrap();
        match is_awaited {
            true => proxy.runtime.block_on(inner.shutdown()),
            false => drop(inner),
        }
        // A reset is an end, too.
        assert!(all(&mut client).unwrap_or_default().is_empty());
        assert!(all(&mut waiting).unwrap_or_default().is_empty());
        let start = Instant::now();
        while TcpStream::connect(proxy.address).is_ok() {
            assert!(start.elapsed() < PATIENCE, "the listener is open");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_proxy_needs_a_runtime() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    Proxy::start(listener, Vec::new(), ContactLog::default()).unwrap_err();
}

#[tokio::test]
async fn a_proxy_runs_beside_its_owner() {
    let server = greeter("hello");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let log = ContactLog::default();
    let rule = server.to_string().parse().unwrap();
    let proxy = Proxy::start(listener, vec![rule], log.clone()).unwrap();
    let asking = tokio::task::spawn_blocking(move || {
        let mut client = TcpStream::connect(address).unwrap();
        let request = format!("GET http://{server}/ HTTP/1.1\r\n\r\n");
        client.write_all(request.as_bytes()).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        rest(&mut client)
    });
    assert!(asking.await.unwrap().ends_with("hello"));
    assert_eq!(log.all().len(), 1);
    proxy.shutdown().await;
}

/// The time this thread has had of a processor.
#[cfg(target_os = "linux")]
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn failing_to_accept_takes_no_processor_time() {
    // Not a listening socket: it is readable, but nothing can be accepted, as without free descriptors.
    let server = server(|mut connection| {
        connection.write_all(b"readable").unwrap();
        let _ = all(&mut connection);
    });
    let socket = TcpStream::connect(server).unwrap();
    socket.peek(&mut [0]).unwrap();
    let socket = std::os::fd::OwnedFd::from(socket);
    let listener = TcpListener::from(socket);
    listener.accept().unwrap_err();
    let before = processor_time();
    let _proxy = Proxy::start(listener, Vec::new(), ContactLog::default()).unwrap();
    tokio::time::sleep(Duration::from_millis(600)).await;
    let taken = processor_time() - before;
    assert!(taken < Duration::from_millis(40), "{taken:?}");
}
