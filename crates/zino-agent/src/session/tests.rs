use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc as blocking;

use bytes::Bytes;
use zot_conversation::BoxFuture;
use zot_session::Replica as _;

use super::*;

#[derive(Default)]
struct Lease {
    is_released: AtomicBool,
}

impl SessionLease for Lease {
    fn append(&self, _: u64, _: Bytes) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    fn release(&self) -> BoxFuture<'_, ()> {
        self.is_released.store(true, Ordering::Relaxed);
        Box::pin(async {})
    }

    fn lost(&self) -> BoxFuture<'_, StoreError> {
        Box::pin(pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_stuck_thread_does_not_keep_its_session() {
    for is_stopped in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let lease = Arc::new(Lease::default());
        let (replica, appends) = StoreReplica::new();
        let (unstick, stuck) = blocking::channel::<()>();
        let (thread_end, late_append) = blocking::channel();
        let (ended, thread_ended) = oneshot::channel::<()>();
        let thread = thread::spawn(move || {
            let _ended = ended;
            // Like a read from a server that is gone.
            let _ = stuck.recv();
            let _ = thread_end.send(replica.append(0, b"late"));
            Ok(Exit::Finished)
        });
        let stop = Stop::default();
        let (end, client) = oneshot::channel();
        let running = RunningSession {
            lease: Arc::clone(&lease) as _,
            appends,
            thread,
            thread_ended,
            stop: stop.clone(),
            files: SessionFiles::write(directory.path(), "s", b"").unwrap(),
            end,
        };
        let client = match is_stopped {
            true => {
                stop.now();
                Some(client)
            }
            false => {
                drop(client);
                None
            }
        };
        let expected = SessionEnd::Failed("the session's thread does not end".to_owned());
        assert_eq!(running.run().await, expected);
        assert!(lease.is_released.load(Ordering::Relaxed));
        if let Some(client) = client {
            assert_eq!(client.await.unwrap(), expected);
        }
        unstick.send(()).unwrap();
        let refused = late_append.recv().unwrap().unwrap_err().to_string();
        assert!(refused.contains("the session has ended"), "{refused}");
    }
}
