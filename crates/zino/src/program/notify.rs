//! Notifies systemd of the service's state.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::net::UnixDatagram;

/// Reports that the service is ready.
pub fn ready() {
    send("READY=1");
}

pub fn stopping() {
    send("STOPPING=1");
}

fn send(state: &str) {
    if let Some(socket) = env::var_os("NOTIFY_SOCKET") {
        // A supervisor that does not listen does not need the notification.
        let _ = send_to(&socket, state);
    }
}

#[cfg(target_os = "linux")]
fn send_to(socket: &OsStr, state: &str) -> io::Result<()> {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::net::SocketAddr;

    let sender = UnixDatagram::unbound()?;
    match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => {
            let address = SocketAddr::from_abstract_name(name)?;
            sender.send_to_addr(state.as_bytes(), &address)?;
        }
        None => {
            sender.send_to(state.as_bytes(), socket)?;
        }
    }
    Ok(())
}

/// There is no systemd on other systems, and no abstract socket names.
#[cfg(not(target_os = "linux"))]
fn send_to(socket: &OsStr, state: &str) -> io::Result<()> {
    UnixDatagram::unbound()?.send_to(state.as_bytes(), socket)?;
    Ok(())
}
