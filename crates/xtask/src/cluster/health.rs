//! Asks a node over HTTP whether it is ready.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long a node may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Returns the status line and the body of `/readyz`; the reason if there is no answer.
pub(super) fn readiness(address: SocketAddr) -> Result<(), String> {
    let answer = get(address).map_err(|error| format!("{address}: {error}"))?;
    match answer.starts_with("HTTP/1.1 200 ") {
        true => Ok(()),
        false => Err(answer),
    }
}

fn get(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: node\r\nconnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
