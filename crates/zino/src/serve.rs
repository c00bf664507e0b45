//! Serves one service: on its socket, one request per connection, and on the network, where connections
//! are kept.

pub(crate) mod caller;
mod connection;
mod kept;
mod listener;
mod socket;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::logging::Log;
use crate::service::AnyService;

use listener::Arrival;

#[cfg(feature = "nats")]
pub(crate) use connection::probe_response;
pub(crate) use connection::serve_connection;
pub use kept::KeptConnection;
pub use listener::{ListenError, NetworkListener};
pub use socket::{BindError, Socket};

/// How long running requests may take to finish after the service was asked to stop.
///
/// Limit: running requests are abandoned.
pub(crate) const SERVICE_ENDING_TIME: Duration = Duration::from_secs(5);

/// How long to wait when the system has no more descriptors.
///
/// Limit: the wait when no descriptor is free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The limits of a served service.
#[derive(Debug, Clone, Copy)]
pub struct ServeOptions {
    pub max_frame_bytes: usize,
    /// How many clients are served at a time; more wait in the socket's queue.
    pub max_connections: usize,
    /// How long running requests may take to finish after the service was asked to stop.
    pub ending_time: Duration,
    pub log: Log,
}

/// Where a service is served.
pub enum Listener {
    Socket(Socket),
    Network(NetworkListener),
}

enum Accepted {
    Socket(UnixStream),
    Network(Arrival),
}

impl Listener {
    async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Self::Socket(socket) => socket.accept().await.map(Accepted::Socket),
            Self::Network(listener) => listener.accept().await.map(Accepted::Network),
        }
    }
}

/// Serves requests until `stop` fires; running ones may finish.
pub async fn serve(
    listener: Listener,
    service: Arc<dyn AnyService>,
    options: ServeOptions,
    stop: CancellationToken,
) {
    let slots = Arc::new(Semaphore::new(options.max_connections));
    let crowded = Arc::new(Notify::new());
    let mut connections = JoinSet::new();
    loop {
        if slots.available_permits() == 0 {
            // The connection that has been idle for longest makes room.
            crowded.notify_one();
        }
        let slot = tokio::select! {
            slot = Arc::clone(&slots).acquire_owned() => slot,
            () = stop.cancelled() => break,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok(accepted) => {
                let service = Arc::clone(&service);
                let stop = stop.clone();
                let crowded = Arc::clone(&crowded);
                connections.spawn(async move {
                    match accepted {
                        Accepted::Socket(stream) => {
                            service.serve_connection(stream, options, stop).await;
                        }
                        Accepted::Network(arrival) => {
                            let admitted = tokio::select! {
                                admitted = arrival.admit(crowded, options.log) => admitted,
                                () = stop.cancelled() => None,
                            };
                            if let Some(connection) = admitted {
                                service.serve_kept(connection, options, stop).await;
                            }
                        }
                    }
                    drop(slot);
                });
            }
            Err(error) => {
                options.log.error(format_args!("accept: {error}"));
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
        // Forgets finished connections.
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    let finished = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(options.ending_time, finished)
        .await
        .is_err()
    {
        options
            .log
            .warning(format_args!("abandoned running requests at shutdown"));
    }
}
