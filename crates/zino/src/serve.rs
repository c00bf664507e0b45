//! Serves one service on its socket: one request per connection.

mod connection;
mod socket;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::logging::Log;
use crate::service::AnyService;

pub(crate) use connection::serve_connection;
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

/// Serves requests until `stop` fires; running ones may finish.
pub async fn serve(
    socket: Socket,
    service: Arc<dyn AnyService>,
    options: ServeOptions,
    stop: CancellationToken,
) {
    let slots = Arc::new(Semaphore::new(options.max_connections));
    let mut connections = JoinSet::new();
    loop {
        let slot = tokio::select! {
            slot = Arc::clone(&slots).acquire_owned() => slot,
            () = stop.cancelled() => break,
        };
        let accepted = tokio::select! {
            accepted = socket.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok(stream) => {
                let service = Arc::clone(&service);
                let stop = stop.clone();
                connections.spawn(async move {
                    service.serve_connection(stream, options, stop).await;
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
    drop(socket);
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
