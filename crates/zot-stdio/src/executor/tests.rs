use std::sync::mpsc;
use std::time::Duration;

use super::run;

#[test]
fn a_hanging_thread_does_not_delay_the_end() {
    let (end, hanging) = mpsc::channel::<()>();
    let (ended, has_ended) = mpsc::channel();
    let runner = std::thread::spawn(move || {
        let outcome = run(|_| async move {
            let task = tokio::task::spawn_blocking(move || hanging.recv());
            // Long enough for the thread to start.
            let _ = tokio::time::timeout(Duration::from_millis(50), task).await;
        });
        ended.send(outcome.is_ok())
    });
    assert_eq!(has_ended.recv_timeout(Duration::from_secs(5)), Ok(true));
    drop(end);
    runner.join().unwrap().unwrap();
}
