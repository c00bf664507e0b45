//! The life of a server: it is started, restarted with growing pauses, and ended when nobody uses it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::Server;
use crate::status::ServerState;

/// How long a server is kept that no set uses, because the next session may want it.
///
/// Limit: the server is ended.
const LINGER_TIME: Duration = Duration::from_secs(5);

/// Runs the server until `stop` fires or nobody has used it for a while.
pub(crate) async fn live(server: Arc<Server>, stop: CancellationToken) {
    server.set_state(ServerState::Failed {
        reason: "this build cannot connect to MCP servers yet".to_owned(),
    });
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            () = server.restart.notified() => {}
            () = server.unused.notified() => {
                sleep(LINGER_TIME).await;
                if server.end_if_unused() {
                    return;
                }
            }
        }
    }
}

impl Server {
    fn end_if_unused(&self) -> bool {
        let mut shared = self.lock();
        shared.has_ended = shared.users == 0;
        shared.has_ended
    }
}
