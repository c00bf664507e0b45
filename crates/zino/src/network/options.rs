//! Options of TCP connections: small frames leave at once, and a cut cable is noticed.
//!
//! A connection whose other end has vanished without a word looks like a silent one. On Linux the system
//! closes it when data sent is not acknowledged in time. Elsewhere only the limits on writing and on
//! silence notice it: a caller after 2.5 seconds, a service after its write timeout.

use std::io;
use std::time::Duration;

use rustix::net::sockopt;
use tokio::net::TcpStream;

/// How long a response may remain unacknowledged before a connection counts as lost.
///
/// Limit: the connection of a caller that has vanished is closed.
pub(crate) const RESPONSE_ACKNOWLEDGEMENT_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a request may remain unacknowledged before a connection counts as lost. The system
/// acknowledges it at once, however busy the service is.
///
/// Limit: the connection to a machine that has vanished is closed.
pub(crate) const REQUEST_ACKNOWLEDGEMENT_TIMEOUT: Duration = Duration::from_secs(1);

/// How much fits into the buffers of the other end in any case. If more of a request or response is
/// waiting, its reader may just be slow, which the system does not distinguish from having vanished.
pub(crate) const SURELY_BUFFERED_BYTES: usize = 32 * 1024;

/// How long a connection may be idle before the system asks the other end whether it is there.
const KEEP_ALIVE_IDLE: Duration = Duration::from_secs(10);

/// How often it asks again.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(1);

/// Sets the options of a new connection.
pub(crate) fn prepare(stream: &TcpStream, acknowledgement_timeout: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, KEEP_ALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(stream, KEEP_ALIVE_INTERVAL)?;
    set_acknowledgement_timeout(stream, acknowledgement_timeout)
}

/// Sets how long sent data may remain unacknowledged, or unsent because the other end does not read.
#[cfg(target_os = "linux")]
pub(crate) fn set_acknowledgement_timeout(stream: &TcpStream, timeout: Duration) -> io::Result<()> {
    let milliseconds = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
    Ok(sockopt::set_tcp_user_timeout(stream, milliseconds)?)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn set_acknowledgement_timeout(
    _stream: &TcpStream,
    _timeout: Duration,
) -> io::Result<()> {
    Ok(())
}
