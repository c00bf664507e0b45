use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::Lock;

#[test]
fn only_one_holds_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let first = Lock::try_acquire(&path).unwrap().unwrap();
    assert!(Lock::try_acquire(&path).unwrap().is_none());
    assert!(Lock::acquire(&path, Duration::from_millis(30)).is_err());
    drop(first);
    assert!(Lock::try_acquire(&path).unwrap().is_some());
}

#[test]
fn who_waits_gets_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let first = Lock::try_acquire(&path).unwrap().unwrap();
    let released = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _second = Lock::acquire(&path, Duration::from_secs(30)).unwrap();
            assert!(released.load(Ordering::SeqCst));
        });
        released.store(true, Ordering::SeqCst);
        drop(first);
    });
}
