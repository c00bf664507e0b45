use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::Command;

use super::{Confinement, fails, has_call_filters, installed, succeeds};

#[test]
fn no_connection_can_be_made() {
    if !has_call_filters() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let open = Confinement::default();
    let closed = Confinement::default().network(false);
    if let Some(bash) = installed("bash") {
        let connect = || {
            let mut command = Command::new(&bash);
            command
                .arg("-c")
                .arg(format!("exec 3<>/dev/tcp/127.0.0.1/{port}"));
            command
        };
        succeeds(connect(), &open);
        fails(connect(), &closed);
    }
    if let Some(python) = installed("python3") {
        let connect = || {
            let code = format!("import socket; socket.create_connection(('127.0.0.1', {port}))");
            let mut command = Command::new(&python);
            command.arg("-c").arg(code);
            command
        };
        succeeds(connect(), &open);
        let error = fails(connect(), &closed);
        assert!(error.contains("PermissionError"), "{error}");
    }
    if let Some(node) = installed("node") {
        let connect = || {
            let code = format!(
                "require('net').connect({port}, '127.0.0.1', () => process.exit(0))\
                 .on('error', (error) => {{ console.error(error.code); process.exit(1) }})"
            );
            let mut command = Command::new(&node);
            command.arg("-e").arg(code);
            command
        };
        succeeds(connect(), &open);
        let error = fails(connect(), &closed);
        assert!(error.contains("EACCES"), "{error}");
    }
}

#[test]
fn every_family_is_refused_but_socketpair_works() {
    if !has_call_filters() {
        return;
    }
    let Some(python) = installed("python3") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    let code = "
import errno, socket, sys
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, 40):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            socket.socket(family, kind)
            sys.exit('opened %s' % family)
        except OSError as error:
            assert error.errno == errno.EACCES, error
one, other = socket.socketpair()
one.send(b'x')
assert other.recv(1) == b'x'
import asyncio
asyncio.run(asyncio.sleep(0))
";
    let mut command = Command::new(python);
    command.arg("-c").arg(code);
    succeeds(command, &Confinement::default().network(false));
}

#[test]
fn io_uring_cannot_open_sockets() {
    if !has_call_filters() {
        return;
    }
    let Some(python) = installed("python3") else {
        return;
    };
    // 425 is `io_uring_setup` on every architecture; 41 is `socket` of x86_64, and 1 << 30 marks
    // the same call of the x32 ABI.
    let code = "
import ctypes, errno, platform
call = ctypes.CDLL(None, use_errno=True).syscall
assert call(425, 1, 0) == -1 and ctypes.get_errno() == errno.ENOSYS
if platform.machine() == 'x86_64':
    for number in (41, 41 | 1 << 30):
        assert call(number, 2, 1, 0) == -1 and ctypes.get_errno() in (errno.EACCES, errno.ENOSYS), number
";
    let mut command = Command::new(python);
    command.arg("-c").arg(code);
    succeeds(command, &Confinement::default().network(false));
}

#[test]
fn grandchildren_inherit_the_filter() {
    if !has_call_filters() {
        return;
    }
    let Some(bash) = installed("bash") else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("setsid -w bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'");
    let mut command = Command::new(bash);
    command.arg("-c").arg(script);
    fails(command, &Confinement::default().network(false));
}

#[test]
fn only_local_sockets_can_be_refused() {
    if !has_call_filters() {
        return;
    }
    let Some(python) = installed("python3") else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let code = format!(
        "
import errno, socket, sys
socket.create_connection(('127.0.0.1', {port}))
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC):
    try:
        socket.socket(socket.AF_UNIX, kind)
        sys.exit('opened')
    except OSError as error:
        assert error.errno == errno.EACCES, error
socket.socketpair()
"
    );
    let mut command = Command::new(python);
    command.arg("-c").arg(code);
    succeeds(command, &Confinement::default().local_sockets(false));
}
